// SPDX-License-Identifier: Apache-2.0
// What is to be copied next: the files that the catalogue offers, for each destination in an order of its
// own. The smallest priority first; then those on volumes that are not written to, so that reading keeps out
// of the recorder's way when there is a choice; then the oldest. One that failed waits for its time.
//
// No thread and no lock of its own: HandOff holds one. No I/O.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/catalogue/rows.hpp"
#include "weir/catalogue/transfers.hpp"
#include "weir/handoff/priorities.hpp"

namespace weir::handoff {

/// One file and one destination.
struct Job {
    catalogue::FileRow file;
    catalogue::TransferRow row;
    unsigned tries = 1;  // since it came into the plan, with this one
};

class Plan {
public:
    Plan(std::vector<std::string> destinations, Priorities priorities);

    /// The file is not known yet: its rows are wanted with add().
    [[nodiscard]] bool knows(const Guid& guid) const { return files_.contains(guid); }

    /// `rows`: what the catalogue has of this file; missing ones are PENDING. Those that wait for a time wait at
    /// most `wait_max` from `now`; `at_once`: none waits.
    void add(const catalogue::FileRow& file, const std::vector<catalogue::TransferRow>& rows, WallTime wall,
             SteadyTime now, std::chrono::milliseconds wait_max, bool at_once);

    /// Volumes that are being written to.
    void set_busy(std::set<std::string> volumes);

    /// Files that are not in `offered` any more are removed from the plan, but for what is in hand.
    void keep_only(const std::set<Guid>& offered);

    /// The next one to be copied to this destination, which is in hand from then on.
    [[nodiscard]] std::optional<Job> take(std::size_t destination, SteadyTime now);

    /// When something waits for its time: the earliest.
    [[nodiscard]] std::optional<SteadyTime> next_time(std::size_t destination) const;

    /// In hand no more. `again`: not before this time; nothing: it is not tried again (done, or abandoned).
    void end_attempt(std::size_t destination, const catalogue::TransferRow& row, std::optional<SteadyTime> again);

    /// Everything that was not begun for this destination is abandoned. How many.
    std::size_t abandon(std::size_t destination);

    struct Standing {
        std::size_t waiting = 0;  // to be copied, now or later
        std::size_t in_hand = 0;
        std::optional<WallTime> oldest;  // when the oldest of these was closed
    };
    [[nodiscard]] Standing standing(std::size_t destination) const;
    [[nodiscard]] bool is_over(std::size_t destination) const;

    /// A file of the run is to be copied, now or later, or is in hand.
    [[nodiscard]] bool waits_for(RunNumber run) const;
    /// Files that some destination does not have, and may get.
    [[nodiscard]] std::uint64_t incomplete() const;

    /// Every destination has it.
    [[nodiscard]] bool complete(const Guid& guid) const;

private:
    enum class Where { ready, later, in_hand, over };
    struct Copy {
        catalogue::TransferRow row;
        Where where = Where::ready;
        SteadyTime again{};
        unsigned tries = 0;
    };
    struct Entry {
        catalogue::FileRow file;
        int priority = Priorities::usual;
        bool busy = false;
        std::vector<Copy> copies;  // one a destination
    };
    struct Key {
        int priority;
        bool busy;
        WallTime closed;
        Guid guid;
        auto operator<=>(const Key&) const = default;
    };
    static Key key_of(const Entry& entry) {
        return {entry.priority, entry.busy, entry.file.closed.value_or(WallTime{}), entry.file.guid};
    }
    static bool open(const Entry& entry) {
        return std::ranges::any_of(entry.copies, [](const Copy& copy) { return copy.where != Where::over; });
    }
    void insert(std::size_t destination, const Entry& entry);
    void erase(std::size_t destination, const Entry& entry);

    const std::vector<std::string> destinations_;
    const Priorities priorities_;
    std::set<std::string> busy_;
    std::map<Guid, Entry> files_;
    std::vector<std::set<Key>> ready_;  // one a destination
    std::vector<std::set<std::pair<SteadyTime, Guid>>> later_;
};

}  // namespace weir::handoff
