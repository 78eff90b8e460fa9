// SPDX-License-Identifier: Apache-2.0
#include "session/session.hpp"

#include <gtest/gtest.h>

#include <random>

#include "session/session_registry.hpp"
#include "weir/wire/frame_assembler.hpp"

namespace weir::delivery {
namespace {

using wire::RejectReason;

wire::EventMeta event(std::uint64_t sequence, std::uint64_t oldest = 1) {
    wire::EventMeta meta;
    meta.sequence = Sequence{sequence};
    meta.oldest_held = Sequence{oldest};
    return meta;
}

struct SessionTest : testing::Test {
    Session session{SessionId{1}, {"s", 1, 0, RunNumber{1}}, 100};
    std::shared_ptr<Mailbox> mailbox = std::make_shared<Mailbox>(transport::EventLoop::create().value());

    Session::Takeover take_over(ConnectionId connection, std::uint64_t oldest = 1) {
        wire::Hello hello;
        hello.oldest_held = Sequence{oldest};
        return session.take_over({mailbox, connection}, hello);
    }
    /// As the receiver does when the answer need not wait.
    void reject_at_receipt(std::uint64_t sequence) {
        ASSERT_EQ(session.begin(1, Sequence{sequence}), Session::Begun::yes);
        session.hold_rejection(Sequence{sequence}, RejectReason::bad_tag, "bad");
        session.answer(Sequence{sequence});
    }
    /// The answers of the session to a connection: "R3 A1-2,4 " for a REJECT of 3, then an ACK of 1, 2 and 4.
    std::string answers(ConnectionId connection) {
        std::vector<std::byte> bytes;
        while (session.take_answers(connection, 5, false, bytes)) {
        }
        wire::FrameAssembler assembler;
        std::string text;
        ConstData input(bytes);
        while (assembler.feed(input) == wire::FrameAssembler::Step::message) {
            if (assembler.header().is(wire::MessageType::reject)) {
                text += "R" + std::to_string(number(wire::decode_reject(assembler.meta()).value().sequence)) + " ";
            } else {
                const auto ack = wire::decode_ack(assembler.meta()).value();
                wire::SequenceSet set;
                if (ack.cumulative != Sequence{0}) set.insert({Sequence{1}, ack.cumulative});
                for (const auto& range : ack.ranges) set.insert(range);
                text += "A" + to_string(set) + " ";
            }
        }
        return text;
    }
};

TEST_F(SessionTest, TellsEachAnswerOncePerConnectionRejectionsFirst) {
    take_over(1);
    for (std::uint64_t i = 1; i <= 6; ++i) ASSERT_EQ(session.begin(1, Sequence{i}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{1}));
    EXPECT_TRUE(session.acknowledge(Sequence{4}));
    EXPECT_EQ(answers(1), "A1,4 ");
    EXPECT_EQ(answers(1), "");
    EXPECT_TRUE(session.acknowledge(Sequence{3}));
    EXPECT_TRUE(session.reject(Sequence{2}, RejectReason::late, "late"));
    EXPECT_EQ(answers(1), "R2 A1-4 ");
    EXPECT_TRUE(session.acknowledge(Sequence{6}));
    EXPECT_EQ(answers(1), "A1-4,6 ");
    EXPECT_FALSE(session.acknowledge(Sequence{6}));
    EXPECT_FALSE(session.reject(Sequence{6}, RejectReason::late, ""));
}

TEST_F(SessionTest, AfterAReconnectTheDurableAreInWelcomeAndTheRejectedAreNamedAgain) {
    take_over(1);
    for (std::uint64_t i = 1; i <= 3; ++i) ASSERT_EQ(session.begin(1, Sequence{i}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{1}));
    EXPECT_TRUE(session.reject(Sequence{2}, RejectReason::late, ""));
    EXPECT_TRUE(session.acknowledge(Sequence{3}));
    EXPECT_EQ(answers(1), "R2 A1-3 ");
    const auto takeover = take_over(2);
    ASSERT_TRUE(takeover.former.has_value());
    EXPECT_EQ(takeover.former->connection, 1U);
    EXPECT_EQ(to_string(takeover.durable), "1,3");
    EXPECT_EQ(answers(1), "");  // the old connection has nothing to send any more
    EXPECT_EQ(answers(2), "R2 ");
    EXPECT_EQ(to_string(take_over(3, 4).durable), "1-3");  // holding nothing below 4, the sender has the answer to 2
    EXPECT_EQ(answers(3), "");
}

TEST_F(SessionTest, OnlyTheOwnerBeginsEventsAndNoneTwice) {
    take_over(1);
    take_over(2);
    EXPECT_EQ(session.begin(1, Sequence{1}), Session::Begun::not_owner);
    EXPECT_EQ(session.begin(2, Sequence{1}), Session::Begun::yes);
    EXPECT_EQ(session.begin(2, Sequence{1}), Session::Begun::duplicate);
    session.disconnected(1);  // of one that is not the owner any more
    session.undo_begin(2, Sequence{1});
    EXPECT_EQ(session.begin(2, Sequence{1}), Session::Begun::yes);
    session.disconnected(2);
    EXPECT_EQ(session.begin(2, Sequence{2}), Session::Begun::not_owner);
}

TEST_F(SessionTest, WhatAnOlderConnectionPutsBackIsAskedForFromTheNewerOne) {
    take_over(1);
    ASSERT_EQ(session.begin(1, Sequence{1}), Session::Begun::yes);
    take_over(2);
    EXPECT_EQ(session.begin(2, Sequence{1}), Session::Begun::duplicate);
    static_cast<void>(mailbox->take());
    session.undo_begin(1, Sequence{1});
    const auto ends = mailbox->take().ends;
    ASSERT_EQ(ends.size(), 1U);
    EXPECT_EQ(ends[0].connection, 2U);
    EXPECT_EQ(ends[0].reason, wire::ByeReason::send_again);
    EXPECT_EQ(session.begin(2, Sequence{1}), Session::Begun::yes);
}

TEST_F(SessionTest, WhatTheSenderWillNeverSendClosesItsGapButNotWhatIsInHand) {
    take_over(1);
    std::uint64_t skipped = 0;
    EXPECT_EQ(session.arrives(1, event(3), Sequence{0}, skipped), Session::Standing::fresh);
    EXPECT_EQ(skipped, 2U);
    ASSERT_EQ(session.begin(1, Sequence{3}), Session::Begun::yes);
    EXPECT_EQ(session.arrives(1, event(9, 8), Sequence{3}, skipped), Session::Standing::fresh);
    EXPECT_EQ(skipped, 5U);
    EXPECT_EQ(to_string(session.final_sequences()), "1-2,4-7");
    EXPECT_TRUE(session.acknowledge(Sequence{3}));
    EXPECT_EQ(to_string(session.final_sequences()), "1-7");
}

TEST_F(SessionTest, WhatASenderIsSaidToHoldNoMoreIsTakenWhenItComesAfterAll) {
    take_over(1);
    std::uint64_t skipped = 0;
    ASSERT_EQ(session.arrives(1, event(1), Sequence{0}, skipped), Session::Standing::fresh);
    ASSERT_EQ(session.begin(1, Sequence{1}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{1}));
    EXPECT_EQ(take_over(2, 1000).never_came, 998U);  // by the sender of connection 2
    const auto takeover = take_over(3, 2);
    EXPECT_EQ(takeover.reopened, 998U);
    EXPECT_EQ(to_string(takeover.durable), "1");
    EXPECT_EQ(session.arrives(3, event(2, 2), Sequence{1}, skipped), Session::Standing::fresh);
    EXPECT_EQ(session.begin(3, Sequence{2}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{2}));
    EXPECT_EQ(answers(3), "A1-2 ");
}

TEST_F(SessionTest, AConnectionThatWasReplacedIsNotBelieved) {
    take_over(1);
    take_over(2);
    std::uint64_t skipped = 0;
    EXPECT_EQ(session.arrives(1, event(1000, 1000), Sequence{0}, skipped), Session::Standing::not_owner);
    EXPECT_EQ(session.begin(1, Sequence{1}), Session::Begun::not_owner);
    EXPECT_EQ(to_string(session.final_sequences()), "");
    EXPECT_EQ(session.arrives(2, event(1), Sequence{0}, skipped), Session::Standing::fresh);
}

TEST_F(SessionTest, ARejectionThatItsSenderHasIsForgottenAndNeverBecomesAnAcknowledgement) {
    take_over(1);
    reject_at_receipt(1);
    EXPECT_EQ(answers(1), "R1 ");
    EXPECT_EQ(take_over(2, 2).reopened, 0U);
    const auto replayed = take_over(3, 1);  // by the next process of the same sender
    EXPECT_EQ(replayed.reopened, 1U);
    EXPECT_EQ(to_string(replayed.durable), "");
}

TEST_F(SessionTest, ARejectionIsNotSentBeforeItIsAnswered) {
    take_over(1);
    ASSERT_EQ(session.begin(1, Sequence{1}), Session::Begun::yes);
    session.hold_rejection(Sequence{1}, RejectReason::too_large, "too large");
    ASSERT_EQ(session.begin(1, Sequence{2}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{2}));
    EXPECT_EQ(answers(1), "A2 ");
    const auto takeover = take_over(2);
    EXPECT_EQ(to_string(takeover.durable), "2");
    std::uint64_t skipped = 0;
    EXPECT_EQ(session.arrives(2, event(1), Sequence{0}, skipped), Session::Standing::in_hand);
    EXPECT_EQ(answers(2), "");
    session.answer(Sequence{1});
    EXPECT_EQ(answers(2), "R1 ");
    session.answer(Sequence{1});  // of the copy that was sent again
    EXPECT_EQ(answers(2), "R1 ");
    session.answer(Sequence{2});
    EXPECT_EQ(answers(2), "A1-2 ");
}

TEST_F(SessionTest, WhatIsTooScatteredToBeKeptIsNotClaimedToBeKnown) {
    take_over(1);
    for (std::uint64_t i = 2; i <= 1000; i += 2) {
        ASSERT_EQ(session.begin(1, Sequence{i}), Session::Begun::yes);
        EXPECT_TRUE(session.acknowledge(Sequence{i}));
    }
    EXPECT_FALSE(take_over(2, 1001).too_old);
    EXPECT_TRUE(take_over(3, 1).too_old);
    EXPECT_FALSE(take_over(4, 1001).too_old);
}

TEST_F(SessionTest, AWelcomeThatCannotHoldAllIsFollowedByTheRest) {
    wire::SequenceSet scattered;
    for (std::uint64_t i = 2; i <= 10'000; i += 2) scattered.insert(Sequence{i});
    session.restore(scattered);
    const auto takeover = take_over(1);
    std::vector<std::byte> welcome_bytes;
    wire::encode(wire::Welcome{.durable = takeover.durable}, welcome_bytes);
    const auto durable_first =
        wire::decode_welcome(ConstData(welcome_bytes).subspan(wire::frame_header_size)).value().durable;
    EXPECT_EQ(durable_first.count(), 4000U);
    std::vector<std::byte> bytes;
    EXPECT_FALSE(session.take_answers(1, 5, false, bytes));
    const auto rest = wire::decode_ack(ConstData(bytes).subspan(wire::frame_header_size)).value();
    EXPECT_EQ(rest.ranges.size(), 1000U);
    EXPECT_EQ(rest.ranges.front().first, Sequence{8002});
}

TEST_F(SessionTest, ManyRejectionsAreToldInPartsAndNoAckOvertakesThem) {
    take_over(1);
    for (std::uint64_t i = 1; i <= 500; ++i) reject_at_receipt(i);
    ASSERT_EQ(session.begin(1, Sequence{501}), Session::Begun::yes);
    EXPECT_TRUE(session.acknowledge(Sequence{501}));
    std::vector<std::byte> bytes;
    EXPECT_TRUE(session.take_answers(1, 5, true, bytes));
    EXPECT_LE(bytes.size(), 64U * 1024);
    const auto all = answers(1);
    EXPECT_TRUE(all.ends_with("R500 A1-501 ")) << all.substr(all.size() - 40);
}

TEST(SessionRegistry, KeepsIdsForgetsOnlyWhatIsUnusedAndHasALimit) {
    SessionRegistry registry(2, 100);
    const wire::SessionKey a{"a", 1, 0, RunNumber{1}}, b{"b", 1, 0, RunNumber{2}}, c{"c", 1, 0, RunNumber{1}};
    const auto session_a = registry.enter(a);
    EXPECT_EQ(registry.enter(a), session_a);
    const auto session_b = registry.enter(b);
    EXPECT_NE(session_a->id, session_b->id);
    EXPECT_EQ(registry.enter(c), nullptr);
    EXPECT_EQ(registry.find(session_b->id), session_b);
    EXPECT_EQ(registry.close_sessions(RunNumber{1}), 0U);  // pinned twice
    session_a->restore({});                                // an earlier process had events of it
    EXPECT_FALSE(registry.unpin(*session_a));
    EXPECT_FALSE(registry.unpin(*session_a));
    EXPECT_EQ(registry.find(session_a->id), session_a);
    EXPECT_EQ(registry.close_sessions(RunNumber{1}), 1U);
    EXPECT_EQ(registry.find(session_a->id), nullptr);
    EXPECT_NE(registry.enter(c)->id, session_a->id);
    EXPECT_TRUE(registry.unpin(*session_b));  // no event ever came
    EXPECT_EQ(registry.size(), 1U);
}

}  // namespace
}  // namespace weir::delivery
