// SPDX-License-Identifier: Apache-2.0
#include "streams/stream.hpp"

#include <algorithm>
#include <utility>

#include "weir/event/rotation.hpp"

namespace weir::recorder {
namespace {

constexpr std::size_t closed_blocks_kept = 4096;

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
    const bool ends =
        at != open_.end() && (!at->second.file->takes_more() || is_full(*at->second.file, request.length, now));
    if (at == open_.end() && options_.late == LatePolicy::reject && closed_blocks_.contains(block))
        return Assigned::late;
    if ((ends || at == open_.end()) && !keeper_.may_open()) return Assigned::nowhere;
    if (ends) {
        keeper_.close_later(std::move(at->second.file), false);
        open_.erase(at);
        at = open_.end();
    }
    if (at == open_.end()) {
        auto opened = keeper_.open_next(tag_, block, format_);
        if (!opened) return Assigned::nowhere;
        ++files_opened_;
        at = open_.emplace(block, Open{std::move(opened), now}).first;
        forget_old_blocks(block);
        at = open_.find(block);
    }
    if (!at->second.file->assign(request, place)) return Assigned::full;
    at->second.last_event = now;
    file = at->second.file;
    return Assigned::yes;
}

void Stream::forget_old_blocks(LumiBlock keep) {
    // A sender that jumps between blocks costs files, never memory.
    while (open_.size() > options_.lumi_blocks_open_max) {
        const auto oldest = std::ranges::min_element(
            open_, {}, [&](const auto& o) { return std::pair(o.first == keep, o.second.last_event); });
        closed_blocks_.insert(oldest->first);
        keeper_.close_later(std::move(oldest->second.file), closed_block_is_final());
        open_.erase(oldest);
    }
    while (closed_blocks_.size() > closed_blocks_kept) closed_blocks_.erase(closed_blocks_.begin());
}

void Stream::close_due() {
    const std::scoped_lock lock(mutex_);
    const auto now = clock_.now();
    for (auto at = open_.begin(); at != open_.end();) {
        const bool block_is_over = tag_.obeys_lumi_block && blocks_.over(at->first, at->second.last_event, now);
        const bool aged = options_.file_age_max.count() > 0 && at->second.file->counts().events > 0 &&
                          now - at->second.file->opened_at() >= options_.file_age_max;
        if (!block_is_over && !aged && at->second.file->takes_more()) {
            ++at;
            continue;
        }
        if (block_is_over) closed_blocks_.insert(at->first);
        keeper_.close_later(std::move(at->second.file), block_is_over && closed_block_is_final());
        at = open_.erase(at);
    }
}

void Stream::close_all(bool run_ends) {
    const std::scoped_lock lock(mutex_);
    for (auto& [block, open] : open_) keeper_.close_later(std::move(open.file), run_ends);
    open_.clear();
}

std::uint64_t Stream::files_opened() const {
    const std::scoped_lock lock(mutex_);
    return files_opened_;
}

}  // namespace weir::recorder
