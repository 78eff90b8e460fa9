// SPDX-License-Identifier: Apache-2.0
// Directories that a recorder left when it died, as recovery finds them.
#pragma once

#include <gtest/gtest.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <mutex>

#include "weir/datafile/journal.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"

namespace weir::recovery {

using namespace std::chrono_literals;

inline constexpr std::uint64_t events_sent = 6;
inline constexpr std::size_t event_size = 3000;

class RecoveryTest : public testing::RecordingFixture {
protected:
    /// A recorder that dies with events acknowledged, each in a round of its own.
    void crash(const std::vector<StreamTag>& tags = {stream("physics_Main")}) {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= events_sent; ++id) {
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, event(id, event_size)).has_value());
            ASSERT_TRUE(flushed(*sender));
        }
    }

    std::filesystem::path journal(std::uint32_t number = 1) const {
        return datafile::JournalWriter::path_of(directory_, number);
    }

    static std::vector<std::byte> bytes_of(const std::filesystem::path& path) {
        return datafile::read_records(path).value();
    }

    static std::vector<std::byte> encoded(const datafile::JournalRecord& record) {
        std::vector<std::byte> bytes;
        encode(record, bytes);
        return bytes;
    }

    template <class Record>
    static std::vector<Record> all_of(ConstData records) {
        std::vector<Record> found;
        datafile::for_each_record(records, [&](const datafile::JournalRecord& record) {
            if (const auto* one = std::get_if<Record>(&record)) found.push_back(*one);
            return true;
        });
        return found;
    }

    /// Where the last rounds of a journal or an index begin: with a commit, which has its own offset.
    static std::uint64_t last_rounds(ConstData records, std::size_t rounds) {
        const auto commits = all_of<datafile::JournalCommit>(records);
        return commits.at(commits.size() - rounds).offset;
    }

    static void write(const std::filesystem::path& path, ConstData bytes) {
        std::ofstream file(path, std::ios::binary | std::ios::trunc);
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    }

    /// As if the last rounds had never reached the disk.
    void cut_journal(std::size_t rounds) const {
        auto bytes = bytes_of(journal());
        bytes.resize(last_rounds(bytes, rounds));
        write(journal(), bytes);
    }

    std::map<std::filesystem::path, std::vector<std::byte>> open_files() const {
        std::map<std::filesystem::path, std::vector<std::byte>> files;
        for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
            if (entry.path().extension() == ".writing") files[entry.path()] = bytes_of(entry.path());
        }
        return files;
    }

    /// A recorder starts and reports its doubts.
    std::vector<std::string> doubts_at_start() {
        std::vector<std::string> doubts;
        std::mutex mutex;
        const auto recorder = recorder::Recorder::open(
            options_,
            [&](const Report& report) {
                const std::scoped_lock lock(mutex);
                if (report.alarm == "acknowledged events in doubt") doubts.push_back(report.why);
            },
            clock_);
        EXPECT_TRUE(recorder.has_value()) << (recorder ? "" : recorder.error().message());
        if (!recorder) return doubts;
        (*recorder)->start();
        EXPECT_TRUE((*recorder)->stop(60s).has_value());
        return doubts;
    }

    /// Every acknowledged event is in a file, and what was wrong is reported.
    void expect_all_kept_and_reported(const std::string& because, std::size_t files = 1) {
        const auto doubts = doubts_at_start();
        EXPECT_TRUE(std::ranges::any_of(doubts, [&](const auto& doubt) { return doubt.contains(because); }))
            << because << " is not among " << fmt::format("{}", fmt::join(doubts, "; "));
        ASSERT_EQ(data_files().size(), files);
        for (const auto& path : data_files())
            EXPECT_EQ(datafile::StoredIndex::read(datafile::index_path_of(path))->copies.size(), events_sent);
        expect_all_good(files);
    }

    void expect_all_kept(std::size_t files = 1) {
        ASSERT_TRUE(start()->stop(60s).has_value());
        ASSERT_EQ(data_files().size(), files);
        for (const auto& path : data_files())
            EXPECT_EQ(datafile::StoredIndex::read(datafile::index_path_of(path))->copies.size(), events_sent);
        expect_all_good(files);
    }
};

}  // namespace weir::recovery
