// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <rapidcheck.h>

#include <algorithm>

#include "weir/fixity/manifest_reader.hpp"
#include "weir/fixity/manifest_writer.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;
using digest::Digest;

/// A source that gives `piece` bytes at a time.
ByteSource source_of(std::string text, std::size_t piece = 7) {
    return [text = std::move(text), piece, at = std::size_t{0}](MutableData to) mutable -> Result<std::size_t> {
        const auto size = std::min({to.size(), piece, text.size() - at});
        std::ranges::copy(as_data(std::string_view(text).substr(at, size)), to.begin());
        at += size;
        return size;
    };
}

struct Content {
    std::vector<ManifestEntry> entries;
    std::vector<ManifestProblem> problems;
};

Content read_all(std::string text, ManifestReader::Options options = {}) {
    ManifestReader reader(source_of(std::move(text)), std::move(options));
    Content content;
    while (true) {
        auto item = reader.next();
        EXPECT_TRUE(item.has_value());
        if (!item || !*item) return content;
        if (auto* entry = std::get_if<ManifestEntry>(&**item)) content.entries.push_back(std::move(*entry));
        else content.problems.push_back(std::get<ManifestProblem>(**item));
    }
}

struct Form {
    Format format;
    std::vector<Algorithm> algorithms;
    bool zero = false;
};

const std::vector<Form> forms{
    {Format::bsd, {Algorithm::adler32, Algorithm::xxh3_128, Algorithm::crc64_ecma182}},
    {Format::bsd, {Algorithm::md5}, true},
    {Format::gnu, {Algorithm::blake3}},
    {Format::gnu, {Algorithm::crc32c}, true},
    {Format::sfv, {Algorithm::crc32}},
    {Format::cksum, {Algorithm::cksum}},
    {Format::hashdeep, {Algorithm::md5, Algorithm::sha256}},
    {Format::json, {digest::algorithms.begin(), digest::algorithms.end()}},
    {Format::csv, {Algorithm::adler32, Algorithm::sha256}},
    {Format::xrootd, {Algorithm::adler32}},
};

Digest digest_of(Algorithm algorithm, std::uint64_t seed) {
    std::array<std::byte, Digest::size_max> bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(seed * 31 + i * (seed | 1));
    return Digest::of_bytes(algorithm, ConstData(bytes).first(digest::digest_size(algorithm)));
}

/// Any bytes but NUL and, with more weight, those that have a meaning somewhere.
rc::Gen<std::string> a_name() {
    const auto byte =
        rc::gen::oneOf(rc::gen::map(rc::gen::inRange(1, 256), [](int value) { return static_cast<char>(value); }),
                       rc::gen::elementOf(std::string("\\\n\r \t;#*()=,/.%{}\"0aF-")));
    return rc::gen::nonEmpty(rc::gen::container<std::string>(byte));
}

TEST(Manifest, EveryNameComesBackOrIsRefused) {
    for (const auto& form : forms) {
        SCOPED_TRACE(name(form.format));
        EXPECT_TRUE(rc::check([&form] {
            const auto names = *rc::gen::container<std::vector<std::string>>(a_name());
            auto writer = ManifestWriter::make({.format = form.format,
                                                .algorithms = form.algorithms,
                                                .zero = form.zero,
                                                .invoked = "weir",
                                                .directory = "/"});
            RC_ASSERT(writer.has_value());
            auto text = writer->begin();
            std::vector<ManifestEntry> written;
            for (const auto& one : names) {
                if (!written.empty() && written.back().name == one) continue;  // neighbours of one name are one entry
                ManifestEntry entry;
                entry.name = one;
                for (const auto algorithm : form.algorithms)
                    entry.sums.push_back(digest_of(algorithm, one.size() + written.size()));
                if (form.format == Format::json || form.format == Format::hashdeep || form.format == Format::cksum ||
                    form.format == Format::csv)
                    entry.size = one.size();
                if (*rc::gen::arbitrary<bool>())
                    entry.blocks = {4096 * (1 + one.size()), {1, 2, static_cast<std::uint32_t>(one.size())}};
                if (writer->add(entry, text)) written.push_back(std::move(entry));
            }
            text += writer->end();
            const auto read = read_all(text, {.algorithm = form.format == Format::gnu || form.format == Format::xrootd
                                                               ? std::optional(form.algorithms.front())
                                                               : std::nullopt,
                                              .name = "x",
                                              .zero = form.zero});
            RC_ASSERT(read.problems.empty());
            RC_ASSERT(read.entries.size() == written.size());
            for (std::size_t i = 0; i < written.size(); ++i) {
                written[i].line = read.entries[i].line;
                RC_ASSERT(read.entries[i] == written[i]);
            }
        }));
    }
}

TEST(Manifest, OnlyFormsWithoutEscapesRefuse) {
    for (const auto& form : forms) {
        auto writer = ManifestWriter::make(
            {.format = form.format, .algorithms = form.algorithms, .zero = form.zero, .invoked = {}, .directory = {}});
        ManifestEntry entry{.name = "a\nb", .sums = {}, .one_of = {}, .size = 1, .blocks = {}, .line = 0};
        for (const auto algorithm : form.algorithms) entry.sums.push_back(digest_of(algorithm, 1));
        std::string text;
        const bool holds = form.format == Format::bsd || form.format == Format::gnu || form.format == Format::json ||
                           form.format == Format::csv;
        EXPECT_EQ(writer->add(entry, text).has_value(), holds) << name(form.format);
        EXPECT_EQ(text.empty(), !holds);
    }
}

TEST(Manifest, CutOffAtAnyByteItNeverGivesAnotherSum) {
    const std::string text = "MD5 (a) = 900150983cd24fb0d6963f7d28e17f72\nCRC32C (a) = 364b3fb7\n";
    const auto whole = read_all(text);
    ASSERT_EQ(whole.entries.size(), 1U);
    for (std::size_t size = 0; size < text.size() - 1; ++size) {
        const auto read = read_all(text.substr(0, size));
        for (const auto& entry : read.entries) {
            for (const auto& sum : entry.sums)
                EXPECT_NE(std::ranges::find(whole.entries[0].sums, sum), whole.entries[0].sums.end()) << size;
        }
    }
}

TEST(Manifest, FormsAreRecognised) {
    struct Case {
        const char* text;
        Format format;
    };
    for (const auto& one :
         {Case{"MD5 (a) = 900150983cd24fb0d6963f7d28e17f72\n", Format::bsd},
          Case{"900150983cd24fb0d6963f7d28e17f72 *a\n", Format::gnu}, Case{"12738659 1 a\n", Format::cksum},
          Case{"; comment\na 352441c2\n", Format::sfv}, Case{"a.txt 352441c2\n", Format::sfv},
          Case{"%%%% HASHDEEP-1.0\n%%%% size,md5,filename\n1,900150983cd24fb0d6963f7d28e17f72,a\n", Format::hashdeep},
          Case{"path,size,md5\na,1,900150983cd24fb0d6963f7d28e17f72\n", Format::csv}, Case{"024d0127 a\n", Format::gnu},
          Case{"{\"files\":[{\"path\":\"a\",\"sums\":{}}]}", Format::json}}) {
        ManifestReader reader(source_of(one.text), {});
        static_cast<void>(reader.next());
        EXPECT_EQ(reader.format(), one.format) << one.text;
    }
}

TEST(Manifest, AValueOfUnknownAlgorithmIsTakenForAllThatFit) {
    const auto read = read_all("900150983cd24fb0d6963f7d28e17f72  a\n");
    ASSERT_EQ(read.entries.size(), 1U);
    EXPECT_EQ(read.entries[0].one_of.size(), 2U);  // md5, xxh3-128
    const auto named = read_all("900150983cd24fb0d6963f7d28e17f72  a\n",
                                {.algorithm = std::nullopt, .name = "dir/MD5SUMS", .zero = false});
    EXPECT_EQ(named.entries[0].sums.size(), 1U);
}

TEST(Manifest, LinesOfOtherToolsAreRead) {
    struct Case {
        const char* text;
        std::vector<std::string> sums;  // algorithm and value
        std::optional<std::uint64_t> size;
    };
    const auto sha256 = std::string("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    const auto sha256deep = "         3  " + sha256 + "  a b\n";
    for (const auto& one :
         {Case{"CRC32    (a b) = 352441c2\n", {"crc32 352441c2"}, {}},  // rhash --bsd
          Case{"MD5(a b)= 900150983cd24fb0d6963f7d28e17f72\n",
               {"md5 900150983cd24fb0d6963f7d28e17f72"},
               {}},  // openssl md5
          Case{"  MD5 (a b) = 900150983cd24fb0d6963f7d28e17f72\n", {"md5 900150983cd24fb0d6963f7d28e17f72"}, {}},
          Case{" \t024d0127  a b\n", {}, {}}, Case{"a b,3,352441c2,\n", {"crc32 352441c2"}, 3},  // cfv -t csv
          Case{"XXH3_e6c632b61e964e1f  a b\n", {"xxh3-64 e6c632b61e964e1f"}, {}},
          Case{sha256deep.c_str(), {"sha256 " + sha256}, 3}}) {
        const auto read = read_all(one.text, {.algorithm = std::nullopt, .name = "SHA256SUMS", .zero = false});
        EXPECT_TRUE(read.problems.empty()) << one.text << read.problems.front().text;
        ASSERT_EQ(read.entries.size(), 1U) << one.text;
        const auto& entry = read.entries.front();
        std::vector<std::string> sums;
        for (const auto& sum : entry.sums)
            sums.push_back(fmt::format("{} {}", digest::name(sum.algorithm()), sum.hex()));
        EXPECT_EQ(entry.name, "a b") << one.text;
        EXPECT_EQ(sums, one.sums) << one.text;
        EXPECT_EQ(entry.size, one.size) << one.text;
    }
}

TEST(Manifest, ALineOfAnUnknownSumIsNoOtherOne) {
    const auto read = read_all("FOO32 (a) = 352441c2\nFOO32(a)= 352441c2\nCRC32 (a) = 352441c2\n");
    ASSERT_EQ(read.problems.size(), 2U);
    EXPECT_EQ(read.problems.front().text, "is not understood: weir does not know the sum FOO32");
    ASSERT_EQ(read.entries.size(), 1U);
    EXPECT_EQ(read.entries.front().sums.front().algorithm(), Algorithm::crc32);
}

TEST(Manifest, AnXxh3IsWrittenAsXxhsumReadsIt) {
    auto writer = ManifestWriter::make(
        {.format = Format::gnu, .algorithms = {Algorithm::xxh3_64}, .zero = false, .invoked = {}, .directory = {}});
    ASSERT_TRUE(writer);
    std::string text;
    const ManifestEntry entry{.name = "a",
                              .sums = {Digest::of_number(Algorithm::xxh3_64, 0x12)},
                              .one_of = {},
                              .size = 3,
                              .blocks = {},
                              .line = 0};
    ASSERT_TRUE(writer->add(entry, text));
    EXPECT_EQ(text, "XXH3_0000000000000012  a\n");
}

TEST(Manifest, ACsvRecordThatIsTooLargeIsPassedOverUpToItsLineBreak) {
    const std::string header = "path,size,crc32\n", good = "a,1,352441c2\n";
    for (const auto& bad : {std::string(100'000, ','), "\"" + std::string(2U << 20, 'x') + "\",1,352441c2",
                            std::string(2U << 20, 'x') + ",1,352441c2"}) {
        const auto read = read_all(header + bad + "\n" + good);
        ASSERT_EQ(read.problems.size(), 1U);
        EXPECT_EQ(read.problems[0].text, "has more than 1048576 bytes or 64 columns");
        ASSERT_EQ(read.entries.size(), 1U);
        EXPECT_EQ(read.entries[0].name, "a");
    }
    EXPECT_EQ(read_all("path,size," + std::string(1'000'000, ',') + "\n" + good).entries.size(), 0U);
}

TEST(Manifest, WhatFollowsACarriageReturnWithinACsvLineIsNoRecord) {
    const auto read = read_all("path,size,crc32\ndir/a\rb,1,352441c2\nc,1,352441c2\r\nd,1,352441c2\n");
    ASSERT_EQ(read.problems.size(), 1U);
    EXPECT_EQ(read.problems[0].line, 2U);
    ASSERT_EQ(read.entries.size(), 2U);
    EXPECT_EQ(read.entries[0].name, "c");
}

TEST(Manifest, ABlockMapMustContinueWhereItStopped) {
    const std::string line = "CRC32C (a) = 364b3fb7\n";
    EXPECT_TRUE(
        read_all(line + "# weir-blocks crc32c 4096 0 00000001 00000002\n# weir-blocks crc32c 4096 8192 00000003\n")
            .problems.empty());
    for (const char* bad : {"# weir-blocks crc32c 4096 4096 00000001\n", "# weir-blocks crc32c 0 0 00000001\n",
                            "# weir-blocks crc32c 4096 0 1\n",
                            "# weir-blocks crc32c 4096 0 00000001\n# weir-blocks crc32c 4096 8192 00000001\n",
                            "# weir-blocks crc32c 99999999999999999999 0 00000001\n"}) {
        const auto read = read_all(line + bad);
        EXPECT_EQ(read.problems.size(), 1U) << bad;
        ASSERT_EQ(read.entries.size(), 1U);
        EXPECT_TRUE(read.entries[0].blocks.empty());
    }
}

TEST(Manifest, DocumentsMayFollowEachOther) {
    const std::string one = R"({"files":[{"path":"a","sums":{"md5":"900150983cd24fb0d6963f7d28e17f72"}}],"ok":1})";
    const auto read = read_all(one + "\n\n" + one + one + " \n");
    EXPECT_TRUE(read.problems.empty());
    ASSERT_EQ(read.entries.size(), 3U);
    EXPECT_EQ(read.entries[2].line, 3U);
    const auto broken = read_all(one + "\n{\"files\":[{\"path\":7}]}");
    EXPECT_EQ(broken.entries.size(), 1U);
    ASSERT_EQ(broken.problems.size(), 1U);
    EXPECT_NE(broken.problems[0].text.find(fmt::format("at byte {}", one.size() + 20)), std::string::npos)
        << broken.problems[0].text;
}

TEST(Manifest, ADocumentIsPassedOverWhereItIsNotOursAndBrokenWhereItIsWrong) {
    const auto in_file = [](std::string_view fields) {
        return fmt::format(R"({{"files":[{{"path":"a",{}}}]}})", fields);
    };
    const std::string deep = std::string(50, '[') + std::string(50, ']'),
                      too_deep = std::string(70, '[') + std::string(70, ']');
    for (const auto& good :
         {in_file(R"("sums":{},"x":[{"path":"b","sums":[1]}],"y":"\u0041\n","z":-1e99,"size":null)"),
          in_file("\"x\":" + deep), in_file(R"("blocks":{"algorithm":"sha256","size":4096,"sums":"xyzxyzxy"})"),
          in_file("\"size\":18446744073709551615")}) {
        const auto read = read_all(good);
        EXPECT_TRUE(read.problems.empty()) << good;
        ASSERT_EQ(read.entries.size(), 1U) << good;
        EXPECT_EQ(read.entries[0].name, "a");
    }
    for (const auto& bad : {in_file(R"("size":-1)"),
                            in_file(R"("size":1.5)"),
                            in_file(R"("size":"1")"),
                            in_file(R"("size":18446744073709551616)"),
                            in_file(R"("sums":[])"),
                            in_file(R"("sums":{"md5":1})"),
                            in_file(R"("sums":{"md5":"00"})"),
                            in_file(R"("sums":{"md5":{}})"),
                            in_file(R"("path_hex":"6")"),
                            in_file(R"("path_hex":"zz")"),
                            in_file(R"("path_hex":"00")"),
                            in_file("\"x\":" + too_deep),
                            in_file(R"("blocks":{"algorithm":"crc32c","size":1,"sums":""})"),
                            in_file(R"("blocks":{"algorithm":"crc32c","size":4096,"sums":"1"})"),
                            std::string(R"({"files":{}})"),
                            std::string(R"({"files":[1]})"),
                            std::string("{}"),
                            std::string(R"({"ranges":[]})"),
                            std::string(R"({"files":[{"path":"a\u0000b"}]})"),
                            "{\"files\":[{\"path\":\"" + std::string(70'000, 'x') + "\"}]}"}) {
        const auto read = read_all(bad);
        EXPECT_TRUE(read.entries.empty()) << bad;
        ASSERT_EQ(read.problems.size(), 1U) << bad;
        EXPECT_TRUE(read.problems[0].malformed);
    }
}

TEST(Manifest, ADocumentCutOffAtAnyByteIsReportedAndGivesNoOtherSum) {
    const std::string text =
        R"({"files":[{"path":"a","size":3,"sums":{"md5":"900150983cd24fb0d6963f7d28e17f72"}}],"ok":1})";
    for (std::size_t size = 1; size < text.size(); ++size) {
        const auto read = read_all(text.substr(0, size));
        EXPECT_EQ(read.problems.size(), 1U) << size;
        for (const auto& entry : read.entries) EXPECT_EQ(entry, read_all(text).entries[0]) << size;
    }
}

TEST(Manifest, ATableMayHaveQuotedNamesAndHidesNothingBehindABrokenRecord) {
    const std::string head = "path,size,adler32,md17\r\n";
    const auto read = read_all(
        head +
        "\"a \"\"b\"\",\r\nc\",3,024d0127,\r\nb,3,24d0127,00\r\n\"c\"x,3,024d0127,00\r\nd,3,024d0127,00\n\ne,,,\nf,3");
    ASSERT_EQ(read.entries.size(), 3U);
    EXPECT_EQ(read.entries[0].name, "a \"b\",\r\nc");
    EXPECT_EQ(read.entries[1].name, "d");
    EXPECT_EQ(read.entries[1].line, 6U);
    EXPECT_EQ(read.entries[1].sums.size(), 1U);
    EXPECT_EQ(read.entries[2],
              (ManifestEntry{.name = "e", .sums = {}, .one_of = {}, .size = std::nullopt, .blocks = {}, .line = 8}));
    std::vector<std::uint64_t> lines;
    for (const auto& problem : read.problems) lines.push_back(problem.malformed ? problem.line : 0);
    EXPECT_EQ(lines, (std::vector<std::uint64_t>{0, 4, 5, 9}));  // md17 is a warning
}

TEST(Manifest, ATableCutOffAtAnyByteNeverGivesAnotherSum) {
    const std::string head = "path,size,adler32,md5\r\n",
                      text = head + "\"a,\"\"b\",3,024d0127,900150983cd24fb0d6963f7d28e17f72\r\n";
    const auto whole = read_all(text);
    ASSERT_EQ(whole.entries.size(), 1U);
    for (auto size = head.size(); size < text.size() - 2; ++size) {
        for (const auto& entry : read_all(text.substr(0, size)).entries) {  // perhaps of fewer columns
            EXPECT_EQ(entry.name, whole.entries[0].name) << size;
            for (const auto& sum : entry.sums)
                EXPECT_NE(std::ranges::find(whole.entries[0].sums, sum), whole.entries[0].sums.end()) << size;
        }
    }
}

TEST(Manifest, AReadErrorIsNotTheEnd) {
    ManifestReader reader(
        [first = true](MutableData to) mutable -> Result<std::size_t> {
            if (!std::exchange(first, false)) return fail_errno(5, "cannot read");
            const std::string_view text = "MD5 (a) = 900150983cd24fb0d6963f7d28e17f72\n";
            std::ranges::copy(as_data(text), to.begin());
            return text.size();
        },
        {});
    auto item = reader.next();
    if (item && *item) item = reader.next();
    ASSERT_FALSE(item.has_value());
    EXPECT_EQ(item.error().os_errno, 5);
}

}  // namespace
}  // namespace weir::fixity
