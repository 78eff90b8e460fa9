// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/dataflow.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "dataflow_samples.hpp"
#include "samples.hpp"
#include "weir/base/endian.hpp"

namespace weir::wire {
namespace {

/// A copy of exactly this size, so that a sanitizer sees a read behind its end.
template <class Message>
Result<> decode_copy(ConstData bytes, Message& into) {
    const auto copy = std::make_unique<std::byte[]>(bytes.size());
    std::ranges::copy(bytes, copy.get());
    return decode(ConstData(copy.get(), bytes.size()), into);
}

template <class Message>
void expect_round_trip(const Message& message) {
    const auto bytes = sample::encoded(message);
    Message back;
    const auto ok = decode(bytes, back);
    ASSERT_TRUE(ok.has_value()) << ok.error().message();
    EXPECT_EQ(back, message);
    auto longer = bytes;
    longer.resize(bytes.size() + 16);
    ASSERT_TRUE(decode(longer, back).has_value()) << "later versions append";
    EXPECT_EQ(back, message);
    ASSERT_TRUE(decode(sample::encoded(Message{.events = {}}), back).has_value());
    EXPECT_EQ(back, Message{});
}

template <class Message>
void expect_truncations_to_fail(const Message& message) {
    const auto bytes = sample::encoded(message);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Message back;
        const auto result = decode_copy(ConstData(bytes).first(size), back);
        ASSERT_FALSE(result.has_value()) << size;
        EXPECT_EQ(result.error().code, Errc::truncated) << size;
        EXPECT_FALSE(result.error().context.empty());
    }
}

// The worked examples of docs/formats/dataflow-protocol.md: these bytes never change.
TEST(Dataflow, IsEncodedAsTheFormatDescriptionShows) {
    using sample::encoded, sample::from_hex;
    EXPECT_EQ(encoded(sample::data_request()), from_hex("09 00 00 00 00 00 00 00 01 00 00 00 01 00 02 00 "
                                                        "02 00 00 01 01 00 42 00 02 00 42 00"));
    EXPECT_EQ(encoded(sample::data_head()), from_hex("09 00 00 00 00 00 00 00 02 00 00 01 02 00 00 00 "
                                                     "01 00 42 00 09 00 00 00 00 00 00 00 02 00 42 00 "
                                                     "00 00 00 00 01 00 00 00"));
    EXPECT_EQ(encoded(sample::clear()), from_hex("03 00 00 00 02 00 00 00 05 00 00 00 04 00 00 00"));
    EXPECT_EQ(encoded(sample::assign()), from_hex("01 00 00 00 07 00 00 00 00 00 00 00 02 00 00 01 "
                                                  "05 00 00 00 f9 06 00 00 84 00 00 00 00 f1 53 65 "
                                                  "19 00 00 00 01 00 02 00 01 00 00 00 dc 05 00 00 "
                                                  "00 00 00 ff 01 00 00 00 02 00 00 00 03 00 00 00"));
    EXPECT_EQ(encoded(sample::built()), from_hex("40 00 00 00 00 00 00 00 02 00 00 00 07 00 00 00 "
                                                 "00 00 00 00 01 00 00 00 08 00 00 00 00 00 00 00 "
                                                 "04 00 00 00"));
    EXPECT_EQ(encoded(sample::level2_decision()), from_hex("41 00 00 00 00 00 00 00 01 00 00 00 07 00 00 00 "
                                                           "00 00 00 00 03 00 01 00 03 00 00 00"));
    EXPECT_EQ(encoded(sample::level2_result()),
              from_hex("07 00 00 00 00 00 00 00 02 00 00 01 05 00 00 00 2a 2a 2a 2a 2a"));
    EXPECT_EQ(encoded(sample::accept_credit()), from_hex("e8 03 00 00 00 00 00 00"));
    EXPECT_EQ(encoded(sample::fragment_seen()), from_hex("0a 00 00 00 00 00 00 00 01 00 42 00 02 00 00 00 "
                                                         "02 00 00 01 01 00 00 00 19 00 2a 36 fe 9c 97 17 "
                                                         "03 00 00 01 00 00 00 00 00 00 00 00 00 00 00 00"));
    EXPECT_EQ(encoded(sample::readout_busy()), from_hex("03 00 00 00 00 00 00 00 01 00 00 00 02 00 00 00 00 02 00 00"));
    EXPECT_EQ(encoded(sample::triggers()), from_hex("01 00 00 00 00 00 00 00 "
                                                    "02 00 00 01 84 00 00 00 19 00 2a 36 fe 9c 97 17"));
}

TEST(Dataflow, MessagesComeBackAsTheyWereWritten) {
    expect_round_trip(sample::data_request());
    expect_round_trip(sample::clear());
    expect_round_trip(sample::assign());
    expect_round_trip(sample::built());
    expect_round_trip(sample::level2_task());
    expect_round_trip(sample::level2_decision());
    Accept accept;
    ASSERT_TRUE(decode(sample::encoded(sample::accept()), accept).has_value());
    EXPECT_EQ(accept, sample::accept());
    AcceptCredit credit;
    ASSERT_TRUE(decode(sample::encoded(sample::accept_credit()), credit).has_value());
    EXPECT_EQ(credit, sample::accept_credit());
    Level2Result result;
    ASSERT_TRUE(decode(sample::encoded(sample::level2_result()), result).has_value());
    EXPECT_EQ(result, sample::level2_result());
    FragmentSeen seen;
    ASSERT_TRUE(decode(sample::encoded(sample::fragment_seen()), seen).has_value());
    EXPECT_EQ(seen, sample::fragment_seen());
    ReadoutBusy busy;
    ASSERT_TRUE(decode(sample::encoded(sample::readout_busy()), busy).has_value());
    EXPECT_EQ(busy, sample::readout_busy());
    Triggers triggers;
    ASSERT_TRUE(decode(sample::encoded(sample::triggers()), triggers).has_value());
    EXPECT_EQ(triggers, sample::triggers());
}

TEST(Dataflow, AReadoutIsBusyForAReasonOrNotAtAll) {
    for (const auto& [busy, cause] : {std::pair{2, 1}, {1, 0}, {0, 1}, {1, 3}}) {
        auto bytes = sample::encoded(sample::readout_busy());
        store_little(bytes, 8, static_cast<std::uint32_t>(busy));
        store_little(bytes, 12, static_cast<std::uint32_t>(cause));
        ReadoutBusy back;
        EXPECT_EQ(decode(bytes, back).error().code, Errc::corrupt) << busy << ", " << cause;
    }
}

TEST(Dataflow, DataIsAHeadAndExactlyTheBytesThatItAnnounces) {
    auto bytes = sample::encoded(sample::data_head());
    const auto fragment = as_data("123456789");
    bytes.insert(bytes.end(), fragment.begin(), fragment.end());
    DataView view;
    ASSERT_TRUE(decode(bytes, view).has_value());
    EXPECT_EQ(view.head, sample::data_head());
    EXPECT_EQ(as_text(view.data), "123456789");
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        const auto result = decode_copy(ConstData(bytes).first(size), view);
        ASSERT_FALSE(result.has_value());
        EXPECT_EQ(result.error().code, Errc::truncated);
    }
    bytes.push_back(std::byte{0});
    EXPECT_EQ(decode(bytes, view).error().code, Errc::corrupt);
}

TEST(Dataflow, AMessageCutShortAnywhereIsTruncatedAndNeverMisread) {
    expect_truncations_to_fail(sample::data_request());
    expect_truncations_to_fail(sample::clear());
    expect_truncations_to_fail(sample::assign());
    expect_truncations_to_fail(sample::built());
    expect_truncations_to_fail(sample::level2_task());
    expect_truncations_to_fail(sample::level2_decision());
    expect_truncations_to_fail(sample::level2_result());
    expect_truncations_to_fail(sample::accept());
    expect_truncations_to_fail(sample::accept_credit());
    expect_truncations_to_fail(sample::readout_busy());
    expect_truncations_to_fail(sample::triggers());
    expect_truncations_to_fail(sample::fragment_seen());
}

TEST(Dataflow, ACountBeyondItsLimitIsRefusedBeforeMemoryIsTaken) {
    const auto with_count = [](std::vector<std::byte> bytes, std::size_t at, std::uint32_t count) {
        store_little(bytes, at, count);
        bytes.resize(1 << 20);  // enough bytes for it
        return bytes;
    };
    Clear clear;
    EXPECT_EQ(decode(with_count(sample::encoded(sample::clear()), 4, clear_events_max + 1), clear).error().code,
              Errc::limit);
    EXPECT_EQ(clear.events.capacity(), 0U);
    Assign assign;
    EXPECT_EQ(decode(with_count(sample::encoded(sample::assign()), 0, tickets_max + 1), assign).error().code,
              Errc::limit);
    EXPECT_EQ(assign.events.capacity(), 0U);
    FragmentSeen seen;
    EXPECT_EQ(
        decode(with_count(sample::encoded(sample::fragment_seen()), 12, fragments_seen_max + 1), seen).error().code,
        Errc::limit);
    EXPECT_EQ(seen.fragments.capacity(), 0U);
    Built built;
    EXPECT_EQ(decode(with_count(sample::encoded(sample::built()), 8, clear_events_max + 1), built).error().code,
              Errc::limit);
    EXPECT_EQ(built.events.capacity(), 0U);
    Level2Result result;
    EXPECT_EQ(
        decode(with_count(sample::encoded(sample::level2_result()), 12, level2_result_max + 1), result).error().code,
        Errc::limit);
    DataView view;
    EXPECT_EQ(decode(with_count(sample::encoded(sample::data_head()), 12, request_robs_max + 1), view).error().code,
              Errc::limit);
    EXPECT_EQ(view.head.robs.capacity(), 0U);
    Triggers triggers;
    EXPECT_EQ(
        decode(with_count(sample::encoded(sample::triggers()), 0, triggers_in_message_max + 1), triggers).error().code,
        Errc::limit);
    EXPECT_EQ(triggers.triggers.capacity(), 0U);
}

TEST(Dataflow, ACountThatTheBytesCannotBackTakesNoMemory) {
    auto bytes = sample::encoded(sample::clear());
    store_little(bytes, 4, std::uint32_t{4000});
    Clear clear;
    EXPECT_EQ(decode(bytes, clear).error().code, Errc::truncated);
    EXPECT_EQ(clear.events.capacity(), 0U);
}

TEST(Dataflow, ARobThatIsNotHereHasNoBytes) {
    auto bytes = sample::encoded(sample::data_head());
    store_little(bytes, 16 + 12 + 4, std::uint32_t{1});
    DataView view;
    EXPECT_EQ(decode(bytes, view).error().code, Errc::corrupt);
}

TEST(Dataflow, LevelOneIdsAreComparedOverTheWrap) {
    EXPECT_LT(level1_distance(Level1Id{0xffffffff}, Level1Id{0}), 0);
    EXPECT_EQ(level1_distance(Level1Id{2}, Level1Id{0xfffffffe}), 4);
    EXPECT_EQ(level1_distance(Level1Id{7}, Level1Id{7}), 0);
}

}  // namespace
}  // namespace weir::wire
