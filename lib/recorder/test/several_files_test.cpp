// SPDX-License-Identifier: Apache-2.0
// A stream with several open files, each on another volume (decision 34): where its events go, how they are numbered,
// and what becomes of them when a volume or the recorder fails. While the disk waits nothing becomes durable, so that
// each event finds the ones before it waiting.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <set>

#include "ruled_file_system.hpp"
#include "weir/base/testing/eventually.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/drain.hpp"
#include "weir/recovery/rebuild.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

/// Syncs may be made to wait.
class WaitingDisk : public Faulty {
public:
    int fdatasync(int fd) override {
        waits_.wait(true);
        return Faulty::fdatasync(fd);
    }
    void wait() { waits_ = true; }
    void go_on() {
        waits_ = false;
        waits_.notify_all();
    }

private:
    std::atomic<bool> waits_ = false;
};

class SeveralFiles : public testing::RecordingFixture {
protected:
    SeveralFiles() {
        options_.directories = {directory_ / "a", directory_ / "b", directory_ / "c"};
        options_.receiver.listen = port_.address();
        options_.direct = DirectIo::off;
        options_.files_per_stream = 2;
        options_.disk_reserve = 64_KiB;
        options_.disk_headroom = 64_KiB;
        options_.disk_retry = 5ms;
    }
    ~SeveralFiles() override { disk_.go_on(); }

    void begin() {
        const auto lent = port_.lend();
        recorder_ = Recorder::open(options_, {}, clock_, disk_).value();
        recorder_->start();
        if (sender_) return;  // it comes again by itself
        auto to = sender_options_for(recorder_->port());
        to.backoff_first = 1ms;
        to.backoff_last = 10ms;
        sender_ = delivery::Sender::open(to).value();
    }
    void send(std::uint64_t count) {
        for (; count > 0; --count) {
            const auto id = ++sent_;
            ASSERT_TRUE(sender_->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 2000))
                            .has_value());
        }
    }
    /// So many, all of which have their place before the first is durable.
    void send_at_once(std::uint64_t count) {
        const auto before = recorder_->summary().copies_received;
        disk_.wait();
        send(count);
        EXPECT_TRUE(testing::eventually([&] { return recorder_->summary().copies_received >= before + count; }));
        EXPECT_LE(recorder_->summary().streams.at(0).files_open, options_.files_per_stream);
    }
    void stop() {
        disk_.go_on();
        ASSERT_TRUE(flushed(*sender_));
        const auto stopped = recorder_->stop(60s);
        ASSERT_TRUE(stopped.has_value()) << stopped.error().message();
        recorder_.reset();
        expect_each_event_once();
    }
    /// Nothing of the recorder is left, all that it wrote is there.
    void crash() {
        disk_.go_on();
        ASSERT_TRUE(flushed(*sender_));
        recorder_.reset();
    }
    void expect_each_event_once() {
        const auto report = verify();
        for (const auto& damage : report.damages)
            ADD_FAILURE() << damage.path << " offset " << damage.offset << ": " << damage.reason;
        auto copies = stored()["physics"];
        for (std::uint64_t id = 1; id <= sent_; ++id) EXPECT_EQ(copies[id], 1) << "event " << id;
    }
    std::vector<catalogue::FileRow> files(std::optional<catalogue::FileState> state = {}) const {
        return catalogue()->files({.file_state = state}).value();
    }
    static datafile::StoredIndex index_of(const catalogue::FileRow& row) {
        return datafile::StoredIndex::read(datafile::index_path_of(std::filesystem::path(row.volume) / row.name))
            .value();
    }
    static std::set<std::string> volumes_of(const std::vector<catalogue::FileRow>& rows) {
        std::set<std::string> volumes;
        for (const auto& row : rows) volumes.insert(row.volume);
        return volumes;
    }

    WaitingDisk disk_;
    std::unique_ptr<Recorder> recorder_;
    std::unique_ptr<delivery::Sender> sender_;
    std::uint64_t sent_ = 0;
};

TEST_F(SeveralFiles, EventsAreSpreadOverAsManyFilesAsAreAllowedEachOnAnotherVolume) {
    begin();
    send_at_once(30);
    stop();
    const auto rows = files();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(volumes_of(rows).size(), 2U);
    for (const auto& row : rows) EXPECT_GE(row.events, 10U) << row.name;
}

TEST_F(SeveralFiles, AStreamThatIsDurableBeforeItsNextEventComesKeepsToOneFile) {
    begin();
    for (int n = 0; n < 10; ++n) {
        send(1);
        ASSERT_TRUE(flushed(*sender_));
    }
    EXPECT_EQ(recorder_->summary().streams.at(0).files_open, 1U);
    stop();
    EXPECT_EQ(files().size(), 1U);
}

TEST_F(SeveralFiles, ThereAreNoMoreThanVolumesAndOneVolumeWritesAsWithoutTheOption) {
    options_.files_per_stream = 8;
    options_.directories = {directory_ / "a"};
    begin();
    send_at_once(10);
    stop();
    const auto rows = files();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_FALSE(index_of(rows[0]).opened.counts_alone);
}

TEST_F(SeveralFiles, BlockNumbersCountWithinEachFileAndTheOneWithTheHighestNumberIsTheLast) {
    options_.files_per_stream = 3;
    options_.file_events_max = 4;
    begin();
    send_at_once(30);
    stop();
    const auto rows = files();
    EXPECT_GE(rows.size(), 8U);
    std::set<std::uint32_t> numbers, last;
    for (const auto& row : rows) {
        numbers.insert(row.sequence);
        const auto index = index_of(row);
        EXPECT_TRUE(index.opened.counts_alone);
        auto reader = datafile::RawFileReader::open(std::filesystem::path(row.volume) / row.name).value();
        std::vector<std::byte> bytes;
        std::uint32_t block = 0;
        while (const auto next = reader.next(bytes).value()) EXPECT_EQ(next->separator.block_number, ++block);
        EXPECT_EQ(block, row.events);
        EXPECT_EQ(reader.end()->events_in_sequence, block);
        if (reader.end()->last_of_sequence) last.insert(row.sequence);
    }
    EXPECT_EQ(numbers.size(), rows.size());
    EXPECT_EQ(*numbers.rbegin(), rows.size());
    for (const auto number : last) EXPECT_EQ(number, rows.size());
}

TEST_F(SeveralFiles, WhenAVolumeIsLostTheStreamGoesOnWithTheOthers) {
    begin();
    send_at_once(10);
    const auto lost = *volumes_of(files()).begin();
    disk_.go_on();
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([lost](Call call, const std::string& path) {
        return call != Call::close && path.starts_with(lost) ? EROFS : 0;
    });
    send_at_once(30);
    disk_.go_on();
    ASSERT_TRUE(flushed(*sender_));
    const auto volumes = recorder_->summary().volumes;
    const auto state = std::ranges::find(volumes, lost, &VolumeSummary::directory)->state;
    EXPECT_EQ(state, VolumeState::failed);
    disk_.clear();
    stop();
}

TEST_F(SeveralFiles, WhenAVolumeIsFullTheStreamGoesOnWithTheOthers) {
    begin();
    send_at_once(10);
    const auto full = *volumes_of(files()).begin();
    disk_.go_on();
    ASSERT_TRUE(flushed(*sender_));
    disk_.set([full](Call call, const std::string& path) {
        return call == Call::pwrite && path.starts_with(full) && path.contains("physics_Main") ? ENOSPC : 0;
    });
    send_at_once(30);
    disk_.go_on();
    ASSERT_TRUE(flushed(*sender_));
    EXPECT_FALSE(recorder_->summary().paused);
    disk_.clear();
    stop();
}

TEST_F(SeveralFiles, AfterACrashAllOpenFilesAreRecoveredAndTheRunGoesOnWithAnyNumberOfFiles) {
    for (const std::uint32_t number : {3U, 1U, 2U}) {
        options_.files_per_stream = number;
        begin();
        send_at_once(12);
        EXPECT_EQ(files(catalogue::FileState::opened).size(), number);
        crash();
    }
    begin();
    send(1);
    stop();
}

TEST_F(SeveralFiles, WithoutJournalAndIndexTheyAreRecoveredByTheirStructure) {
    options_.files_per_stream = 3;
    begin();
    send_at_once(12);
    crash();
    std::uint64_t damaged = 0;
    for (const auto& directory : options_.directories) {
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            const auto name = entry.path().filename().native();
            if (name.starts_with("weir.journal") || name.ends_with(".index.writing"))
                std::filesystem::remove(entry.path());
            if (!name.ends_with("_0002.writing")) continue;
            std::vector<std::byte> bytes;  // of this one nothing is left
            auto reader = datafile::RawFileReader::open(entry.path()).value();
            const auto first = reader.position();
            while (reader.next(bytes).value_or(std::nullopt)) ++damaged;
            auto file = File::open(entry.path(), File::Mode::read_write).value();
            ASSERT_TRUE(file.write_at(first, std::vector(4, std::byte{1})));
        }
    }
    ASSERT_GT(damaged, 0U);
    begin();
    ASSERT_TRUE(recorder_->stop(60s).has_value());
    const auto report = verify();
    EXPECT_EQ(report.files.size(), 3U);
    for (const auto& damage : report.damages) ADD_FAILURE() << damage.path << ": " << damage.reason;
    std::uint64_t events = 0;
    for (const auto& row : files()) events += row.events;
    EXPECT_EQ(events, 12U - damaged);
}

TEST_F(SeveralFiles, ALostCatalogueComesBackFromThemAndAVolumeOfThemIsDrained) {
    options_.files_per_stream = 3;
    begin();
    send_at_once(12);
    stop();
    const auto before = files();
    for (const auto* ending : {"", "-wal", "-shm"})
        std::filesystem::remove(catalogue::catalogue_path(directory_ / "a").native() + ending);
    ASSERT_TRUE(recovery::rebuild_catalogue(options_.directories, *catalogue(), clock_).has_value());
    EXPECT_EQ(files().size(), before.size());
    expect_each_event_once();
    const auto drained = recovery::drain_volume(
        {.volume = directory_ / "b", .targets = {directory_ / "c"}, .progress = {}, .stop = {}}, *catalogue());
    ASSERT_TRUE(drained.has_value()) << drained.error().message();
    EXPECT_EQ(drained->files, 1U);
    EXPECT_EQ(volumes_of(files()).size(), 2U);
    expect_each_event_once();
}

}  // namespace
}  // namespace weir::recorder
