// SPDX-License-Identifier: Apache-2.0
// What the machine can do at most, with the same senders and the same I/O as the recorder, and as
// little as possible between: the figures that a recorder is held against.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "weir/delivery/receiver.hpp"
#include "weir/recorder/block_writer.hpp"
#include "weir/recorder/segment_pool.hpp"

namespace weir::app {

/// Takes events and stores nothing: the limit of receiving.
class DiscardSink final : public delivery::EventSink {
public:
    void connect(delivery::Receiver& receiver) { receiver_ = &receiver; }
    [[nodiscard]] std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override {
        return std::nullopt;
    }
    [[nodiscard]] delivery::Taken take(delivery::IncomingEvent& event) override;

private:
    delivery::Receiver* receiver_ = nullptr;
};

/// One file that is filled segment by segment; nothing is summed, journalled or synced.
class PlainFile final : public recorder::WriteListener {
public:
    [[nodiscard]] static Result<std::unique_ptr<PlainFile>> create(const std::filesystem::path& path, bool direct,
                                                                   recorder::SegmentPool& pool,
                                                                   recorder::BlockWriter& writer);
    ~PlainFile() override;

    /// Copies the bytes behind what is there, from any thread; waits for memory. False after a failed write.
    bool append(ConstData bytes);
    /// Writes the rest and waits for all of it.
    [[nodiscard]] Result<> finish();

    void written(std::uint64_t offset, ConstData data, Result<> result) noexcept override;

private:
    struct Segment {
        std::byte* memory;
        std::uint64_t begin;
        std::size_t copying = 0;
    };
    PlainFile(File file, bool direct, recorder::SegmentPool& pool, recorder::BlockWriter& writer)
        : file_(std::move(file)), direct_(direct), pool_(pool), writer_(writer) {}
    bool reserve(std::uint64_t size, std::unique_lock<std::mutex>& lock);

    File file_;
    const bool direct_;
    recorder::SegmentPool& pool_;
    recorder::BlockWriter& writer_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<std::uint64_t, Segment> segments_;  // by begin
    std::uint64_t end_ = 0;
    std::uint64_t reserved_ = 0;
    std::size_t writing_ = 0;
    std::uint64_t allocated_ = 0;
    std::optional<Error> failed_;
};

/// Takes events, copies them into segments of one file a stream, writes those: receive, copy, write.
class CopySink final : public delivery::EventSink {
public:
    CopySink(std::filesystem::path directory, bool direct, recorder::SegmentPool& pool, recorder::BlockWriter& writer)
        : directory_(std::move(directory)), direct_(direct), pool_(pool), writer_(writer) {}
    void connect(delivery::Receiver& receiver) { receiver_ = &receiver; }
    [[nodiscard]] std::optional<delivery::Refusal> hello(delivery::SessionId, const wire::Hello&) override {
        return std::nullopt;
    }
    [[nodiscard]] delivery::Taken take(delivery::IncomingEvent& event) override;
    [[nodiscard]] Result<> finish();

private:
    const std::filesystem::path directory_;
    const bool direct_;
    recorder::SegmentPool& pool_;
    recorder::BlockWriter& writer_;
    delivery::Receiver* receiver_ = nullptr;
    std::mutex mutex_;
    std::map<std::string, std::unique_ptr<PlainFile>> files_;
};

}  // namespace weir::app
