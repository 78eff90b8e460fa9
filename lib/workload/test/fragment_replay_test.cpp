// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/fragment_replay.hpp"

#include <gtest/gtest.h>

#include <map>

#include "sample.hpp"
#include "weir/base/endian.hpp"
#include "weir/event/raw_file_index.hpp"
#include "weir/event/rob_cursor.hpp"

namespace weir::workload {
namespace {

using Contents = std::vector<std::byte>;

class RealFragments : public event::RealFile {
protected:
    static std::filesystem::path path() { return event::test_data_folder() / "bes3/run_0091668_SFO-1_10events.raw"; }

    /// The recorded ROBs of each event, and the events' level-1 ids.
    struct Recorded {
        Level1Id level1_id{};
        std::map<SourceId, Contents> robs;
        std::vector<SourceId> order;
    };
    std::vector<Recorded> recorded() const {
        const auto index = event::RawFileIndex::make(bytes).value();
        std::vector<Recorded> events;
        for (const auto& block : index.blocks) {
            const auto data = ConstData(bytes).subspan(static_cast<std::size_t>(block.offset), block.separator.size);
            const auto view = event::EventView::parse(data, event::Format::event_3_0).value();
            Recorded one{.level1_id = view.ids().level1_id, .robs = {}, .order = {}};
            EXPECT_TRUE(event::for_each_rob(view, [&](const event::FragmentView& rob) {
                            one.robs.emplace(rob.source(), Contents(rob.bytes().begin(), rob.bytes().end()));
                            one.order.push_back(rob.source());
                        }).has_value());
            events.push_back(std::move(one));
        }
        return events;
    }
};

TEST_F(RealFragments, TheTenRealEventsComeAgainBitForBitButForTheirLevel1Ids) {
    const auto events = recorded();
    ASSERT_EQ(events.size(), 10U);
    const auto replay = FragmentReplay::open({.file = path(), .rules = event::RodRules::bes3()}).value();
    EXPECT_EQ(replay->sources(), events[0].order);
    EXPECT_EQ(replay->sources().size(), 42U);
    EXPECT_TRUE(replay->mismatches().empty());
    for (std::uint32_t k = 1; k <= 25; ++k) {
        const auto& original = events[(k - 1) % 10];
        const auto robs = replay->make(Level1Id{k});
        ASSERT_EQ(robs.size(), original.robs.size());
        for (const auto& rob : robs) {
            Contents expected = original.robs.at(rob.source);
            if (rob.source != SourceId{0x7c0000}) {  // the one that does not count
                const std::size_t at = event::FragmentView::parse(expected, event::Level::rob, event::Format::event_3_0)
                                           .value()
                                           .payload_offset() +
                                       5 * event::word_bytes;
                const std::uint32_t ahead = rob.source == SourceId{0xa80010} ? 1 : 0;
                ASSERT_EQ(load_little<std::uint32_t>(expected, at), number(original.level1_id) + ahead);
                store_little(MutableData(expected), at, k + ahead);
            }
            ASSERT_TRUE(std::ranges::equal(rob.bytes, expected)) << "event " << k << ", source " << number(rob.source);
        }
    }
}

TEST_F(RealFragments, PartsTogetherAreAllSourcesAndEachIsInOne) {
    const auto all = FragmentReplay::open({.file = path(), .rules = event::RodRules::bes3()}).value();
    for (const std::uint32_t of : {1U, 5U, 6U, 42U}) {
        std::vector<SourceId> together;
        for (std::uint32_t number = 1; number <= of; ++number) {
            const auto part = FragmentReplay::open({.file = path(), .part = {number, of}}).value();
            EXPECT_EQ(part->make(Level1Id{1}).size(), part->sources().size());
            together.insert(together.end(), part->sources().begin(), part->sources().end());
        }
        EXPECT_EQ(together, all->sources());
    }
    const auto none = FragmentReplay::open({.file = path(), .part = {1, 43}});
    EXPECT_EQ(none.error().code, Errc::usage);
}

TEST_F(RealFragments, AnIdThatTheRulesDoNotExpectIsCountedAndStaysAsFarFromItsEventAsItWas) {
    const auto replay = FragmentReplay::open({.file = path()}).value();  // no rules
    const std::map<SourceId, std::uint64_t> expected{{SourceId{0x7c0000}, 10}, {SourceId{0xa80010}, 10}};
    EXPECT_EQ(replay->mismatches(), expected);
}

TEST_F(RealFragments, NamedSourcesAreServedAndOneThatIsNotInTheFileIsRefused) {
    const auto some = FragmentReplay::open({.file = path(), .sources = {SourceId{0xa80010}}}).value();
    EXPECT_EQ(some->make(Level1Id{4}).size(), 1U);
    EXPECT_EQ(FragmentReplay::open({.file = path(), .sources = {SourceId{0x123456}}}).error().code, Errc::usage);
}

TEST(FragmentReplay, AFileThatIsAbsentIsNamed) {
    const auto absent = FragmentReplay::open({.file = "/nowhere/at.raw"});
    ASSERT_FALSE(absent.has_value());
    EXPECT_NE(absent.error().message().find("/nowhere/at.raw"), std::string::npos);
}

TEST(FragmentReplay, APartIsANumberOfANumber) {
    EXPECT_EQ(parse_part("2/6").value().number, 2U);
    EXPECT_EQ(parse_part("2/6").value().of, 6U);
    for (const auto* text : {"", "1", "/", "0/6", "7/6", "1/", "1/6x", "-1/6", "99999999999/1"})
        EXPECT_EQ(parse_part(text).error().code, Errc::usage) << text;
}

}  // namespace
}  // namespace weir::workload
