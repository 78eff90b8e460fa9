// SPDX-License-Identifier: Apache-2.0
// A recorder and its senders in bad weather: a disk that fails or loses power, processes that end without
// a word. It keeps the books that the recorder is held against: which event was handed over, to which streams,
// and the answer that its sender got.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "weir/base/testing/crashing_file_system.hpp"
#include "weir/base/testing/faulty_file_system.hpp"
#include "weir/base/testing/sanitized.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/transport/testing/bad_network.hpp"

namespace weir::recorder {

using testing::sanitized;

/// The bytes of an event: they identify it, and nothing else has them.
[[nodiscard]] std::vector<std::byte> storm_payload(std::uint64_t id, std::size_t size);

struct StormEvent {
    std::uint64_t id = 0;
    std::size_t size = 0;  // at least 8
    std::vector<StreamTag> tags;
};

/// One sender process: numbers its events from 1. Its answers outlive it.
class StormSender {
public:
    StormSender(std::string name, std::uint64_t incarnation) : name_(std::move(name)), incarnation_(incarnation) {}

    /// A process begins, or begins again: it goes on after the events whose end it knows, in the same session.
    void open(std::uint16_t port, const std::string& host, RunNumber run);
    void send(const StormEvent& event);
    /// Sends again, in order and with the same sequences, what has no final answer from an earlier process.
    void replay();
    [[nodiscard]] bool flush(std::chrono::milliseconds timeout);
    void kill() { sender_.reset(); }
    [[nodiscard]] bool running() const { return sender_ != nullptr; }

    struct Answers {
        std::map<std::uint64_t, StormEvent> acknowledged, duplicate, rejected, unanswered;  // by id
    };
    [[nodiscard]] Answers answers() const;
    [[nodiscard]] const std::vector<StormEvent>& sent() const { return events_; }
    [[nodiscard]] delivery::SenderStats stats() const { return sender_->stats(); }

private:
    const std::string name_;
    const std::uint64_t incarnation_;
    std::vector<StormEvent> events_;  // sequence n is at n-1
    mutable std::mutex mutex_;        // what follows is written by the sender's thread
    std::map<std::uint64_t, std::optional<wire::RejectReason>> final_;  // by sequence
    std::uint64_t first_ = 1;                                           // of the process that runs
    std::unique_ptr<delivery::Sender> sender_;
};

class Storm {
public:
    Storm();
    ~Storm();

    /// Before the first recorder: it has so many directories.
    void use_volumes(std::size_t count);

    /// A recorder begins on what the disk holds; the first one takes a free port, all others the same.
    [[nodiscard]] Result<> start_recorder();
    /// It ends as it should. When something fails on the way, another one goes on where it was, and ends.
    [[nodiscard]] ::testing::AssertionResult stop_recorder();
    /// The power fails now, or has failed: the recorder is gone, and the disk holds `what` of the rest.
    void crash_recorder(testing::Kept what, std::uint64_t how);
    /// Nothing of this process of the recorder is left, the kernel goes on: all that was written is there.
    void kill_recorder() { crash_recorder(testing::Kept::everything, 0); }

    /// Between two recorders: something happens to one of the journals that the first has left. Returns what; empty:
    /// there was none.
    [[nodiscard]] std::string damage_journal(std::mt19937_64& random);
    /// Takes copies of the journals as they are now; one of these may be put in the place of a later one.
    void copy_journals();

    /// After a failure or a crash: begins one until it starts; it may be refused as long as the disk fails.
    [[nodiscard]] ::testing::AssertionResult restart_recorder();

    [[nodiscard]] StormSender& add_sender();
    /// A process of the sender begins; it reaches the recorder through `network`, when there is one.
    void open(StormSender& sender);
    /// Waits until every event of all senders is final and nothing is in hand; repairs what failed, and brings back a
    /// recorder that has stopped with an error.
    /// Returns what is missing when that does not happen.
    [[nodiscard]] ::testing::AssertionResult settle();

    /// At a quiet point, after settle(): received = stored + rejected in every stream.
    [[nodiscard]] ::testing::AssertionResult balanced() const;
    /// After stop: what is stored is what was promised, once per tag and bit by bit; the files are good;
    /// the ledger of the catalogue agrees with the files. An unanswered event may be there or not, once. With unique
    /// events several senders may have sent it, and one that got the answer "duplicate" can rely on it.
    [[nodiscard]] ::testing::AssertionResult nothing_lost() const;

    RecorderOptions options;
    testing::Kept kept = testing::Kept::nothing;  // when the power fails by itself, and when a recorder has ended
    std::uint64_t seed = 0;                       // of that
    std::optional<std::uint64_t>
        space_once_started{};  // bytes of the disk when recording begins: the reserve is made by then
    testing::CrashingFileSystem disk;
    testing::FaultyFileSystem faults{disk};
    std::unique_ptr<Recorder> recorder;
    std::unique_ptr<testing::BadNetwork> network;  // made by the test, when the first recorder has its port
    std::vector<std::unique_ptr<StormSender>> senders;
    std::vector<std::string> reports;  // of all recorders; with reports_mutex
    mutable std::mutex reports_mutex;
    std::uint64_t recorders = 0, power_failures = 0;  // of disk.crash_at()

private:
    /// The catalogue does not go through `disk`. Its database syncs each commit itself, so what it holds when the power
    /// fails is what is there afterwards, whatever the recorder, which is not gone at once, writes after that.
    void keep_catalogue();
    void restore_catalogue();
    [[nodiscard]] bool run_is_closed() const;
    [[nodiscard]] std::vector<std::filesystem::path> journals() const;
    std::map<std::filesystem::path, std::vector<std::byte>> older_journals_;
    [[nodiscard]] std::string what_is_there() const;  // files and rows of the catalogue, for a failure's message

    std::filesystem::path directory_;                    // the first volume, with the catalogue; others lie in it
    std::map<std::string, std::string> kept_catalogue_;  // its files, by ending
    SystemClock clock_;
};

}  // namespace weir::recorder
