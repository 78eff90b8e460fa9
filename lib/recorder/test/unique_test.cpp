// SPDX-License-Identifier: Apache-2.0
// The same event from two senders, when a builder died and another one built its event again: it is stored once, and
// neither sender gets an answer with which it may forget the event before it is durable.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "ruled_file_system.hpp"
#include "weir/base/testing/sanitized.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/marks.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

/// Writes to files with `part` in their path wait as long as they are held.
class HeldDisk : public Faulty {
public:
    void hold(std::string part) {
        part_ = std::move(part);
        held_ = true;
    }
    void release() {
        held_ = false;
        held_.notify_all();
    }
    int open(const char* path, int flags, mode_t mode) override {
        const int fd = Faulty::open(path, flags, mode);
        const std::scoped_lock lock(mutex_);
        paths_[fd] = path;
        return fd;
    }
    ssize_t pwrite(int fd, const void* from, std::size_t size, off_t offset) override {
        if (held_) {
            std::unique_lock lock(mutex_);
            const auto& path = paths_[fd];
            const bool waits = path.contains(part_) &&
                               !path.contains(".index");  // the head of an index is written when a file is made
            lock.unlock();
            if (waits) held_.wait(true);
        }
        return Faulty::pwrite(fd, from, size, offset);
    }

private:
    std::mutex mutex_;
    std::map<int, std::string> paths_;
    std::string part_;
    std::atomic<bool> held_{false};
};

class RecorderUnique : public testing::RecordingFixture {
protected:
    RecorderUnique() {
        options_.unique_events = true;
        options_.direct = DirectIo::off;
        options_.disk_retry = 5ms;
    }
    ~RecorderUnique() override { disk_.release(); }

    void begin() {
        recorder_ = Recorder::open(
                        options_,
                        [this](const Report& report) {
                            const std::scoped_lock lock(mutex_);
                            if (!report.alarm.empty()) alarms_.insert(report.alarm);
                        },
                        clock_, disk_)
                        .value();
        recorder_->start();
    }
    void end() {
        const auto stopped = recorder_->stop(60s);
        EXPECT_TRUE(stopped.has_value()) << stopped.error().message();
        recorder_.reset();
    }
    std::unique_ptr<delivery::Sender> sender(const char* name, std::uint64_t incarnation = 77) const {
        auto options = sender_options_for(recorder_->port());
        options.name = name;
        options.incarnation = incarnation;
        options.backoff_first = 1ms;
        options.backoff_last = 10ms;
        return delivery::Sender::open(options).value();
    }
    void send(delivery::Sender& to, std::uint64_t id, const std::vector<StreamTag>& tags = {main_},
              std::size_t size = 3000) {
        const auto sent = to.send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, event(id, size));
        ASSERT_TRUE(sent.has_value()) << sent.error().message();
    }
    void send_all(delivery::Sender& to, std::uint64_t first, std::uint64_t last) {
        for (auto id = first; id <= last; ++id) send(to, id);
        ASSERT_TRUE(flushed(to));
    }
    static std::uint64_t duplicates(const delivery::Sender& of) {
        return of.stats().rejected[wire::index(wire::RejectReason::duplicate)];
    }
    template <class Condition>
    static bool eventually(const Condition& condition) {
        for (int i = 0; i < 60'000 && !condition(); ++i) std::this_thread::sleep_for(1ms);
        return condition();
    }
    /// Main's files are in a, express's in b.
    void begin_with_two_disks() {
        options_.directories = {directory_ / "a", directory_ / "b"};
        disk_.set([](Call call, const std::string& path) {
            const bool not_here = path.find("/a/data_test.00000017.express") != std::string::npos ||
                                  path.find("/b/data_test.00000017.physics") != std::string::npos;
            return call == Call::open && not_here ? EMFILE : 0;
        });
        begin();
    }
    bool in_hand(std::uint64_t events) {
        return eventually([&] { return recorder_->summary().receiver.in_hand == events; });
    }
    void expect_ledger_balances(std::uint64_t duplicates) const {
        std::uint64_t counted = 0;
        const auto rows = catalogue()->ledgers(*options_.run).value();
        for (const auto& row : rows) {
            std::uint64_t rejected = 0;
            for (const auto& [reason, copies] : row.rejected) {
                rejected += copies;
                if (reason == "duplicate") counted += copies;
            }
            EXPECT_EQ(row.received, row.stored + rejected) << row.stream_type;
        }
        EXPECT_EQ(counted, duplicates);
    }

    using Stored = std::map<std::uint64_t, int>;
    inline static const StreamTag main_ = stream("physics_Main"), express_ = stream("express_express");
    HeldDisk disk_;
    std::unique_ptr<Recorder> recorder_;
    std::mutex mutex_;
    std::multiset<std::string> alarms_;
    delivery::SenderStats sent_;
};

TEST_F(RecorderUnique, AnEventThatIsDurableIsRejectedWhenItComesThroughAnotherSession) {
    begin();
    const auto first = sender("first"), second = sender("second");
    send_all(*first, 0, 4);
    send_all(*second, 2, 6);
    EXPECT_EQ(first->stats().acknowledged, 5U);
    EXPECT_EQ(second->stats().acknowledged, 2U);
    EXPECT_EQ(duplicates(*second), 3U);
    EXPECT_EQ(recorder_->summary().copies_rejected.at("duplicate"), 3U);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{0, 1}, {1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}));
    expect_ledger_balances(3);
}

TEST_F(RecorderUnique, WithoutTheOptionEachSessionHasItsOwn) {
    options_.unique_events = false;
    begin();
    const auto first = sender("first"), second = sender("second");
    send_all(*first, 1, 2);
    send_all(*second, 1, 2);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 2}, {2, 2}}));
    EXPECT_EQ(catalogue()->marks(*options_.run).value().size(), 2U);
}

TEST_F(RecorderUnique, ADuplicateOfAnEventInHandIsAnsweredWhenTheFirstIsDurable) {
    begin();
    const auto first = sender("first"), second = sender("second"), third = sender("third");
    disk_.hold("Main");
    send(*first, 1);
    ASSERT_TRUE(in_hand(1));
    send(*second, 1, {main_, express_});
    send(*third, 1);
    ASSERT_TRUE(in_hand(3));
    EXPECT_FALSE(second->flush(20ms).value());
    EXPECT_EQ(duplicates(*second) + duplicates(*third), 0U);
    disk_.release();
    ASSERT_TRUE(flushed(*first) && flushed(*second) && flushed(*third));
    EXPECT_EQ(first->stats().acknowledged, 1U);
    EXPECT_EQ(duplicates(*second) + duplicates(*third), 2U);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 1}}));
    expect_ledger_balances(3);  // of the second: one in each of its streams
}

TEST_F(RecorderUnique, ADuplicateIsReturnedWhenTheFirstIsLostAndItsSenderDead) {
    begin();
    auto first = sender("first");
    const auto second = sender("second");
    disk_.hold("Main");
    send(*first, 1);
    ASSERT_TRUE(in_hand(1));
    send(*second, 1);
    ASSERT_TRUE(in_hand(2));
    disk_.fail(Call::pwrite, "Main", EIO);
    first.reset();
    disk_.release();
    ASSERT_TRUE(flushed(*second));
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 1}}));
    EXPECT_EQ(second->stats().acknowledged, 1U);
    expect_ledger_balances(0);
}

TEST_F(RecorderUnique, OfDuplicatesThatAreBothReturnedOneIsStored) {
    begin();
    const auto first = sender("first"), second = sender("second");
    disk_.hold("Main");
    send(*first, 1);
    ASSERT_TRUE(in_hand(1));
    send(*second, 1);
    ASSERT_TRUE(in_hand(2));
    disk_.fail(Call::pwrite, "Main", EIO);
    disk_.release();
    ASSERT_TRUE(flushed(*first) && flushed(*second));
    EXPECT_EQ(first->stats().acknowledged + second->stats().acknowledged, 1U);
    EXPECT_EQ(duplicates(*first) + duplicates(*second), 1U);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 1}}));
    expect_ledger_balances(1);
}

TEST_F(RecorderUnique, ACopyThatIsDurableIsNotStoredAgainWhenTheOtherWasLost) {
    begin_with_two_disks();
    const auto first = sender("first"), second = sender("second");
    const std::vector<StreamTag> tags{main_, express_};
    disk_.hold("/b/data_test");
    send(*first, 1, tags);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().copies_stored == 1; }));
    send(*second, 1, tags);
    ASSERT_TRUE(in_hand(2));
    disk_.fail(Call::pwrite, "/b/data_test", EIO);
    disk_.release();
    ASSERT_TRUE(flushed(*first) && flushed(*second));
    EXPECT_EQ(first->stats().acknowledged + second->stats().acknowledged, 1U);
    EXPECT_EQ(recorder_->summary().copies_stored, 2U);
    end();
    const auto copies = stored();
    EXPECT_EQ(copies.at("physics"), (Stored{{1, 1}}));
    EXPECT_EQ(copies.at("express"), (Stored{{1, 1}}));
}

TEST_F(RecorderUnique, ADuplicateGoesOnWithAnEventForWhichThereWasNoMemory) {
    options_.receiver.threads = 1;
    begin();
    const auto first = sender("first"), second = sender("second");
    const std::vector<StreamTag> tags{main_, express_};
    constexpr std::size_t size = 3 << 20;  // six copies are more than there is memory for blocks
    disk_.hold(".writing");
    for (std::uint64_t id = 1; id <= 3; ++id) send(*first, id, tags, size);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().receiver.waiting == 1; }));
    EXPECT_EQ(recorder_->summary().copies_received, 5U);
    send(*second, 3, tags, size);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().receiver.waiting == 2; }));
    first->close();
    const auto empty_handed =
        sender("first");  // so that the connection of the first is released, and its event with it
    ASSERT_TRUE(eventually([&] { return recorder_->summary().receiver.waiting == 1; }));
    disk_.release();
    ASSERT_TRUE(flushed(*second));
    EXPECT_EQ(second->stats().acknowledged, 1U);
    ASSERT_TRUE(in_hand(0));
    send_all(*second, 3, 3);
    EXPECT_EQ(duplicates(*second), 1U);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 1}, {2, 1}, {3, 1}}));
    EXPECT_EQ(stored()["express"], (Stored{{1, 1}, {2, 1}, {3, 1}}));
    expect_ledger_balances(1);
}

TEST_F(RecorderUnique, ARecoveredRecorderKnowsWhatItHasOfEverySender) {
    begin();
    send_all(*sender("first"), 1, 5);
    recorder_.reset();  // as after a crash
    begin();
    ASSERT_TRUE(recorder_->continued());
    const auto second = sender("second");
    send_all(*second, 1, 6);
    EXPECT_EQ(duplicates(*second), 5U);
    end();
    EXPECT_EQ(stored()["physics"], (Stored{{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 1}, {6, 1}}));
    expect_ledger_balances(5);
}

TEST_F(RecorderUnique, WhatIsInFilesThatAreDeletedIsStillKnown) {
    options_.file_events_max = 2;
    begin();
    send_all(*sender("first"), 1, 5);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().files == 2; }));
    recorder_.reset();  // as after a crash
    hand_over_and_delete();
    for (int restarts = 0; restarts < 2; ++restarts) {
        begin();
        const auto second = sender("second");
        send_all(*second, 1, 5);
        EXPECT_EQ(duplicates(*second), 5U);
        recorder_.reset();
        hand_over_and_delete();
    }
}

TEST_F(RecorderUnique, WhatIsInRecoveredFilesThatAreDeletedIsStillKnown) {
    begin();
    send_all(*sender("first"), 1, 5);
    recorder_.reset();  // as after a crash, before any file was closed
    {
        const auto known = catalogue();
        ASSERT_EQ(recovery::recover_and_record(directory_, options_.recorder, *known, clock_).value().files.size(), 1U);
        ASSERT_TRUE(recovery::keep_marks(options_.directories, *known).has_value());
    }
    hand_over_and_delete();
    begin();
    const auto second = sender("second");
    send_all(*second, 1, 5);
    EXPECT_EQ(duplicates(*second), 5U);
    end();
}

TEST_F(RecorderUnique, OfAnEventThatACrashLeftByHalvesTheDuplicateBringsWhatIsMissing) {
    begin_with_two_disks();
    {
        const auto first = sender("first");
        disk_.hold("/b/data_test");
        send(*first, 1, {main_, express_});
        ASSERT_TRUE(eventually([&] { return recorder_->summary().copies_stored == 1; }));
        // As after a crash at this moment.
        const std::filesystem::path crashed = directory_.native() + "-crash";
        std::filesystem::copy(directory_, crashed, std::filesystem::copy_options::recursive);
        first->close();
        disk_.release();
        recorder_.reset();
        std::filesystem::remove_all(directory_);
        std::filesystem::rename(crashed, directory_);
    }
    begin();
    const auto second = sender("second");
    send(*second, 1, {express_, main_});  // in whatever order
    ASSERT_TRUE(flushed(*second));
    EXPECT_EQ(second->stats().acknowledged, 1U);
    EXPECT_EQ(recorder_->summary().copies_stored, 1U);
    send(*second, 1, {express_, main_});
    ASSERT_TRUE(flushed(*second));
    EXPECT_EQ(duplicates(*second), 1U);
    end();
    const auto copies = stored();
    EXPECT_EQ(copies.at("physics"), (Stored{{1, 1}}));
    EXPECT_EQ(copies.at("express"), (Stored{{1, 1}}));
}

TEST_F(RecorderUnique, BeyondTheLimitEventsAreTakenUncheckedAndThatIsReportedOnce) {
    options_.unique_memory_max = 64_KiB;
    begin();
    const auto first = sender("first");
    const auto far_away = [](std::uint64_t n) { return n << 32; };  // some 120 bytes each
    for (std::uint64_t n = 0; n < 700; ++n) send(*first, far_away(n), {main_}, 200);
    ASSERT_TRUE(flushed(*first));
    const auto unchecked = recorder_->summary().events_unchecked;
    EXPECT_GT(unchecked, 100U);
    EXPECT_LT(unchecked, 250U);
    send(*first, far_away(1), {main_}, 200);
    send(*first, far_away(699), {main_}, 200);
    ASSERT_TRUE(flushed(*first));
    EXPECT_EQ(recorder_->summary().events_unchecked, unchecked + 1);
    EXPECT_EQ(duplicates(*first), 1U);
    {
        const std::scoped_lock lock(mutex_);
        EXPECT_EQ(alarms_.count("unique events"), 1U);
    }
    end();
    EXPECT_EQ(stored()["physics"].at(far_away(1)), 1);
    EXPECT_EQ(stored()["physics"].at(far_away(699)), 2);
}

TEST_F(RecorderUnique, StreamsWithAThreadOfTheirOwnHaveEachEventOnceToo) {
    options_.mode = Mode::original;
    begin();
    const auto first = sender("first"), second = sender("second");
    for (std::uint64_t id = 1; id <= 200; ++id) {
        send(*first, id, {main_, express_});
        send(*second, id, {main_, express_});
    }
    ASSERT_TRUE(flushed(*first) && flushed(*second));
    EXPECT_EQ(first->stats().acknowledged + second->stats().acknowledged, 200U);
    EXPECT_EQ(duplicates(*first) + duplicates(*second), 200U);
    end();
    EXPECT_EQ(stored()["physics"].size(), 200U);
    expect_ledger_balances(400);
}

TEST_F(RecorderUnique, TooLittleMemoryForTheIdsIsRefused) {
    options_.unique_memory_max = Bytes{64_KiB .count() - 1};
    EXPECT_EQ(options_.check_consistency().error().code, Errc::usage);
    options_.unique_memory_max = 64_KiB;
    EXPECT_TRUE(options_.check_consistency().has_value());
}

/// A trigger that rejects at random: of 300,000 events half come (with a sanitizer, of 20,000). Then all of them come
/// again, through another session, before and after a restart, and when the files are gone.
TEST_F(RecorderUnique, ARandomHalfOf300000EventsIsKnownAcrossARestartAndWhenItsFilesAreDeleted) {
    constexpr std::uint64_t events = testing::sanitized ? 20'000 : 300'000;
    std::mt19937_64 random(17);
    std::vector<bool> accepted(events);
    for (std::uint64_t n = 0; n < events; ++n) accepted[n] = random() % 2 == 0;
    const auto kept = static_cast<std::uint64_t>(std::ranges::count(accepted, true));
    options_.unique_memory_max = 256_KiB;
    constexpr std::uint32_t events_of_a_file = events * 2 / 15;
    options_.file_events_max = events_of_a_file;
    const std::vector<std::byte> payload(16);
    const auto send_those = [&](const char* name, auto which) {
        auto options = sender_options_for(recorder_->port());
        options.name = name;
        options.format = wire::EventFormat::opaque;
        const auto to = delivery::Sender::open(options).value();
        for (std::uint64_t n = 0; n < events; ++n) {
            if (!which(n)) continue;
            ASSERT_TRUE(to->send({GlobalEventId{n}, {}, LumiBlock{1}, {main_}}, payload).has_value());
        }
        ASSERT_TRUE(flushed(*to));
        sent_ = to->stats();
    };
    const auto all = [](std::uint64_t) { return true; };
    const auto those = [&](std::uint64_t n) { return accepted[n]; };
    begin();
    send_those("first", those);
    EXPECT_EQ(sent_.acknowledged, kept);
    send_those("second", those);
    EXPECT_EQ(sent_.rejected[wire::index(wire::RejectReason::duplicate)], kept);
    ASSERT_TRUE(eventually([&] { return recorder_->summary().files == kept / events_of_a_file; }));
    recorder_.reset();  // as after a crash
    begin();
    send_those("third", those);
    EXPECT_EQ(sent_.rejected[wire::index(wire::RejectReason::duplicate)], kept);
    recorder_.reset();
    hand_over_and_delete();
    begin();
    send_those("fourth", all);  // also those that never came
    EXPECT_EQ(sent_.rejected[wire::index(wire::RejectReason::duplicate)], kept);
    EXPECT_EQ(sent_.acknowledged, events - kept);
    EXPECT_EQ(recorder_->summary().events_unchecked, 0U);
    EXPECT_EQ(recorder_->stored_events()->count(), events);
    end();
    const auto marks = catalogue()->marks(*options_.run).value();
    EXPECT_EQ(std::ranges::count_if(marks, recovery::is_mark_of_events), (events + 65'535) / 65'536);
}

TEST_F(RecorderUnique, ARunThatWasClosedAndIsOpenedAgainKnowsWhatItHoldsAndTakesMore) {
    begin();
    send_all(*sender("first"), 1, 20);
    end();
    EXPECT_FALSE(Recorder::open(options_, {}, clock_, disk_)) << "without the option that continues it";
    options_.run_again = true;
    begin();
    EXPECT_EQ(recorder_->stored_events()->count(), 20U);
    EXPECT_EQ(recorder_->summary().copies_stored, 0U);
    const auto second = sender("second");
    send_all(*second, 11, 30);
    EXPECT_EQ(duplicates(*second), 10U);
    EXPECT_EQ(recorder_->stored_events()->count(), 30U);
    end();
    EXPECT_EQ(catalogue()->runs(*options_.run).value().front().state, catalogue::OpenState::closed);
    const auto files = catalogue()->files({}).value();
    for (const auto& row : files) EXPECT_EQ(row.file_state, catalogue::FileState::closed);
}

}  // namespace
}  // namespace weir::recorder
