// SPDX-License-Identifier: Apache-2.0
#include "weir/event/raw_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "sample.hpp"
#include "weir/event/raw_file_index.hpp"
#include "weir/event/rotation.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

FileHead sample_head(std::uint32_t version) {
    FileHead head;
    head.version = version;
    head.file_number = 3;
    head.opened = {.year = 2026, .month = 11, .day = 21, .hour = 9, .minute = 5, .second = 7};
    head.blocks_max = 1000;
    head.size_max_mb = 2008;
    head.application = "SFO-5";
    head.name_core = "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-5";
    head.run = {.run = RunNumber{357750},
                .events_max = 10,
                .recording_enabled = 1,
                .trigger_type = 4,
                .detector_mask = {1, 0, 0, 0},
                .beam_type = 5,
                .beam_energy = 6500};
    if (version == file_version_current) {
        head.run.detector_mask = {1, 2, 3, 4};
        head.metadata = {"GUID=00010203-0405-0607-0809-0A0B0C0D0E0F", "Stream=physics_Main", "x"};
    }
    return head;
}

std::vector<std::byte> file_with(const FileHead& head, std::initializer_list<std::string_view> payloads,
                                 bool ended = true) {
    auto file = encode_file_head(head).value();
    std::uint32_t block = 0;
    for (const auto payload : payloads) {
        std::array<std::byte, separator_size_bytes> separator{};
        encode_separator(separator, {.block_number = ++block, .size = static_cast<std::uint32_t>(payload.size())});
        append(file, separator);
        append(file, as_data(payload));
    }
    if (ended) {
        std::array<std::byte, file_end_size_bytes> end{};
        encode_file_end(
            end,
            {.closed = head.opened, .events_in_file = block, .events_in_sequence = block, .last_of_sequence = true});
        append(file, end);
    }
    return file;
}

TEST(RawFile, AHeadComesBackInBothVersions) {
    for (const auto version : {file_version_bes3, file_version_current}) {
        const auto head = sample_head(version);
        const auto bytes = encode_file_head(head).value();
        const auto parsed = parse_file_head(bytes).value();
        EXPECT_EQ(parsed.head, head);
        EXPECT_EQ(parsed.size, bytes.size());
    }
}

TEST(RawFile, TheWordsOfAHeadAreTheDocumentedOnes) {
    FileHead head = sample_head(file_version_current);
    head.metadata = {"K=vw"};
    head.application = "A";
    head.name_core = "core5";
    const auto bytes = encode_file_head(head).value();
    const std::vector<std::uint32_t> expected{
        0x1234aaaa, 8,  6,          3,          21112026,   90507,      1000, 2008,  // file start
        0x1234aabb, 1,  0x20202041, 5,          0x65726f63, 0x20202035,              // "A", "core5", filled with spaces
        0x1234aabc, 1,  4,          0x77763d4b,                                      // "K=vw"
        0x1234bbbb, 12, 357750,     10,         1,          4,          1,    2,    3, 4, 5, 6500};  // run parameters
    ASSERT_EQ(bytes.size(), expected.size() * word_bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(word(bytes, i), expected[i]) << i;
}

TEST(RawFile, AHeadOfVersion5IsReadThoughNotWritten) {
    auto head = sample_head(file_version_current);
    head.version = file_version_run1;
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
    head.run.detector_mask = {1, 2, 0, 0};

    head.version = file_version_current;
    auto bytes = encode_file_head(head).value();
    set_word(bytes, 2, file_version_run1);
    const auto run_record = bytes.size() / word_bytes - run_parameters_words_v6;
    set_word(bytes, run_record + 1, run_parameters_words_v5);
    bytes.erase(bytes.end() - 16, bytes.end() - 8);  // the two upper mask words
    head.version = file_version_run1;
    EXPECT_EQ(parse_file_head(bytes).value().head, head);
}

TEST(RawFile, AHeadWithoutMetadataIsRead) {
    auto head = sample_head(file_version_current);
    head.metadata.clear();
    EXPECT_EQ(parse_file_head(encode_file_head(head).value()).value().head, head);
    EXPECT_EQ(head.metadata_value("GUID"), std::nullopt);
    EXPECT_EQ(head.format(), Format::event_5_0);
}

TEST(RawFile, MetadataStandsInTheOrderOfTheFormatAndIsFoundByName) {
    const std::vector<std::string> user{"Operator=night shift"};
    const auto stream = parse_stream_key("physics_Main").value();
    EXPECT_EQ(compose_metadata(Guid{}, user, stream, "data18_13TeV", LumiBlock{83}, Format::event_5_0),
              (std::vector<std::string>{"GUID=00000000-0000-0000-0000-000000000000", "Operator=night shift",
                                        "Stream=physics_Main", "Project=data18_13TeV", "LumiBlock=83"}));
    FileHead head;
    head.metadata = compose_metadata(Guid{}, user, stream, "data18_13TeV", LumiBlock{83}, Format::opaque);
    EXPECT_EQ(head.format(), Format::opaque);
    EXPECT_EQ(head.metadata_value("Operator"), "night shift");
    EXPECT_EQ(head.metadata_value("Oper"), std::nullopt);
    head.version = file_version_bes3;
    EXPECT_EQ(head.format(), Format::event_3_0);
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
}

TEST(RawFile, AHeadCutShortAtAnyByteIsTruncatedNeverMisread) {
    for (const auto version : {file_version_bes3, file_version_current}) {
        const auto whole = encode_file_head(sample_head(version)).value();
        for (std::size_t size = 0; size < whole.size(); ++size) {
            const auto result = parse_file_head(ConstData(whole).first(size));
            ASSERT_FALSE(result.has_value()) << size;
            EXPECT_EQ(result.error().code, Errc::truncated) << result.error().context;
        }
    }
}

TEST(RawFile, ALengthInTheHeadIsHeldAgainstItsLimitFirst) {
    const auto whole = encode_file_head(sample_head(file_version_current)).value();
    const auto metadata = 8 + 1 + 1 + 2 + 1 + 15;  // start, marker, "SFO-5", the name core
    ASSERT_EQ(word(whole, metadata), metadata_strings_marker);
    for (const std::size_t position :
         {std::size_t{9}, std::size_t{12}, std::size_t{metadata + 1}, std::size_t{metadata + 2}}) {
        auto bytes = whole;
        set_word(bytes, position, 0xfffffff0);
        EXPECT_EQ(parse_file_head(bytes).error().code, Errc::limit) << position;
    }
}

TEST(RawFile, WhatIsTooLongIsNotWritten) {
    auto head = sample_head(file_version_current);
    head.application.assign(name_string_size_max + 1, 'x');
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
    head = sample_head(file_version_current);
    head.metadata.assign(metadata_strings_max + 1, "K=v");
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
    head.metadata.assign(32, std::string(metadata_string_size_max, 'x'));
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
    head.metadata.assign(1, std::string(metadata_string_size_max + 1, 'x'));
    EXPECT_EQ(encode_file_head(head).error().code, Errc::usage);
}

TEST(RawFile, AWrongMarkerOrVersionInTheHeadIsNamedWithItsByte) {
    const auto whole = encode_file_head(sample_head(file_version_current)).value();
    auto bytes = whole;
    set_word(bytes, 2, 4);
    EXPECT_EQ(parse_file_head(bytes).error().code, Errc::unsupported);
    for (const std::size_t position : {0U, 1U, 8U}) {
        bytes = whole;
        bytes[position * word_bytes] ^= std::byte{1};
        const auto error = parse_file_head(bytes).error();
        EXPECT_EQ(error.code, Errc::corrupt);
        EXPECT_NE(error.context.find("byte " + std::to_string(position * word_bytes) + ":"), std::string::npos)
            << error.context;
    }
}

TEST(RawFile, TheLastRecordsComeBack) {
    std::array<std::byte, separator_size_bytes> separator{};
    encode_separator(separator, {.block_number = 199784, .size = 10356});
    EXPECT_EQ(parse_separator(separator, 0).value(), (DataSeparator{.block_number = 199784, .size = 10356}));
    EXPECT_EQ(record_kind(separator), RecordKind::separator);

    const FileEnd end{.closed = {.year = 2026, .month = 4, .day = 8, .hour = 12, .minute = 3, .second = 43},
                      .events_in_file = 10,
                      .mib_in_file = 1,
                      .events_in_sequence = 30,
                      .mib_in_sequence = 3,
                      .last_of_sequence = true};
    std::array<std::byte, file_end_size_bytes> record{};
    encode_file_end(record, end);
    EXPECT_EQ(parse_file_end(record, 0).value(), end);
    EXPECT_EQ(record_kind(record), RecordKind::file_end);
    EXPECT_EQ(record_kind({}), RecordKind::unknown);

    for (std::size_t size = 0; size < record.size(); ++size)
        EXPECT_EQ(parse_file_end(ConstData(record).first(size), 0).error().code, Errc::truncated);
    for (std::size_t size = 0; size < separator.size(); ++size)
        EXPECT_EQ(parse_separator(ConstData(separator).first(size), 0).error().code, Errc::truncated);
    for (const std::size_t structural : {0U, 1U, 8U, 9U}) {
        auto damaged = record;
        damaged[structural * word_bytes + 1] ^= std::byte{1};
        EXPECT_EQ(parse_file_end(damaged, 0).error().code, Errc::corrupt) << structural;
    }
    for (const std::size_t structural : {0U, 1U}) {
        auto damaged = separator;
        damaged[structural * word_bytes + 1] ^= std::byte{1};
        EXPECT_EQ(parse_separator(damaged, 77).error().code, Errc::corrupt) << structural;
    }
}

TEST(RawFile, DateAndTimeReadLikeDateAndTime) {
    const CalendarTime time{.year = 2026, .month = 4, .day = 8, .hour = 12, .minute = 3, .second = 40};
    EXPECT_EQ(time.date_word(), 8042026U);
    EXPECT_EQ(time.time_word(), 120340U);
    EXPECT_EQ(CalendarTime::from_words(8042026, 120340), time);
    for (const std::uint32_t any : {0U, 99999999U, 0xffffffffU}) {
        EXPECT_EQ(CalendarTime::from_words(any, any).date_word(), any);
        EXPECT_EQ(CalendarTime::from_words(any, any).time_word(), any);
    }
    const auto now = CalendarTime::local(std::chrono::system_clock::time_point{std::chrono::seconds{1'700'000'000}});
    EXPECT_EQ(now.year, 2023U);  // in November, whatever the time zone
    EXPECT_EQ(now.month, 11U);
    EXPECT_EQ(now.second, 20U);
}

TEST(RawFile, MegabytesAreRoundedToTheNearest) {
    EXPECT_EQ(rounded_mib(Bytes{(1 << 19) - 1}), 0U);
    EXPECT_EQ(rounded_mib(Bytes{1 << 19}), 1U);
    EXPECT_EQ(rounded_mib(3_MiB), 3U);
}

TEST(RawFile, ANewFileBeginsBeforeTheEventThatWouldGoOverALimit) {
    const RotationLimits limits{.size_max_mb = 10, .events_max = 5};
    EXPECT_FALSE(needs_new_file(limits, {.bytes = 9_MiB, .events = 4}, 1_MiB));
    EXPECT_FALSE(needs_new_file(limits, {.bytes = 9_MiB, .events = 4}, Bytes{(3 << 19) - 1}));
    EXPECT_TRUE(needs_new_file(limits, {.bytes = 9_MiB, .events = 4}, Bytes{3 << 19}));
    EXPECT_TRUE(needs_new_file(limits, {.bytes = 0_MiB, .events = 5}, 1_B));
    EXPECT_FALSE(needs_new_file(limits, {.bytes = 0_MiB, .events = 0}, 100_MiB))
        << "else that event would never be recorded";
    EXPECT_FALSE(needs_new_file({}, {.bytes = 1000_GiB, .events = 1'000'000}, 1_GiB));
}

TEST(RawFile, ItsIndexFindsEventsOfAnyExactSize) {
    auto head = sample_head(file_version_current);
    head.metadata.emplace_back("Format=opaque");
    const auto file = file_with(head, {"a", "", "three", "12345678"});
    const auto index = RawFileIndex::make(file).value();
    ASSERT_EQ(index.blocks.size(), 4U);
    EXPECT_EQ(index.head.format(), Format::opaque);
    EXPECT_EQ(as_text(ConstData(file).subspan(index.blocks[2].offset, index.blocks[2].separator.size)), "three");
    EXPECT_EQ(index.blocks[3].separator.block_number, 4U);
    EXPECT_TRUE(index.end.value().last_of_sequence);
    EXPECT_EQ(index.bytes_after, 0U);
}

TEST(RawFile, WithoutItsEndItIsIndexedUpToTheLastWholeEvent) {
    const auto whole = file_with(sample_head(file_version_current), {"first", "second!!"});
    const auto complete = RawFileIndex::make(whole).value();
    for (auto size = complete.head_size; size < whole.size(); ++size) {
        const auto index = RawFileIndex::make(ConstData(whole).first(size)).value();
        EXPECT_FALSE(index.end.has_value());
        EXPECT_EQ(index.blocks.size(),
                  static_cast<std::size_t>(std::ranges::count_if(
                      complete.blocks, [&](const DataBlock& b) { return b.offset + b.separator.size <= size; })));
        const auto known =
            index.blocks.empty() ? index.head_size : index.blocks.back().offset + index.blocks.back().separator.size;
        EXPECT_EQ(known + index.bytes_after, size);
    }
}

TEST(RawFile, AnythingElseBetweenEventsIsCorrupt) {
    const auto whole = file_with(sample_head(file_version_current), {"first", "second!!"});
    const auto index = RawFileIndex::make(whole).value();
    auto damaged = whole;
    damaged[index.blocks[1].offset - separator_size_bytes] ^= std::byte{1};
    EXPECT_EQ(RawFileIndex::make(damaged).error().code, Errc::corrupt);
    damaged = whole;
    damaged[damaged.size() - file_end_size_bytes + 4 * word_bytes] ^= std::byte{1};  // the count of events
    EXPECT_EQ(RawFileIndex::make(damaged).error().code, Errc::corrupt);
    damaged = whole;
    damaged.push_back(std::byte{0});
    EXPECT_EQ(RawFileIndex::make(damaged).error().code, Errc::corrupt);
}

TEST(RawFile, TheDocumentedExampleIsWhatWeWriteAndRead) {
    auto text = read_file(std::filesystem::path(WEIR_TEST_VECTORS) / "small_v6.hex");
    ASSERT_FALSE(text.empty());
    std::vector<std::byte> expected;
    std::string digits;
    for (const char c : as_text(text)) {
        if (std::isxdigit(static_cast<unsigned char>(c)) != 0) digits += c;
        if (digits.size() < 2) continue;
        expected.push_back(static_cast<std::byte>(std::stoi(digits, nullptr, 16)));
        digits.clear();
    }

    std::vector<std::byte> rob;
    const std::uint32_t data[] = {0x00c80123, 0x00d10fff};
    ASSERT_TRUE(append_rob(rob,
                           {.source = SourceId{0x510001},
                            .run = RunNumber{357750},
                            .level1_id = Level1Id{0x05000123},
                            .bunch_crossing_id = 77},
                           data)
                    .has_value());
    EventFields fields;
    fields.ids = {.run = RunNumber{357750},
                  .global_id = GlobalEventId{66},
                  .level1_id = Level1Id{0x05000123},
                  .lumi_block = LumiBlock{83},
                  .time = {.seconds = 1'530'000'000, .nanoseconds = 250}};
    fields.source = SourceId{0x790001};
    fields.bunch_crossing_id = 77;
    fields.checksum = ChecksumType::adler32;
    fields.tags = {{.type = "physics", .name = "Main", .obeys_lumi_block = true, .robs = {}, .detectors = {}}};
    const auto event = build_event(fields, std::vector<ConstData>{rob}).value();

    FileHead head;
    head.opened = {.year = 2026, .month = 11, .day = 21, .hour = 9, .minute = 5, .second = 7};
    head.application = "SFO-5";
    head.name_core = "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-5";
    head.metadata = compose_metadata(parse_guid("00010203-0405-4607-8809-0A0B0C0D0E0F").value(), {}, fields.tags[0],
                                     "data18_13TeV", LumiBlock{83}, Format::event_5_0);
    head.run.run = RunNumber{357750};
    const auto file = file_with(head, {as_text(event)});
    EXPECT_EQ(file, expected);
    EXPECT_EQ(RawFileIndex::make(expected).value().blocks.size(), 1U);
}

}  // namespace
}  // namespace weir::event
