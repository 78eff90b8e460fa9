// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/journal.hpp"

#include <gtest/gtest.h>

#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::datafile {
namespace {

std::vector<JournalRecord> samples() {
    const auto guid = parse_guid("01234567-89AB-4DEF-8123-456789ABCDEF").value();
    const auto start = std::vector<std::byte>(64, std::byte{7});
    return {FileOpened{guid, RunNumber{17}, LumiBlock{3}, 1, event::Format::event_5_0, 6, true, 10, 20, 30, "physics",
                       "Main", "data_test.00000017.physics_Main.daq.RAW._lb0003._weir._0001", start},
            SessionDeclared{5, 0xfeed, 2, RunNumber{17}, "crate-7"},
            StoredCopy{guid,
                       64,
                       4096,
                       11,
                       0x11,
                       0x22,
                       0x33,
                       GlobalEventId{1ULL << 40},
                       Level1Id{9},
                       5,
                       Sequence{77},
                       1,
                       2,
                       LumiBlock{3},
                       123456789,
                       {}},
            StoredCopy{guid,
                       4176,
                       24,
                       12,
                       0x11,
                       0x22,
                       0x33,
                       GlobalEventId{7},
                       Level1Id{9},
                       5,
                       Sequence{78},
                       2,
                       3,
                       LumiBlock{3},
                       123456789,
                       {std::make_shared<const std::vector<std::string>>(2, "express_express")}},
            FileClosed{guid, 4216, 0xa, 0xb, 1, 4096, std::vector<std::byte>(40, std::byte{1}), true},
            RejectedCopies{RunNumber{17}, "weir", "none", "unplaced", {{"no_tags", 1ULL << 40}, {"too_large", 3}}},
            FileOpened{guid, RunNumber{17}, LumiBlock{3}, 2, event::Format::event_5_0, 6, true, 0, 0, 0, "physics",
                       "Main", "data_test.00000017.physics_Main.daq.RAW._lb0003._weir._0002", start, true},
            FileOpened{guid, RunNumber{17}, LumiBlock{3}, 3, event::Format::opaque, 6, false, 0, 0, 0, "physics",
                       "Main", "data_test.00000017.physics_Main.daq.RAW._lb0003._weir._0003", start, true}};
}

std::vector<std::byte> encoded(const std::vector<JournalRecord>& records) {
    std::vector<std::byte> bytes;
    for (const auto& record : records) encode(record, bytes);
    return bytes;
}

std::vector<JournalRecord> read(ConstData data, JournalEnd* end = nullptr) {
    std::vector<JournalRecord> records;
    const auto ended = for_each_record(data, [&](const JournalRecord& r) { return records.push_back(r), true; });
    if (end != nullptr) *end = ended;
    return records;
}

TEST(Journal, EveryRecordIsReadBack) {
    const auto records = samples();
    JournalEnd end;
    EXPECT_EQ(read(encoded(records), &end), records);
    EXPECT_TRUE(end.clean);
}

TEST(Journal, CutAtAnyByteTheRecordsBeforeAreValidAndNothingIsMisread) {
    const auto records = samples();
    const auto whole = encoded(records);
    for (std::size_t size = 0; size < whole.size(); ++size) {
        JournalEnd end;
        const auto got = read(std::span(whole).first(size), &end);
        ASSERT_LT(got.size(), records.size());
        for (std::size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], records[i]);
        ASSERT_LE(end.offset, size);
        ASSERT_EQ(end.clean, end.offset == size);
    }
}

TEST(Journal, AnyChangedByteEndsTheValidPart) {
    const auto records = samples();
    const auto whole = encoded(records);
    for (std::size_t at = 0; at < whole.size(); ++at) {
        auto bytes = whole;
        bytes[at] ^= std::byte{0x40};
        JournalEnd end;
        const auto got = read(bytes, &end);
        ASSERT_LT(got.size(), records.size()) << at;
        ASSERT_FALSE(end.clean) << at;
    }
}

TEST(Journal, AKindOfALaterVersionIsPassedOver) {
    auto bytes = encoded({samples()[1]});
    store_little<std::uint16_t>(bytes, 4, 99);
    store_little<std::uint32_t>(
        bytes, 12, checksum::crc32c(std::span(bytes).subspan(16), checksum::crc32c(std::span(bytes).first(12))));
    encode(samples()[3], bytes);
    JournalEnd end;
    EXPECT_EQ(read(bytes, &end), std::vector{samples()[3]});
    EXPECT_TRUE(end.clean);
}

TEST(Journal, ThePlacedSumDependsOnThePlace) {
    const auto guid = Guid::random();
    const auto data = as_data("an event");
    const auto sum = placed_crc32c(guid, 64, checksum::crc32c(data), data.size());
    EXPECT_NE(sum, placed_crc32c(guid, 128, checksum::crc32c(data), data.size()));
    EXPECT_NE(sum, placed_crc32c(Guid::random(), 64, checksum::crc32c(data), data.size()));
    std::vector<std::byte> direct(guid.bytes.begin(), guid.bytes.end());
    direct.resize(24);
    store_little<std::uint64_t>(direct, 16, 64);
    direct.insert(direct.end(), data.begin(), data.end());
    EXPECT_EQ(sum, checksum::crc32c(direct));
}

}  // namespace
}  // namespace weir::datafile
