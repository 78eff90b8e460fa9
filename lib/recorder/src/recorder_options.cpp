// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/recorder_options.hpp"

#include <fmt/format.h>

#include <array>

#include "weir/event/raw_file_name.hpp"
#include "weir/recorder/segment_pool.hpp"

namespace weir::recorder {
namespace {

constexpr std::array modes{Mode::receipt, Mode::original, Mode::parallel, Mode::off};
constexpr std::array late_policies{LatePolicy::new_file, LatePolicy::reject};

}  // namespace

const char* name(Mode mode) noexcept {
    switch (mode) {
        case Mode::receipt: return "receipt";
        case Mode::original: return "original";
        case Mode::parallel: return "parallel";
        case Mode::off: return "off";
    }
    return "unknown";
}

std::optional<Mode> parse_mode(std::string_view text) noexcept {
    for (const auto mode : modes) {
        if (text == name(mode)) return mode;
    }
    return std::nullopt;
}

const char* name(LatePolicy policy) noexcept { return policy == LatePolicy::new_file ? "new-file" : "reject"; }

std::optional<LatePolicy> parse_late_policy(std::string_view text) noexcept {
    for (const auto policy : late_policies) {
        if (text == name(policy)) return policy;
    }
    return std::nullopt;
}

Result<> RecorderOptions::check_consistency() const {
    if (directories.empty()) return fail(Errc::usage, "no directory to record into; name one with --dir");
    if (!event::valid_name_part(project))
        return fail(Errc::usage, fmt::format("\"{}\" cannot be a project; use letters, digits, '-' and '_'", project));
    if (!event::valid_name_part(recorder))
        return fail(Errc::usage,
                    fmt::format("\"{}\" cannot be a recorder's name; use letters, digits, '-' and '_'", recorder));
    if (segment.count() == 0 || segment.count() % SegmentPool::alignment != 0)
        return fail(Errc::usage, fmt::format("segment of {} is not a multiple of 4 KiB", to_string(segment)));
    const auto half = memory / 2;
    if (receiver.event_size_max * 2 > half) {
        return fail(
            Errc::usage,
            fmt::format("memory of {} is too small for events up to {}; raise --memory to {} or lower --event-max",
                        to_string(memory), to_string(receiver.event_size_max), to_string(receiver.event_size_max * 4)));
    }
    // Each open file may hold one segment that is not full; the largest event must still find its own.
    if (files_per_stream < 1) return fail(Errc::usage, "a stream cannot have 0 files open; choose 1 or more");
    const auto per_stream = std::min<std::uint64_t>(files_per_stream, directories.size());
    const auto files = streams_max * (per_stream + 1);
    if (segment * files + receiver.event_size_max > half) {
        return fail(Errc::usage,
                    fmt::format("memory of {} is too small for {} with segments of {} and events up to {}; raise "
                                "--memory to {} or lower streams_max in the configuration file",
                                to_string(memory),
                                per_stream == 1 ? fmt::format("{} streams", streams_max)
                                                : fmt::format("{} streams of {} files", streams_max, per_stream),
                                to_string(segment), to_string(receiver.event_size_max),
                                to_string((segment * files + receiver.event_size_max) * 2)));
    }
    if (unique_memory_max < 64_KiB)
        return fail(Errc::usage,
                    fmt::format("unique_memory_max of {} is too small for the ids of events; choose 64KiB or more",
                                to_string(unique_memory_max)));
    if (disk_silence_max < std::chrono::seconds{1})
        return fail(
            Errc::usage,
            "a disk that is taken out of use after less than a second of silence may only be slow; choose 1s or more");
    if (disk_retry.count() < 1) return fail(Errc::usage, "a disk cannot be tried again after 0 ms; choose 1ms or more");
    if (file_version && *file_version != 2 && *file_version != 6)
        return fail(Errc::usage, fmt::format("file version {} cannot be written; choose 6 or 2", *file_version));
    if (file_size_max < 1_MiB)
        return fail(Errc::usage,
                    fmt::format("files of at most {} are too small; choose 1MiB or more", to_string(file_size_max)));
    return {};
}

}  // namespace weir::recorder
