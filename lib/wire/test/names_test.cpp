// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "weir/wire/event_format.hpp"
#include "weir/wire/reject_reason.hpp"
#include "weir/wire/session.hpp"

namespace weir::wire {
namespace {

TEST(Names, EveryRejectReasonHasItsOwnAndItsOwnPlaceInATable) {
    std::set<std::string> names;
    std::set<std::size_t> places;
    for (const auto reason : reject_reasons) {
        names.insert(name(reason));
        places.insert(index(reason));
    }
    EXPECT_EQ(names.size(), reject_reasons.size());
    EXPECT_EQ(places.size(), reject_reasons.size());
    EXPECT_FALSE(names.contains("unknown"));
    EXPECT_FALSE(places.contains(0));
    EXPECT_EQ(reject_reasons.size() + 1, reject_reason_count);
}

TEST(Names, OfAnEventFormatAreReadBack) {
    for (std::uint8_t n = 1; n <= 3; ++n) {
        const auto format = event_format_from(n);
        ASSERT_TRUE(format.has_value());
        EXPECT_EQ(parse_event_format(name(*format)), format);
    }
    EXPECT_FALSE(event_format_from(0).has_value());
    EXPECT_FALSE(event_format_from(6).has_value());
    EXPECT_FALSE(parse_event_format("event-6.0").has_value());
}

TEST(Session, DiffersInEachOfItsParts) {
    const SessionKey session{"filter-3", 1, 2, RunNumber{3}};
    for (const auto& other : {SessionKey{"filter-4", 1, 2, RunNumber{3}}, SessionKey{"filter-3", 9, 2, RunNumber{3}},
                              SessionKey{"filter-3", 1, 9, RunNumber{3}}, SessionKey{"filter-3", 1, 2, RunNumber{9}}}) {
        EXPECT_NE(session, other);
        EXPECT_NE(SessionKeyHash{}(session), SessionKeyHash{}(other));
        EXPECT_NE(to_string(session), to_string(other));
    }
}

TEST(Session, HasASenderNameThatIsSafeInFilesAndTables) {
    EXPECT_TRUE(valid_sender_name("pc-tdaq_17.cern.ch:2"));
    EXPECT_TRUE(valid_sender_name(std::string(128, 'a')));
    for (const std::string bad : {"", "a b", "a/b", "a\n", "a'b", "\xc3\xa9"})
        EXPECT_FALSE(valid_sender_name(bad)) << bad;
    EXPECT_FALSE(valid_sender_name(std::string(129, 'a')));
}

}  // namespace
}  // namespace weir::wire
