// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/input_block.hpp"

#include <gtest/gtest.h>

#include <random>

#include "samples.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::wire {
namespace {

using Fragments = BlockReader<InputFragment>;
using Triggers = BlockReader<InputTrigger>;

InputFragment sample_fragment() {
    return {.source = SourceId{0x420001},
            .level1_id = Level1Id{7},
            .time_ns = 1'700'000'000'000'000'025,
            .status_words = {0xab},
            .payload = as_data("weir!")};
}

InputTrigger sample_trigger() {
    return {.level1_id = Level1Id{7},
            .time_ns = 1'700'000'000'000'000'025,
            .type = 0x84,
            .bunch_crossing_id = 1785,
            .words = {1, 2}};
}

template <class Record>
std::vector<std::byte> block_of(const std::vector<Record>& records) {
    std::vector<std::byte> block;
    for (const auto& record : records) encode(record, block);
    return block;
}

TEST(InputBlock, IsTheBytesOfTheDocument) {
    EXPECT_EQ(block_of<InputFragment>({sample_fragment()}),
              sample::from_hex("2c 00 00 00 01 00 42 00 07 00 00 00 03 00 01 00 "
                               "19 00 2a 36 fe 9c 97 17 05 00 00 00 00 00 00 00 "
                               "ab 00 00 00 77 65 69 72 21 00 00 00 "));
    EXPECT_EQ(block_of<InputTrigger>({sample_trigger()}),
              sample::from_hex("28 00 00 00 07 00 00 00 19 00 2a 36 fe 9c 97 17 "
                               "84 00 00 00 f9 06 00 00 00 00 02 00 00 00 00 00 "
                               "01 00 00 00 02 00 00 00 "));
}

TEST(InputBlock, RecordsAreReadBackAsTheyWereWritten) {
    auto rob = sample_fragment();
    rob.kind = PayloadKind::rob;
    rob.level1_id.reset();
    rob.status_words.clear();
    auto rod = sample_fragment();
    rod.kind = PayloadKind::rod;
    rod.time_ns.reset();
    rod.payload = {};
    const std::vector all{sample_fragment(), rob, rod};
    const auto block = block_of(all);
    Fragments reader(block);
    for (std::uint32_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(reader.next(), Fragments::Next::record) << reader.why();
        EXPECT_EQ(reader.record(), all[i]);
        EXPECT_EQ(reader.index(), i);
    }
    EXPECT_EQ(reader.next(), Fragments::Next::end);

    const auto triggers = block_of<InputTrigger>({sample_trigger(), {}});
    Triggers trigger_reader(triggers);
    ASSERT_EQ(trigger_reader.next(), Triggers::Next::record);
    EXPECT_EQ(trigger_reader.record(), sample_trigger());
    ASSERT_EQ(trigger_reader.next(), Triggers::Next::record);
    EXPECT_EQ(trigger_reader.record(), InputTrigger{});
    EXPECT_EQ(trigger_reader.next(), Triggers::Next::end);
}

TEST(InputBlock, CutShortAtAnyByteIsBrokenAndTheRecordsBeforeItStand) {
    const auto block = block_of<InputFragment>({sample_fragment(), sample_fragment()});
    const auto first = block.size() / 2;
    for (std::size_t size = 1; size < block.size(); ++size) {
        if (size == first) continue;
        Fragments reader(ConstData(block).first(size));
        if (size > first) {
            EXPECT_EQ(reader.next(), Fragments::Next::record);
        }
        EXPECT_EQ(reader.next(), Fragments::Next::broken) << size;
    }
}

TEST(InputBlock, ARecordThatContradictsItselfIsPassedOverAndTheNextIsRead) {
    const struct {
        std::size_t at;
        std::uint16_t value;
        const char* why;
    } cases[] = {{12, 0x0c, "both a ROD and a ROB"},
                 {14, 65, "too many status words"},
                 {14, 20, "longer than its record"},
                 {24, 9, "longer than its record"},
                 {24, 1, "shorter than its record"}};
    for (const auto& one : cases) {
        auto block = block_of<InputFragment>({sample_fragment(), sample_fragment()});
        store_little(block, one.at, one.value);
        Fragments reader(block);
        EXPECT_EQ(reader.next(), Fragments::Next::bad);
        EXPECT_STREQ(reader.why(), one.why);
        EXPECT_EQ(reader.next(), Fragments::Next::record);
        EXPECT_EQ(reader.record(), sample_fragment());
    }
    auto block = block_of<InputTrigger>({sample_trigger()});
    store_little(block, 26, std::uint16_t{257});
    EXPECT_EQ(Triggers(block).next(), Triggers::Next::bad);
}

TEST(InputBlock, WithMoreRecordsThanABlockMayHaveIsBrokenThere) {
    std::vector<std::byte> block;
    for (std::size_t i = 0; i <= block_records_max; ++i) encode(InputTrigger{}, block);
    Triggers reader(block);
    for (std::size_t i = 0; i < block_records_max; ++i) ASSERT_EQ(reader.next(), Triggers::Next::record);
    EXPECT_EQ(reader.next(), Triggers::Next::broken);
}

/// A record ends the reading or leads on by 32 bytes at least: whatever the bytes are, no record reaches beyond them.
template <class Record>
void read_damaged(const std::vector<std::byte>& whole, std::mt19937_64& random, std::size_t times) {
    using Reader = BlockReader<Record>;
    for (std::size_t n = 0; n < times; ++n) {
        auto block = whole;
        for (auto damages = 1 + random() % 4; damages > 0; --damages)
            block[random() % block.size()] = static_cast<std::byte>(random());
        block.resize(block.size() - random() % 8);
        Reader reader(block);
        std::size_t records = 0;
        for (auto next = reader.next(); next == Reader::Next::record || next == Reader::Next::bad;
             next = reader.next()) {
            ASSERT_LE(++records * input_record_header_size, block.size());
            if constexpr (std::is_same_v<Record, InputFragment>) {
                const auto& payload = reader.record().payload;
                if (next == Reader::Next::record && !payload.empty()) {
                    ASSERT_GE(payload.data(), block.data());
                    ASSERT_LE(payload.data() + payload.size(), block.data() + block.size());
                }
            }
        }
    }
}

TEST(InputBlock, AnyDamageIsARecordABadOneOrTheEnd) {
    const auto seed = testing::drawn_seed();
    SCOPED_TRACE(testing::again(seed));
    std::mt19937_64 random(seed);
    const auto times = testing::number_in("WEIR_DAMAGES").value_or(20'000);
    read_damaged<InputFragment>(block_of<InputFragment>({sample_fragment(), sample_fragment(), sample_fragment()}),
                                random, times);
    read_damaged<InputTrigger>(block_of<InputTrigger>({sample_trigger(), sample_trigger(), {}}), random, times);
}

}  // namespace
}  // namespace weir::wire
