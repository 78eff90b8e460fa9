// SPDX-License-Identifier: Apache-2.0
#include "accounts/lumi_blocks.hpp"

#include <utility>

namespace weir::recorder {

void LumiBlocks::saw(LumiBlock block, SteadyTime now) {
    if (number(block) < above_newest_.load(std::memory_order_relaxed)) return;
    const std::scoped_lock lock(mutex_);
    if (!steps_.empty() && block <= steps_.back().newest) return;
    above_newest_.store(std::uint64_t{number(block)} + 1, std::memory_order_relaxed);
    if (steps_.size() == steps_max) steps_.pop_back();  // it closes later, and memory stays bounded
    steps_.push_back({block, now});
}

std::uint64_t LumiBlocks::below(SteadyTime now) {
    while (!steps_.empty() && now - steps_.front().since >= grace_) {
        settled_ = number(steps_.front().newest);
        if (steps_.size() == 1) break;  // the newest stays, to know what is newer
        steps_.pop_front();
    }
    return settled_;
}

bool LumiBlocks::over(LumiBlock block, SteadyTime last_event, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    return number(block) < below(now) && now - last_event >= grace_;
}

void LumiBlocks::file_opened(const StreamTag& stream, LumiBlock block, SteadyTime now) {
    if (!stream.obeys_lumi_block) return;
    const std::scoped_lock lock(mutex_);
    auto& row = rows_[{block, stream.type, stream.name}];
    ++row.files_open;
    row.changed = now;
}

void LumiBlocks::file_closed(const std::string& stream_type, const std::string& stream_name, LumiBlock block,
                             SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    const auto row = rows_.find({block, stream_type, stream_name});
    if (row == rows_.end()) return;
    if (row->second.files_open > 0) --row->second.files_open;
    row->second.changed = now;
}

void LumiBlocks::restore(const catalogue::BlocksClosed::Block& block, std::uint64_t files_open, SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    rows_.insert_or_assign({block.lumi_block, block.stream_type, block.stream_name}, Row{files_open, now});
}

std::optional<catalogue::BlocksClosed> LumiBlocks::take_closed(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    catalogue::BlocksClosed closed;
    closed.below = below(now);
    for (auto at = rows_.begin(); at != rows_.end() && number(std::get<0>(at->first)) < closed.below;) {
        const auto& [block, type, name] = at->first;
        if (at->second.files_open > 0 || now - at->second.changed < grace_) {
            ++at;
            continue;
        }
        closed.blocks.push_back({type, name, block});
        at = rows_.erase(at);
    }
    if (closed.blocks.empty() && closed.below <= written_below_) return std::nullopt;
    written_below_ = closed.below;
    return closed;
}

void LumiBlocks::not_written(const catalogue::BlocksClosed& closed) {
    const std::scoped_lock lock(mutex_);
    for (const auto& block : closed.blocks) rows_.try_emplace({block.lumi_block, block.stream_type, block.stream_name});
    written_below_ = 0;
}

}  // namespace weir::recorder
