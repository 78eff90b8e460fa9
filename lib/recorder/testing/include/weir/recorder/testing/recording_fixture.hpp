// SPDX-License-Identifier: Apache-2.0
// What the tests of recordings share: a directory of their own, small options, events, senders.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recovery/verification.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/workload/event_generator.hpp"

namespace weir::testing {

class RecordingFixture : public ::testing::Test {
protected:
    RecordingFixture();
    ~RecordingFixture() override;

    std::unique_ptr<recorder::Recorder> start();

    delivery::SenderOptions sender_options_for(std::uint16_t port) const;
    std::unique_ptr<delivery::Sender> connect(const recorder::Recorder& recorder,
                                              wire::EventFormat format = wire::EventFormat::event_5_0) const;
    /// Everything sent has its answer; else the reason.
    static ::testing::AssertionResult flushed(delivery::Sender& sender);

    static StreamTag stream(const char* key) { return parse_stream_key(key).value(); }
    std::vector<std::byte> event(std::uint64_t id, std::size_t size);
    /// physics_Main, and of every third event express_express too.
    static std::vector<StreamTag> tags_of(std::uint64_t id);

    std::vector<std::filesystem::path> data_files() const;
    std::unique_ptr<catalogue::Catalogue> catalogue() const;
    /// As weir handoff does with what is closed.
    void hand_over_and_delete() const;

    /// How often each event is in the closed files of each type of stream.
    std::map<std::string, std::map<std::uint64_t, int>> stored() const;

    recovery::VerificationReport verify() const;
    void expect_all_good(std::size_t files) const;
    /// All files are closed and good, and each of the events 1 to `count` is stored once for each of its tags_of().
    void expect_stored_once(std::uint64_t count, const std::string& alarms) const;

    std::filesystem::path directory_;
    /// For recorders that listen at one port, one after the other: no other program can take it in between. start()
    /// lends it; with another way to open a recorder the test does.
    const transport::ReservedPort port_;
    SystemClock clock_;
    recorder::RecorderOptions options_;
    workload::EventGenerator generator_{workload::Profile::atlas2018(), 1};
};

}  // namespace weir::testing
