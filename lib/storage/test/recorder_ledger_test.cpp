// SPDX-License-Identifier: Apache-2.0
// What the ledger in the catalogue says of copies that no file holds.
#include <gtest/gtest.h>

#include "ledger_change.hpp"
#include "recording_fixture.hpp"

namespace weir::storage {
namespace {

using namespace std::chrono_literals;

class RecorderLedger : public RecordingFixture {
protected:
    LedgerRow row_of(const std::string& stream_name) const {
        const auto rows = catalogue()->ledgers(*options_.run).value();
        const auto row = std::ranges::find(rows, stream_name, &LedgerRow::stream_name);
        return row == rows.end() ? LedgerRow{} : *row;
    }
};

TEST_F(RecorderLedger, ACopyThatWasReceivedAndHasNoFateIsToldAsReceived) {
    Ledger ledger;
    ledger.received(5);
    ledger.stored(100);
    ledger.stored(100);
    ledger.rejected(wire::RejectReason::late);
    ledger.given_back();
    const auto counts = ledger.counts();
    const auto meanwhile = ledger_change(counts, {}, false).value();  // one is in hand
    EXPECT_EQ(meanwhile.received, 2U);
    EXPECT_EQ(meanwhile.stored, 0U);  // its file says it
    const std::map<std::string, std::uint64_t> rejected{{"late", 1}, {Ledger::given_back_name, 1}};
    EXPECT_EQ(meanwhile.rejected, rejected);
    EXPECT_FALSE(ledger_change(counts, counts, false));
    const auto at_the_end = ledger_change(counts, counts, true).value();  // nothing can be in hand
    EXPECT_EQ(at_the_end.received, 1U);
    EXPECT_TRUE(at_the_end.rejected.empty());
    ledger.stored(100);
    EXPECT_FALSE(ledger_change(ledger.counts(), counts, true));
}

TEST_F(RecorderLedger, WhatWasRejectedBeforeACrashIsInTheLedgerOnce) {
    const auto send_bad = [&](const Recorder& recorder, std::uint64_t id) {
        const auto sender = connect(recorder);
        ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 3000)).has_value());
        auto bytes = event(id + 1, 3000);
        bytes[0] ^= std::byte{1};
        ASSERT_TRUE(sender->send({GlobalEventId{id + 1}, {}, LumiBlock{1}, {stream("physics_Main")}}, bytes).has_value());
        ASSERT_TRUE(flushed(*sender));
    };
    {
        const auto recorder = start();
        send_bad(*recorder, 1);
        const auto end = clock_.now() + 10s;
        while (row_of("Main").rejected.empty() && clock_.now() < end) std::this_thread::sleep_for(10ms);
    }  // as after a crash
    const auto recorder = start();
    send_bad(*recorder, 3);
    ASSERT_TRUE(recorder->stop(10s).has_value());
    const auto row = row_of("Main");
    const std::map<std::string, std::uint64_t> rejected{{"malformed_event", 2}};
    EXPECT_EQ(row.rejected, rejected);
    EXPECT_EQ(row.stored, 2U);
    EXPECT_EQ(row.received, 4U);
}

}  // namespace
}  // namespace weir::storage
