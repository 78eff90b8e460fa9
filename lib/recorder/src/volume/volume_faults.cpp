// SPDX-License-Identifier: Apache-2.0
// What becomes of a volume when a file or its disk fails, or when it is full. How it comes back: volume_return.cpp.
#include <fmt/format.h>

#include <algorithm>

#include "volume/volume.hpp"

namespace weir::recorder {
namespace {

constexpr std::chrono::seconds calm{60};  // without trouble: then the next try comes soon again

}  // namespace

void Volume::abandon(const std::shared_ptr<StreamFile>& file, const Error& error) {
    std::vector<PlacedCopy> lost;
    if (!file->abandon(error, lost)) return;
    const auto fault = datafile::disk_fault_of(error);
    std::string again = "no event of it was in hand";
    if (!lost.empty()) {
        const auto [first, last] =
            std::ranges::minmax(lost, {}, [](const PlacedCopy& copy) { return number(copy.entry.event); });
        again = fmt::format("{} in hand, global ids {} to {}, are returned to their senders", lost.size(),
                            number(first.entry.event), number(last.entry.event));
    }
    const auto text =
        fmt::format("{}: {} acknowledged events are kept, {}", error.message(), file->durable().events, again);
    bool ends_use = fault == datafile::DiskFault::volume;
    if (fault == datafile::DiskFault::name && is_in_place()) {
        reports_.interfered(fmt::format("file removed: {}.writing", file->opened().name), text);
    } else if (fault == datafile::DiskFault::name) {
        ends_use = true;
    } else if (may_pass(fault)) {
        reports_.warning(fmt::format("file {} is cut short: {}", file->opened().name, text));
        if (fault == datafile::DiskFault::no_space) pause(&error);
    } else {
        reports_.alarm(fmt::format("file quarantined: {}", file->opened().name), text);
        const std::scoped_lock lock(rounds_mutex_);
        const auto now = clock_.now();
        failures_ = (now - last_failure_ > failure_counts ? 0 : failures_) + 1;
        last_failure_ = now;
        ends_use = failures_ >= failures_max || ends_use;
    }
    if (!lost.empty()) settlement_.lost(lost);
    if (ends_use) take_out_of_use(error, false);
    callbacks_.changed();
}

void Volume::take_out_of_use(const Error& error, bool hangs) {
    {
        const std::scoped_lock lock(rounds_mutex_);
        // Kept whatever else fails: a volume that hangs has failed, and failure_ has the reason.
        hangs_ = hangs_ || hangs;
        rounds_changed_.notify_all();
        if (state_ == VolumeState::failed) return;
        const auto now = clock_.now();
        retry_ = now - last_trouble_ > calm ? options_.retry_first : std::min(2 * retry_, options_.retry_last);
        last_trouble_ = now;
        next_try_ = now + retry_;
        state_ = VolumeState::failed;
        failure_ = error;
        ++times_failed_;
    }
    if (!hangs && !is_in_place())
        reports_.interfered(fmt::format("directory gone: {}", options_.directory.native()), not_in_place().context);
    std::vector<PlacedCopy> lost;
    std::size_t files = 0;
    for (const auto& open : open_files()) {
        if (open->file->abandon(error, lost)) ++files;
    }
    reports_.alarm(
        fmt::format("volume dropped: {}", options_.directory.native()),
        fmt::format("{}: {} files stay as they are for recovery, {} copies in hand are returned to their senders; {}",
                    error.message(), files, lost.size(),
                    hangs ? "it is used again after a restart" : "it is used again when it can be written"));
    if (!lost.empty()) settlement_.lost(lost);
    callbacks_.changed();
}

void Volume::note(const Error& error) {
    switch (datafile::disk_fault_of(error)) {
        case datafile::DiskFault::no_descriptors: return reports_.alarm("no file descriptors", error.message());
        case datafile::DiskFault::no_space: return pause(&error);
        case datafile::DiskFault::name:
        case datafile::DiskFault::file:
        case datafile::DiskFault::volume: return take_out_of_use(error, false);
    }
}

void Volume::pause(const Error* error) {
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (state_ != VolumeState::good) return;
        state_ = VolumeState::full;
        if (error != nullptr) {  // not seen coming: not the very next moment again
            next_try_ = clock_.now() + options_.retry_first;
        }
    }
    for (const auto& open : open_files()) open->file->stop_taking();
    reports_.alarm(
        fmt::format("disk full: {}", options_.directory.native()),
        fmt::format("{} are free{}{}; what is open there is closed, and recording goes on by itself when {} are "
                    "free",
                    to_string(free_space()), error == nullptr ? "" : ", ", error == nullptr ? "" : error->message(),
                    to_string(reserve_.size() + headroom_ * 2)));
    callbacks_.changed();
}

void Volume::check_space(SteadyTime now) {
    const auto look = [&] {
        const auto free = weir::free_space(options_.directory, system_);
        if (free) free_.store(free->count(), std::memory_order_relaxed);
        return free.value_or(Bytes{free_.load(std::memory_order_relaxed)});  // of unknown space it is not full
    };
    auto free = look();
    if (state() == VolumeState::good) {
        if (free < headroom_) return pause(nullptr);
        // A close may have released it since it was made: without it the next time that the disk is full nothing could
        // be closed.
        if (auto reserved = reserve_.make(); !reserved) pause(&reserved.error());
        return;
    }
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (state_ != VolumeState::full || now < next_try_) return;
    }
    if (!reserve_.held()) {
        if (free < reserve_.size() + headroom_ * 2 || !reserve_.make()) return;
        free = look();
    }
    if (free < headroom_ * 2) return;
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (state_ != VolumeState::full) return;
        state_ = VolumeState::good;
    }
    reports_.warning(fmt::format("{} has space again, {} are free: recording goes on there",
                                 options_.directory.native(), to_string(free)));
    callbacks_.changed();
}

}  // namespace weir::recorder
