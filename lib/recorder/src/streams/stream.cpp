// SPDX-License-Identifier: Apache-2.0
#include "streams/stream.hpp"

#include <algorithm>
#include <utility>

#include "weir/event/rotation.hpp"

namespace weir::recorder {
namespace {

constexpr std::size_t closed_blocks_kept = 4096;
constexpr std::chrono::milliseconds further_retry{200};      // when no volume takes one
constexpr std::chrono::milliseconds further_failed{10'000};  // when one could not be begun, which takes its time

}  // namespace

Stream::Stream(StreamTag tag, event::Format format, const RecorderOptions& options, FileKeeper& keeper,
               LumiBlocks& blocks, const Clock& clock)
    : tag_(std::move(tag)),
      format_(format),
      options_(options),
      keeper_(keeper),
      blocks_(blocks),
      clock_(clock),
      ledger_(tag_.type, tag_.name) {}

bool Stream::is_full(const StreamFile& file, std::uint64_t next, SteadyTime now) const {
    const auto counts = file.counts();
    const event::RotationLimits limits{static_cast<std::uint32_t>(options_.file_size_max.count() >> 20),
                                       options_.file_events_max};
    if (event::needs_new_file(limits, {Bytes{counts.bytes}, static_cast<std::uint32_t>(counts.events)}, Bytes{next}))
        return true;
    return options_.file_age_max.count() > 0 && counts.events > 0 && now - file.opened_at() >= options_.file_age_max;
}

Stream::Assigned Stream::assign(const CopyRequest& request, Place& place, std::shared_ptr<StreamFile>& file) {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    const auto block = tag_.obeys_lumi_block ? request.lumi_block : LumiBlock{0};
    blocks_.saw(request.lumi_block, now);
    auto at = open_.find(block);
    if (at == open_.end() && options_.late == LatePolicy::reject && closed_blocks_.contains(block))
        return Assigned::late;
    find_usable(at == open_.end() ? nullptr : &at->second, request.length, now);
    const bool some_end = at != open_.end() && usable_.size() < at->second.files.size();
    // What ends stays open until a file can be begun in its place.
    const bool may_open = (usable_.empty() || some_end) && keeper_.may_open();
    if (usable_.empty() && !may_open) return Assigned::nowhere;
    if (some_end && may_open) close_ended(at->second);
    if (usable_.empty()) {
        if (at != open_.end()) open_.erase(at);
        auto opened = keeper_.open_next(tag_, block, format_);
        if (!opened) return Assigned::nowhere;
        ++files_opened_;
        usable_.push_back({0, opened.get()});
        at = open_.emplace(block, Open{{std::move(opened)}, now, {}}).first;
        forget_old_blocks(block);
    } else {
        open_further(at->second, block, now);
    }
    for (const auto& candidate : usable_) {
        if (!candidate.file->assign(request, place)) continue;  // no memory for it, or it has failed
        at->second.last_event = now;
        file = *std::ranges::find(at->second.files, candidate.file, &std::shared_ptr<StreamFile>::get);
        return Assigned::yes;
    }
    return Assigned::full;
}

/// Those that take an event of this length, the one that waits for the fewest bytes first.
void Stream::find_usable(const Open* open, std::uint64_t length, SteadyTime now) {
    usable_.clear();
    if (open == nullptr) return;
    for (const auto& file : open->files) {
        if (!file->takes_more() || is_full(*file, length, now)) continue;
        const auto bytes = keeper_.files_per_stream() > 1 ? file->bytes_not_durable() : 0;
        usable_.insert(std::ranges::upper_bound(usable_, bytes, {}, &Backlog::bytes), {bytes, file.get()});
    }
}

/// Those that find_usable() did not find.
void Stream::close_ended(Open& open) {
    std::erase_if(open.files, [&](std::shared_ptr<StreamFile>& file) {
        if (std::ranges::find(usable_, file.get(), &Backlog::file) != usable_.end()) return false;
        keeper_.close_later(std::move(file), false);
        return true;
    });
}

/// A file that is not open yet waits for no bytes: it is opened when each open one does, and a volume may take it.
void Stream::open_further(Open& open, LumiBlock block, SteadyTime now) {
    if (open.files.size() >= keeper_.files_per_stream() || usable_.front().bytes == 0 || now < open.next_further)
        return;
    if (!keeper_.may_open_beside(open.files)) {
        open.next_further = now + further_retry;
        return;
    }
    auto opened = keeper_.open_next(tag_, block, format_, open.files);
    if (!opened) {
        open.next_further = clock_.now() + further_failed;
        return;
    }
    ++files_opened_;
    usable_.insert(usable_.begin(), {0, opened.get()});
    open.files.push_back(std::move(opened));
}

void Stream::close_files(Open& open, bool last_of_sequence) {
    for (auto& file : open.files) keeper_.close_later(std::move(file), last_of_sequence);
    open.files.clear();
}

void Stream::forget_old_blocks(LumiBlock keep) {
    // A sender that jumps between blocks costs files, never memory.
    while (open_.size() > options_.lumi_blocks_open_max) {
        const auto oldest = std::ranges::min_element(
            open_, {}, [&](const auto& o) { return std::pair(o.first == keep, o.second.last_event); });
        closed_blocks_.insert(oldest->first);
        close_files(oldest->second, closed_block_is_final());
        open_.erase(oldest);
    }
    while (closed_blocks_.size() > closed_blocks_kept) closed_blocks_.erase(closed_blocks_.begin());
}

void Stream::close_due() {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    for (auto at = open_.begin(); at != open_.end();) {
        auto& open = at->second;
        if (tag_.obeys_lumi_block && blocks_.over(at->first, open.last_event, now)) {
            closed_blocks_.insert(at->first);
            close_files(open, closed_block_is_final());
        } else {
            std::erase_if(open.files, [&](std::shared_ptr<StreamFile>& file) {
                const bool aged = options_.file_age_max.count() > 0 && file->counts().events > 0 &&
                                  now - file->opened_at() >= options_.file_age_max;
                if (!aged && file->takes_more()) return false;
                keeper_.close_later(std::move(file), false);
                return true;
            });
        }
        at = open.files.empty() ? open_.erase(at) : std::next(at);
    }
}

void Stream::close_all(bool run_ends) {
    const std::scoped_lock lock(mutex_);
    for (auto& [block, open] : open_) close_files(open, run_ends);
    open_.clear();
}

std::uint64_t Stream::files_open() const {
    const std::scoped_lock lock(mutex_);
    std::uint64_t files = 0;
    for (const auto& [block, open] : open_) files += open.files.size();
    return files;
}

std::uint64_t Stream::files_opened() const {
    const std::scoped_lock lock(mutex_);
    return files_opened_;
}

}  // namespace weir::recorder
