// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/testing/recording_fixture.hpp"

#include <stdlib.h>

#include <algorithm>
#include <stdexcept>
#include <string>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recovery/verification.hpp"

namespace weir::testing {

RecordingFixture::RecordingFixture() : port_(transport::ReservedPort::take({"127.0.0.1", 0}).value()) {
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-recorder-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    options_.directories = {directory_};
    options_.create_directories = true;
    options_.run = RunNumber{17};
    options_.memory = 32_MiB;
    options_.segment = 64_KiB;
    options_.streams_max = 16;
    options_.receiver.event_size_max = 4_MiB;
    options_.receiver.threads = 2;
    options_.sync_interval = std::chrono::milliseconds{5};
    options_.parallel.threads = 2;
}
RecordingFixture::~RecordingFixture() { std::filesystem::remove_all(directory_); }

std::unique_ptr<recorder::Recorder> RecordingFixture::start() {
    const auto lent = port_.lend();
    auto recorder = recorder::Recorder::open(options_, {}, clock_);
    if (!recorder) throw std::runtime_error(recorder.error().message());
    (*recorder)->start();
    return std::move(*recorder);
}

delivery::SenderOptions RecordingFixture::sender_options_for(std::uint16_t port) const {
    delivery::SenderOptions options;
    options.host = "127.0.0.1:" + std::to_string(port);
    options.name = "test";
    options.run = *options_.run;
    options.format = wire::EventFormat::event_5_0;
    return options;
}

std::unique_ptr<delivery::Sender> RecordingFixture::connect(const recorder::Recorder& recorder,
                                                            wire::EventFormat format) const {
    auto options = sender_options_for(recorder.port());
    options.format = format;
    return delivery::Sender::open(options).value();
}

::testing::AssertionResult RecordingFixture::flushed(delivery::Sender& sender) {
    const auto done = sender.flush(std::chrono::seconds{60});
    if (!done) return ::testing::AssertionFailure() << done.error().message();
    if (*done) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << sender.stats().held << " events have no answer";
}

std::vector<std::byte> RecordingFixture::event(std::uint64_t id, std::size_t size) {
    event::EventIds ids;
    ids.run = *options_.run;
    ids.global_id = GlobalEventId{id};
    ids.level1_id = Level1Id{7};
    ids.lumi_block = LumiBlock{1};
    workload::GeneratedEvent generated;
    workload::PlannedEvent plan;
    plan.stored_size = Bytes{size};
    generator_.generate(plan, ids, generated);
    return generated.bytes;
}

std::vector<StreamTag> RecordingFixture::tags_of(std::uint64_t id) {
    std::vector<StreamTag> tags{stream("physics_Main")};
    if (id % 3 == 0) tags.push_back(stream("express_express"));
    return tags;
}

std::vector<std::filesystem::path> RecordingFixture::data_files() const {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
        if (entry.path().extension() == ".data") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    return files;
}

std::unique_ptr<catalogue::Catalogue> RecordingFixture::catalogue() const {
    return catalogue::open_sqlite_catalogue(catalogue::catalogue_path(options_.directories.front())).value();
}

void RecordingFixture::hand_over_and_delete() const {
    const auto known = catalogue();
    const auto rows = known->files({.file_state = catalogue::FileState::closed}).value();
    for (const auto& row : rows) {
        const auto path = std::filesystem::path(row.volume) / row.name;
        const auto transferred = known->file_transferred(row.guid);
        ASSERT_TRUE(transferred.has_value()) << transferred.error().message();
        std::filesystem::remove(path);
        std::filesystem::remove(std::filesystem::path(path).replace_extension(".index"));
        ASSERT_TRUE(known->file_deleted(row.guid, row.volume, row.name).has_value());
    }
}

std::map<std::string, std::map<std::uint64_t, int>> RecordingFixture::stored() const {
    std::map<std::string, std::map<std::uint64_t, int>> copies;
    const auto rows = catalogue()->files({.file_state = catalogue::FileState::closed}).value();
    for (const auto& row : rows) {
        const auto index =
            datafile::StoredIndex::read(datafile::index_path_of(std::filesystem::path(row.volume) / row.name)).value();
        for (const auto& copy : index.copies) ++copies[row.stream_type][number(copy.event)];
    }
    return copies;
}

recovery::VerificationReport RecordingFixture::verify() const {
    std::vector<recovery::FileToVerify> files;
    const auto rows = catalogue()->files().value();
    for (const auto& row : rows) {
        EXPECT_EQ(row.file_state, catalogue::FileState::closed) << row.name;
        files.push_back({std::filesystem::path(row.volume) / row.name, row});
    }
    return recovery::verify_files(files, {});
}

void RecordingFixture::expect_all_good(std::size_t files) const {
    const auto report = verify();
    EXPECT_EQ(report.files.size(), files);
    for (const auto& damage : report.damages)
        ADD_FAILURE() << damage.path << " offset " << damage.offset << ": " << damage.reason;
}

void RecordingFixture::expect_stored_once(std::uint64_t count, const std::string& alarms) const {
    expect_all_good(catalogue()->files().value().size());
    auto copies = stored();
    for (std::uint64_t id = 1; id <= count; ++id) {
        EXPECT_EQ(copies["physics"][id], 1) << "event " << id << "\n" << alarms;
        EXPECT_EQ(copies["express"][id], id % 3 == 0 ? 1 : 0) << "event " << id << "\n" << alarms;
    }
}

}  // namespace weir::testing
