// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/attributes.hpp"

#include <chrono>

namespace weir::fixity {
namespace {

using digest::Algorithm;
using digest::Digest;

constexpr std::int64_t mtime_s = 1'700'000'000;
const FileStamp stamp{.device = 1, .inode = 77, .size = 22, .mtime_ns = mtime_s * 1'000'000'000 + 5, .ctime_ns = 0};
const WallTime now{std::chrono::seconds{mtime_s + 4}};

/// The worked example of docs/formats/checksum-attribute.md.
const std::string example = std::string("adler32\0\0\0\0\0\0\0\0\0", 16) + std::string("\0\0\0\0\x65\x53\xf1\0", 8) +
                            std::string("\0\0\0\x04\0\0\0\x04", 8) + "\x8f\x1c\x62\xcc" + std::string(60, '\0');

TEST(XrootdAttribute, IsTheWorkedExample) {
    const auto sum = Digest::of_number(Algorithm::adler32, 0x8f1c62cc);
    EXPECT_EQ(encode_xrootd(sum, stamp, now), example);
    const auto read = decode_xrootd(example, Algorithm::adler32);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->sum, sum);
    EXPECT_EQ(read->mtime_s, mtime_s);
}

TEST(XrootdAttribute, AnotherNameLengthOrSizeIsNotOne) {
    EXPECT_FALSE(decode_xrootd(example, Algorithm::crc32c));
    EXPECT_FALSE(decode_xrootd(example.substr(0, 95), Algorithm::adler32));
    EXPECT_FALSE(decode_xrootd(example + "x", Algorithm::adler32));
    EXPECT_FALSE(decode_xrootd("", Algorithm::adler32));
    auto longer = example;
    longer[31] = 8;
    EXPECT_FALSE(decode_xrootd(longer, Algorithm::adler32));
}

TEST(XrootdAttribute, TheNamesOfXrootdAreNotOurs) {
    EXPECT_EQ(xrootd_name(Algorithm::cksum), "crc32");
    EXPECT_EQ(xrootd_name(Algorithm::crc32), std::nullopt);
    EXPECT_EQ(xrootd_name(Algorithm::crc64_xz), std::nullopt);
}

TEST(WeirAttribute, ComesBackAsItWasWritten) {
    const std::vector sums{Digest::of_number(Algorithm::adler32, 1), Digest::of_number(Algorithm::crc64_xz, 0x123)};
    const auto text = encode_weir(sums, stamp, 9, now);
    EXPECT_EQ(text,
              "v1 size=22 mtime_ns=1700000000000000005 ino-gen=77-9 at=1700000004 at_ns=1700000004000000000 "
              "adler32=00000001 crc64-xz=0000000000000123");
    const auto read = decode_weir(text);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(std::tie(read->size, read->mtime_ns, read->inode, read->generation, read->sums),
              std::make_tuple(std::uint64_t{22}, stamp.mtime_ns, std::uint64_t{77}, std::uint64_t{9}, sums));
}

TEST(WeirAttribute, AFileIsUntouchedWhenItsCtimeIsThatOfTheAttribute) {
    auto file = stamp;
    WeirSums sums;
    sums.at_ns = 1'700'000'004'000'000'000;
    file.ctime_ns = sums.at_ns - 3'000'000;  // the tick before
    EXPECT_TRUE(is_untouched_since(sums, file));
    file.ctime_ns = sums.at_ns + 1'000'000;
    EXPECT_TRUE(is_untouched_since(sums, file));
    file.ctime_ns = sums.at_ns + 1'000'000'000;
    EXPECT_FALSE(is_untouched_since(sums, file));
    sums.at_ns = 0;  // not known from the attribute
    EXPECT_FALSE(is_untouched_since(sums, file));
}

TEST(WeirAttribute, FieldsOfALaterVersionAreSkippedAndTheVersionReported) {
    EXPECT_TRUE(decode_weir("v1 size=1 mtime_ns=2 ino-gen=3-4 at=5 colour=blue adler32=00000001"));
    const auto later = decode_weir("v2 size=1");
    ASSERT_FALSE(later);
    EXPECT_EQ(later.error().code, Errc::unsupported);
    for (const char* text :
         {"", "v1", "v1 size=x mtime_ns=2", "v1 size=1 mtime_ns=2 adler32=1", "v1 size=1 mtime_ns=2 adler32", "hello"})
        EXPECT_FALSE(decode_weir(text)) << text;
}

}  // namespace
}  // namespace weir::fixity
