// SPDX-License-Identifier: Apache-2.0
// One small recording, again and again, with a fault at its first call, its second, its third, ... until it
// passes without meeting the fault. Whatever the fault: what was acknowledged is there, once per tag and bit
// by bit, everything else is sent again, no closed file fails its sums, and the ledger balances.
#include <gtest/gtest.h>

#include "simulation/storm.hpp"

namespace weir::recorder {
namespace {

using testing::Call;
using testing::Kept;

constexpr std::uint64_t one_in =
    sanitized ? 7 : 1;                      // faults that are tried: with a sanitizer each takes ten times as long
constexpr std::uint64_t faults_max = 2000;  // the recording has some dozens of calls of each kind

/// Two streams, files with rotation, events of one and of two tags, then the end of the run.
class RecorderAnomaly : public ::testing::Test {
protected:
    static void record(Storm& storm) {
        storm.options.file_events_max = 4;
        if (auto started = storm.start_recorder(); !started) {
            // It may refuse to start, with the reason; on a good disk it does.
            ASSERT_TRUE(storm.faults.fired() || storm.disk.crashed()) << started.error().message();
            storm.faults.clear();
            if (storm.disk.crashed()) storm.crash_recorder(storm.kept, storm.seed);
            const auto again = storm.start_recorder();
            ASSERT_TRUE(again.has_value()) << again.error().message();
        }
        if (storm.space_once_started) storm.faults.limit_space(*storm.space_once_started);
        const auto physics = parse_stream_key("physics_Main").value();
        const auto express = parse_stream_key("express_express").value();
        auto& sender = storm.add_sender();
        sender.open(storm.recorder->port(), storm.options.receiver.listen.host, *storm.options.run);
        for (std::uint64_t id = 1; id <= 12; ++id) {
            sender.send({id, 100 + 7 * id, id % 2 == 0 ? std::vector{physics, express} : std::vector{physics}});
            if (id % 3 != 0) continue;
            ASSERT_TRUE(storm.settle());  // a round of its own
        }
        ASSERT_TRUE(storm.balanced());
        ASSERT_TRUE(storm.stop_recorder());
        EXPECT_EQ(sender.answers().acknowledged.size(), 12U);
        ASSERT_TRUE(storm.nothing_lost());
    }

    /// `arm` sets the nth fault; `met` is whether it came.
    static std::uint64_t until_it_passes(const auto& arm, const auto& met, std::uint64_t step = 1,
                                         std::uint64_t first = 1) {
        std::uint64_t n = first;
        for (; n < faults_max * step; n += step * one_in) {
            Storm storm;
            arm(storm, n);
            record(storm);
            if (HasFatalFailure() || HasNonfatalFailure()) {
                ADD_FAILURE() << "with the fault at " << n;
                for (const auto& report : storm.reports) std::cerr << report << '\n';
                break;
            }
            if (!met(storm)) break;
        }
        return n;
    }

    static void with_a_fault_at_every(Call call, int error, std::uint64_t calls_at_least, std::uint32_t files = 1) {
        const auto calls = until_it_passes(
            [&](Storm& storm, std::uint64_t n) {
                storm.use_volumes(files);
                storm.options.files_per_stream = files;
                // By turns this call only, and all from then on until it is repaired.
                storm.faults.set({.call = call, .nth = n, .error = error, .from_then_on = n % 2 == 0});
            },
            [](const Storm& storm) { return storm.faults.fired(); });
        EXPECT_GT(calls, calls_at_least) << "the fault must have been met";
    }

    static void with_a_crash_at_every_change(Kept kept, std::uint64_t seed, std::uint32_t files = 1) {
        const auto calls = until_it_passes(
            [&](Storm& storm, std::uint64_t n) {
                storm.use_volumes(files);
                storm.options.files_per_stream = files;
                storm.kept = kept;
                storm.seed = n * 1000 + seed;
                storm.disk.crash_at(n);
            },
            [](const Storm& storm) { return storm.power_failures > 0; });
        EXPECT_GT(calls, 60U);
    }
};

TEST_F(RecorderAnomaly, WithoutAFaultEverythingIsStoredOnce) {
    Storm storm;
    record(storm);
    EXPECT_FALSE(storm.faults.fired());
    EXPECT_EQ(storm.recorders, 1U);
}

TEST_F(RecorderAnomaly, AnyWriteMayFail) { with_a_fault_at_every(Call::pwrite, EIO, 20); }
TEST_F(RecorderAnomaly, AnyWriteMayFallShort) { with_a_fault_at_every(Call::pwrite, 0, 20); }
TEST_F(RecorderAnomaly, AnyWriteMayBeInterrupted) {
    until_it_passes(
        [](Storm& storm, std::uint64_t n) { storm.faults.set({.call = Call::pwrite, .nth = n, .error = EINTR}); },
        [](const Storm& storm) { return storm.faults.fired(); });
}
TEST_F(RecorderAnomaly, AnySyncMayFail) { with_a_fault_at_every(Call::fdatasync, EIO, 15); }
TEST_F(RecorderAnomaly, AnySyncOfADirectoryMayFail) { with_a_fault_at_every(Call::fsync, EIO, 4); }
TEST_F(RecorderAnomaly, AnyRenameMayFail) { with_a_fault_at_every(Call::rename_new, EIO, 8); }
TEST_F(RecorderAnomaly, AnyFileMayNotOpen) { with_a_fault_at_every(Call::open, EMFILE, 12); }
TEST_F(RecorderAnomaly, AnyCloseMayFail) { with_a_fault_at_every(Call::close, EIO, 12); }
TEST_F(RecorderAnomaly, AnyCutMayFail) { with_a_fault_at_every(Call::ftruncate, EIO, 4); }
TEST_F(RecorderAnomaly, AnyRemovalMayFail) { with_a_fault_at_every(Call::unlink, EIO, 1); }

TEST_F(RecorderAnomaly, WithTwoFilesOfAStreamAnyWriteMayFail) { with_a_fault_at_every(Call::pwrite, EIO, 20, 2); }
TEST_F(RecorderAnomaly, WithTwoFilesOfAStreamAnySyncMayFail) { with_a_fault_at_every(Call::fdatasync, EIO, 15, 2); }
TEST_F(RecorderAnomaly, WithTwoFilesOfAStreamAnyOneFileMayNotOpen) {
    until_it_passes(
        [](Storm& storm, std::uint64_t n) {
            storm.use_volumes(2);
            storm.options.files_per_stream = 2;
            storm.faults.set({.call = Call::open, .nth = n, .error = EMFILE});
        },
        [](const Storm& storm) { return storm.faults.fired(); });
}

TEST_F(RecorderAnomaly, AWriteThatFailsBetweenTwoRoundsOfSyncsIsNoticed) {
    Storm storm;
    storm.options.sync_interval = std::chrono::milliseconds{30};
    storm.faults.set({.call = Call::pwrite, .path_part = "Main.daq.RAW._lb0001._weir._0001.writing"});
    ASSERT_TRUE(storm.start_recorder().has_value());
    auto& sender = storm.add_sender();
    sender.open(storm.recorder->port(), storm.options.receiver.listen.host, *storm.options.run);
    sender.send({1, 3 * storm.options.segment.count(), {parse_stream_key("physics_Main").value()}});
    ASSERT_TRUE(storm.settle());
    EXPECT_TRUE(storm.faults.fired());
    ASSERT_TRUE(storm.stop_recorder());
    ASSERT_TRUE(storm.nothing_lost());
}

TEST_F(RecorderAnomaly, TheDiskMayBeFullAtAnyByteOfARecord) {
    // Every byte of some events and of what is written around them, then every so many bytes.
    for (std::uint64_t bytes = 3000; bytes < 3250; bytes += one_in) {
        Storm storm;
        storm.space_once_started = bytes;
        record(storm);
        ASSERT_FALSE(HasFailure()) << "with room for " << bytes << " bytes";
        EXPECT_TRUE(storm.faults.fired()) << bytes;
    }
    const auto room = until_it_passes([](Storm& storm, std::uint64_t bytes) { storm.space_once_started = bytes; },
                                      [](const Storm& storm) { return storm.faults.fired(); }, 167);
    EXPECT_GT(room, 3250U) << "the recording needs more than that";
}

TEST_F(RecorderAnomaly, ThePowerMayFailAtAnyChangeWithAllThatWasNotSyncedLost) {
    with_a_crash_at_every_change(Kept::nothing, 0);
}
TEST_F(RecorderAnomaly, ThePowerMayFailAtAnyChangeWithAllThatWasWrittenKept) {
    with_a_crash_at_every_change(Kept::everything, 0);
}
TEST_F(RecorderAnomaly, ThePowerMayFailAtAnyChangeWithTheLastWritesTorn) {
    with_a_crash_at_every_change(Kept::torn, 1);
}
TEST_F(RecorderAnomaly, ThePowerMayFailAtAnyChangeWithWritesAndNamesInAnyOrder) {
    for (const std::uint64_t seed : {1U, 2U}) with_a_crash_at_every_change(Kept::reordered, seed);
}
TEST_F(RecorderAnomaly, WithTwoFilesOfAStreamThePowerMayFailAtAnyChange) {
    with_a_crash_at_every_change(Kept::nothing, 0, 2);
    with_a_crash_at_every_change(Kept::reordered, 3, 2);
}

}  // namespace
}  // namespace weir::recorder
