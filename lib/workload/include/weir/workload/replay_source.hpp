// SPDX-License-Identifier: Apache-2.0
// Events of raw files, sent again. The files are read whole; then their events are repeated to any number,
// each copy with ids of its own and otherwise as it was recorded. Or each is sent once, unchanged.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/file.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/restamp.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/workload/event_source.hpp"

namespace weir::workload {

struct RawFileContents;

struct ReplayOptions {
    std::vector<std::filesystem::path> files{};
    std::optional<RunNumber> run{};       // that of the first file when not given
    std::optional<StreamTag> stream{};    // of events that name none; when not given, see stream_of_file
    bool keep_ids = false;                // each event once, byte for byte as it is in its file
    GlobalEventId first_id{1};            // of the first event when ids are new
    Bytes files_size_max{8ULL << 30};     // of all files: they are held in memory
    Bytes copies_size_max{256ULL << 20};  // of all copies underway
};

class ReplaySource final : public EventSource {
public:
    /// Errors name file and event: no raw file, no events, formats or runs that do not go together, an event
    /// that cannot be given new ids.
    [[nodiscard]] static Result<std::unique_ptr<ReplaySource>> open(const ReplayOptions& options,
                                                                    FileSystem& system = real_file_system());

    [[nodiscard]] RunNumber run() const override { return run_; }
    void set_run(RunNumber run) override { run_ = run; }
    [[nodiscard]] event::Format format() const override { return format_; }
    [[nodiscard]] std::optional<std::uint64_t> events_once() const override { return events_.size(); }
    [[nodiscard]] bool repeats() const override { return !keep_ids_; }
    [[nodiscard]] Bytes event_size_max() const override { return Bytes{event_size_max_}; }
    [[nodiscard]] std::optional<SourcedEvent> make(std::uint64_t n) override;
    [[nodiscard]] std::vector<std::string> reports() const override { return reports_; }

private:
    using Contents = std::vector<std::byte>;

    struct RecordedEvent {
        ConstData bytes{};
        std::shared_ptr<const Contents> owner{};  // shared with the other events of the file, and those underway
        event::EventIds ids{};                    // as recorded; zeros for an opaque event
        std::vector<StreamTag> tags{};
        std::optional<event::RestampPlan> plan{};  // when ids are new and stand in the bytes
    };

    ReplaySource() = default;
    [[nodiscard]] Result<> read(const std::filesystem::path& path, const ReplayOptions& options, FileSystem& system);
    [[nodiscard]] Result<> add(const std::filesystem::path& path, const ReplayOptions& options,
                               const RawFileContents& file);
    [[nodiscard]] Result<RecordedEvent> look_at(ConstData bytes, std::shared_ptr<const Contents> owner,
                                                const StreamTag& stream) const;
    [[nodiscard]] SourcedEvent unchanged(const RecordedEvent& event, std::uint64_t n) const;

    std::vector<RecordedEvent> events_;
    RunNumber run_{};
    event::Format format_ = event::Format::opaque;
    bool keep_ids_ = false;
    GlobalEventId first_id_{1};
    std::uint64_t event_size_max_ = 0;
    Bytes files_size_{0};
    std::vector<std::string> reports_;
    std::shared_ptr<memory::BufferPool> copies_;  // shared with the copies that are underway
};

/// The stream for events that name none: that of the file's head or of its name, else physics_ and the name
/// of the file where that can be a stream, else physics_Replay.
[[nodiscard]] StreamTag stream_of_file(const std::filesystem::path& path, std::optional<std::string_view> head_stream);

}  // namespace weir::workload
