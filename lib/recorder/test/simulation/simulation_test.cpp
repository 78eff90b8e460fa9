// SPDX-License-Identifier: Apache-2.0
// Thousands of small recordings in weather drawn from a seed: disks that fail or fill up, power failures that
// lose or reorder what was not synced, connections that are cut at any byte, recorders and senders that are killed,
// senders that send again, builders of the same event, more files than blocks of memory, journals that are damaged,
// several volumes and files of a stream. At
// every quiet point the ledger balances (promise 1), in the end every acknowledged event is stored exactly once
// (promise 2). What a seed draws is always the same; how threads interleave is the machine's. docs/proof.md
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "simulation/storm.hpp"
#include "weir/base/testing/number_in_environment.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;
using testing::Call;
using testing::Kept;

// A sanitizer makes each recording ten times slower; it looks for other things than rare interleavings.
constexpr std::uint64_t seeds_by_default = sanitized ? 120 : 2000;
constexpr std::uint64_t shares = 16;  // of the seeds, to be run side by side, and each soon over

class Simulation {
public:
    explicit Simulation(std::uint64_t seed)
        : random_(seed), duplicates_(seed), crowd_(seed), damage_(seed), volumes_(~seed) {
        storm_.options.unique_events = duplicates_() % 2 == 0;
        storm_.options.file_events_max = static_cast<std::uint32_t>(2 + below(6));
        storm_.options.sync_interval = std::chrono::milliseconds{1 + below(3)};
        storm_.options.mode = below(4) == 0 ? Mode::original : Mode::receipt;
        storm_.options.receiver.threads = static_cast<unsigned>(1 + below(2));
        if (const auto volumes = 1 + volumes_() % 4; volumes > 1) {
            storm_.use_volumes(volumes);
            storm_.options.files_per_stream = static_cast<std::uint32_t>(1 + volumes_() % 3);
            storm_.options.streams_max = 3;
            note(fmt::format("{} volumes, {} files of a stream", volumes, storm_.options.files_per_stream));
        }
        crowded_ = crowd_() % 4 == 0;
        if (!crowded_) return;
        storm_.options.memory = 256_KiB;  // 32 blocks
        storm_.options.file_events_max = 1;
        storm_.options.files_closing_max = static_cast<std::uint32_t>(1 + crowd_() % 40);
        note(
            fmt::format("small memory, a file for each event, {} wait to be closed", storm_.options.files_closing_max));
    }

    void run() {
        const auto started = storm_.start_recorder();
        ASSERT_TRUE(started.has_value()) << started.error().message();
        if (below(2) == 0) {
            storm_.network =
                std::make_unique<testing::BadNetwork>(storm_.options.receiver.listen, random_(), 1 + below(2000));
            note("a bad network");
        }
        for (auto n = 1 + below(2); n > 0; --n) storm_.open(storm_.add_sender());
        for (auto n = 3 + below(7); n > 0 && !::testing::Test::HasFailure(); --n) act();
        if (::testing::Test::HasFailure()) return;
        note("settle, stop");
        ASSERT_TRUE(storm_.settle());
        ASSERT_TRUE(storm_.balanced());
        for (const auto& sender : storm_.senders) {
            if (!sender->running()) continue;
            EXPECT_TRUE(sender->answers().unanswered.empty());
        }
        ASSERT_TRUE(storm_.stop_recorder());
        ASSERT_TRUE(storm_.nothing_lost());
    }

    [[nodiscard]] std::string story() const {
        std::string text = story_;
        for (const auto& report : storm_.reports) text += "  it reported: " + report + '\n';
        return text;
    }

private:
    std::uint64_t below(std::uint64_t bound) { return random_() % bound; }
    void note(std::string what) { story_ += "  " + std::move(what) + '\n'; }

    void act() {
        if (damage_() % 10 == 0) recorder_is_killed();
        const auto what = below(22);
        if (what < 9) return send();
        if (what < 11) return settle();
        if (what < 13) return power_fails_later();
        if (what < 14) return power_fails_now();
        if (what < 15) return recorder_is_killed();
        if (what < 17) return disk_fails();
        if (what < 20) return sender_dies();
        return connection_is_cut();
    }

    void send() {
        auto& sender = *storm_.senders[below(storm_.senders.size())];
        if (!sender.running()) return;
        auto n = 1 + below(5);
        if (crowded_ && crowd_() % 2 == 0) n += crowd_() % 40;
        note(fmt::format("{} events from {}", n, next_id_));
        if (storm_.options.unique_events && duplicates_() % 2 == 0) send_duplicates(sender);
        for (; n > 0; --n) {
            StormEvent event{next_id_++, 8 + below(below(8) == 0 ? 9000 : 400), {}};
            for (const char* stream : {"physics_Main", "express_express", "calibration_Tile"}) {
                if (event.tags.empty() || below(3) == 0) event.tags.push_back(parse_stream_key(stream).value());
            }
            if (below(20) == 0) event.tags.push_back(event.tags.front());  // named twice: rejected
            sender.send(event);
        }
        if (below(2) == 0) std::this_thread::sleep_for(std::chrono::milliseconds{below(3)});
    }

    /// Of events that any sender has sent lately, dead or alive, itself too.
    void send_duplicates(StormSender& sender) {
        const auto sent = storm_.senders[duplicates_() % storm_.senders.size()]->sent();
        for (auto n = std::min<std::size_t>(sent.size(), 1 + duplicates_() % 6); n > 0; --n) {
            note(fmt::format("a duplicate of event {}", sent[sent.size() - n].id));
            sender.send(sent[sent.size() - n]);
        }
    }

    void settle() {
        note("settle");
        ASSERT_TRUE(storm_.settle());
        ASSERT_TRUE(storm_.balanced());
        if (damage_() % 2 == 0) storm_.copy_journals();
    }

    Kept any_kept() {
        constexpr std::array all{Kept::nothing, Kept::everything, Kept::torn, Kept::reordered, Kept::reordered};
        return all[below(all.size())];
    }

    void power_fails_later() {
        storm_.kept = any_kept();
        storm_.seed = random_();
        const auto n = 1 + below(40);
        note(fmt::format("power fails in {} changes, kept {}", n, static_cast<int>(storm_.kept)));
        storm_.disk.crash_at(n);
    }

    void power_fails_now() {
        const auto kept = any_kept();
        const auto seed = random_();
        note(fmt::format("power fails now, kept {}", static_cast<int>(kept)));
        storm_.crash_recorder(kept, seed);
        ASSERT_TRUE(storm_.restart_recorder());
    }

    void recorder_is_killed() {
        note("the recorder is killed");
        storm_.kill_recorder();
        // The index, which the kernel has whole, names all that was acknowledged: so whatever becomes of a journal, the
        // oracle is the same as without.
        if (damage_() % 2 == 0) {
            const auto what = storm_.damage_journal(damage_);
            if (!what.empty()) note("and " + what);
        }
        ASSERT_TRUE(storm_.restart_recorder());
    }

    void disk_fails() {
        constexpr std::array calls{Call::pwrite, Call::pwrite, Call::fdatasync,  Call::fdatasync, Call::fsync,
                                   Call::open,   Call::close,  Call::rename_new, Call::ftruncate, Call::unlink};
        if (below(4) == 0) {
            const auto bytes = below(6000);
            note(fmt::format("room for {} bytes", bytes));
            storm_.faults.limit_space(bytes);
            return;
        }
        testing::Fault fault{.call = calls[below(calls.size())], .nth = 1 + below(12), .from_then_on = below(4) == 0};
        if (fault.call == Call::pwrite && below(3) == 0) fault.error = 0;
        note(fmt::format("call {} fails at {}, error {}{}", static_cast<int>(fault.call), fault.nth, fault.error,
                         fault.from_then_on ? " and from then on" : ""));
        storm_.faults.set(fault);
    }

    void sender_dies() {
        auto& sender = *storm_.senders[below(storm_.senders.size())];
        if (!sender.running()) return;
        sender.kill();
        if (below(4) == 0 && storm_.senders.size() < 4) {
            note("a sender dies for good, another one comes");
            return storm_.open(storm_.add_sender());
        }
        note("a sender dies and sends again what was not answered");
        storm_.open(sender);
        sender.replay();
    }

    void connection_is_cut() {
        const auto way = below(2) == 0 ? testing::BadNetwork::Way::there : testing::BadNetwork::Way::back;
        const auto behind = 1 + below(below(2) == 0 ? 100 : 3000);
        if (!storm_.network) return;
        note(fmt::format("a connection is cut behind {} bytes {}", behind,
                         way == testing::BadNetwork::Way::there ? "there" : "back"));
        storm_.network->cut(way, behind);
    }

    std::mt19937_64 random_, duplicates_;       // two, so that duplicates change nothing else that a seed draws
    std::mt19937_64 crowd_, damage_, volumes_;  // what is drawn for them changes nothing else
    bool crowded_ = false;
    Storm storm_;
    std::uint64_t next_id_ = 1;
    std::string story_;
};

class RecorderSimulation : public ::testing::TestWithParam<std::uint64_t> {
protected:
    static void simulate(std::uint64_t seed) {
        Simulation simulation(seed);
        simulation.run();
        if (!HasFailure()) return;
        ADD_FAILURE() << "seed " << seed << "; again: WEIR_SEED=" << seed
                      << " build/release/bin/recorder_test --gtest_filter='*RecorderSimulation*/0'\n"
                      << simulation.story();
    }
};

TEST_P(RecorderSimulation, NothingIsLostAndNothingStoredTwice) {
    if (const auto seed = testing::number_in("WEIR_SEED")) {
        if (GetParam() == 0) simulate(*seed);
        return;
    }
    const auto first = testing::number_in("WEIR_SEED_FIRST").value_or(1);
    const auto seeds = testing::number_in("WEIR_SEEDS").value_or(seeds_by_default);
    for (auto seed = first; seed < first + seeds && !HasFailure(); ++seed) {
        if (seed % shares == GetParam()) simulate(seed);
    }
}

INSTANTIATE_TEST_SUITE_P(Share, RecorderSimulation, ::testing::Range<std::uint64_t>(0, shares));

}  // namespace
}  // namespace weir::recorder
