// SPDX-License-Identifier: Apache-2.0
#include "plan/plan.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::handoff {

Plan::Plan(std::vector<std::string> destinations, Priorities priorities)
    : destinations_(std::move(destinations)),
      priorities_(std::move(priorities)),
      ready_(destinations_.size()),
      later_(destinations_.size()) {}

void Plan::insert(std::size_t destination, const Entry& entry) {
    const auto& copy = entry.copies[destination];
    if (copy.where == Where::ready) ready_[destination].insert(key_of(entry));
    if (copy.where == Where::later) later_[destination].insert({copy.again, entry.file.guid});
}

void Plan::erase(std::size_t destination, const Entry& entry) {
    const auto& copy = entry.copies[destination];
    if (copy.where == Where::ready) ready_[destination].erase(key_of(entry));
    if (copy.where == Where::later) later_[destination].erase({copy.again, entry.file.guid});
}

void Plan::add(const catalogue::FileRow& file, const std::vector<catalogue::TransferRow>& rows, WallTime wall,
               SteadyTime now, std::chrono::milliseconds wait_max, bool at_once) {
    Entry entry{file, priorities_.of(file.stream_type + "_" + file.stream_name), busy_.contains(file.volume), {}};
    for (const auto& destination : destinations_) {
        Copy copy;
        const auto row = std::ranges::find(rows, destination, &catalogue::TransferRow::destination);
        if (row != rows.end()) {
            copy.row = *row;
        } else {
            copy.row.guid = file.guid;
            copy.row.destination = destination;
        }
        if (copy.row.state == catalogue::CopyState::transferred) {
            copy.where = Where::over;
        } else if (copy.row.next_try && *copy.row.next_try > wall && !at_once) {
            copy.where = Where::later;  // the wall clock may have jumped: never longer than wait_max
            copy.again = now + std::min<std::chrono::nanoseconds>(*copy.row.next_try - wall, wait_max);
        }
        entry.copies.push_back(std::move(copy));
    }
    const auto [at, is_new] = files_.emplace(file.guid, std::move(entry));
    WEIR_ASSERT(is_new);
    for (std::size_t d = 0; d < destinations_.size(); ++d) insert(d, at->second);
}

void Plan::set_busy(std::set<std::string> volumes) {
    if (volumes == busy_) return;
    busy_ = std::move(volumes);
    for (auto& [guid, entry] : files_) {
        const bool busy = busy_.contains(entry.file.volume);
        if (busy == entry.busy) continue;
        for (std::size_t d = 0; d < destinations_.size(); ++d) erase(d, entry);
        entry.busy = busy;
        for (std::size_t d = 0; d < destinations_.size(); ++d) insert(d, entry);
    }
}

void Plan::keep_only(const std::set<Guid>& offered) {
    std::erase_if(files_, [&](auto& item) {
        auto& [guid, entry] = item;
        if (offered.contains(guid)) return false;
        if (std::ranges::find(entry.copies, Where::in_hand, &Copy::where) != entry.copies.end()) return false;
        for (std::size_t d = 0; d < destinations_.size(); ++d) erase(d, entry);
        return true;
    });
}

std::optional<Job> Plan::take(std::size_t destination, SteadyTime now) {
    auto& later = later_[destination];
    while (!later.empty() && later.begin()->first <= now) {
        auto& entry = files_.at(later.begin()->second);
        erase(destination, entry);
        entry.copies[destination].where = Where::ready;
        insert(destination, entry);
    }
    auto& ready = ready_[destination];
    if (ready.empty()) return std::nullopt;
    auto& entry = files_.at(ready.begin()->guid);
    erase(destination, entry);
    auto& copy = entry.copies[destination];
    copy.where = Where::in_hand;
    return Job{entry.file, copy.row, ++copy.tries};
}

std::optional<SteadyTime> Plan::next_time(std::size_t destination) const {
    const auto& later = later_[destination];
    return later.empty() ? std::nullopt : std::optional(later.begin()->first);
}

void Plan::end_attempt(std::size_t destination, const catalogue::TransferRow& row, std::optional<SteadyTime> again) {
    auto& entry = files_.at(row.guid);
    auto& copy = entry.copies[destination];
    WEIR_ASSERT(copy.where == Where::in_hand);
    copy.row = row;
    copy.where = again ? Where::later : Where::over;
    if (again) copy.again = *again;
    insert(destination, entry);
}

std::size_t Plan::abandon(std::size_t destination) {
    std::size_t count = 0;
    for (auto& [guid, entry] : files_) {
        auto& copy = entry.copies[destination];
        if (copy.where != Where::ready && copy.where != Where::later) continue;
        erase(destination, entry);
        copy.where = Where::over;
        ++count;
    }
    return count;
}

Plan::Standing Plan::standing(std::size_t destination) const {
    Standing standing;
    for (const auto& [guid, entry] : files_) {
        const auto where = entry.copies[destination].where;
        if (where == Where::over) continue;
        ++(where == Where::in_hand ? standing.in_hand : standing.waiting);
        if (entry.file.transfer_state == catalogue::TransferState::transferred)
            continue;  // not late: the destination is new
        const auto closed = entry.file.closed.value_or(WallTime{});
        if (!standing.oldest || closed < *standing.oldest) standing.oldest = closed;
    }
    return standing;
}

bool Plan::is_over(std::size_t destination) const {
    return std::ranges::none_of(files_,
                                [&](const auto& item) { return item.second.copies[destination].where != Where::over; });
}

bool Plan::waits_for(RunNumber run) const {
    return std::ranges::any_of(files_,
                               [&](const auto& item) { return item.second.file.run == run && open(item.second); });
}

std::uint64_t Plan::incomplete() const {
    return static_cast<std::uint64_t>(
        std::ranges::count_if(files_, [](const auto& item) { return open(item.second); }));
}

bool Plan::complete(const Guid& guid) const {
    const auto found = files_.find(guid);
    return found != files_.end() && std::ranges::all_of(found->second.copies, [](const Copy& copy) {
               return copy.row.state == catalogue::CopyState::transferred;
           });
}

}  // namespace weir::handoff
