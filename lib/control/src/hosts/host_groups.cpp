// SPDX-License-Identifier: Apache-2.0
// Machines whose nodes an engine chooses: where they are, where their agents were before, and how many of a group are
// there.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hosts/host_table.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto former_poll = 1s;
constexpr auto former_deadline = 1s;
constexpr auto former_kept = 15min;  // an agent that hears nobody has ended by then
constexpr std::size_t former_max = 8;

}  // namespace

/// Its agent is not there, or not known yet: an engine is asked only then.
void HostTable::place(std::size_t which, const HostPlace& place) {
    const std::scoped_lock lock(mutex_);
    auto& host = hosts_[which];
    auto& known = host.entry.place;
    const bool moves = place.address != known.address || place.job != known.job;
    if (!moves && place.node == known.node) return;
    if (moves && !host.instance.empty() && !known.address.empty()) {
        if (host.former.size() >= former_max) host.former.erase(host.former.begin());
        host.former.push_back({known, now_, {}, false});
        host.former.back().place.instance = host.instance;
    }
    if (moves) {
        ++host.moves;  // what is under way to the old one is not heard
        host.polling = false;
        host.polling_first = true;
        host.answers = false;
        host.instance.clear();
        host.log_after = 0;
        host.trouble.clear();
    }
    places_changed_ = true;
    known = place;
    known.instance.clear();
    host.entry.address = place.address;
}

/// One after the other: an agent that is not wanted any more and comes back ends what it has, and itself.
void HostTable::end_former(std::size_t which, SteadyTime now) {
    auto& host = hosts_[which];
    if (std::erase_if(host.former, [&](const Former& former) { return now - former.since >= former_kept; }) > 0)
        places_changed_ = true;
    for (auto& former : host.former) {
        if (former.polling || (former.polled && now - *former.polled < former_poll)) continue;
        former.polling = true;
        former.polled = now;
        HostPoll poll{commander_, ++host.poll, 0, generation_, {}, true, host.entry.name, former.place.instance};
        calls_.post(former.place.address, "/poll", to_json(poll), former_deadline,
                    [self = weak_from_this(), which, instance = former.place.instance](const auto& answer) {
                        if (const auto table = self.lock()) table->former_answered(which, instance, answer);
                    });
    }
}

void HostTable::former_answered(std::size_t which, const std::string& instance,
                                const Result<service::ControlAnswer>& answer) {
    const std::scoped_lock lock(mutex_);
    auto& former = hosts_[which].former;
    const auto found = std::ranges::find(former, instance, [](const Former& one) { return one.place.instance; });
    if (found == former.end()) return;
    found->polling = false;
    const bool another = answer && answer->status == misdirected;
    if (!answer || (!answer->good() && !another)) return;
    if (!another)
        report_({.severity = Severity::information,
                 .what = fmt::format("{} was on {} before, and its agent there has ended its stations",
                                     hosts_[which].entry.name, found->place.node),
                 .where = found->place.address});
    former.erase(found);
    places_changed_ = true;
}

std::optional<std::vector<HostEntry>> HostTable::new_places() {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(places_changed_, false)) return std::nullopt;
    std::vector<HostEntry> all;
    for (const auto& host : hosts_) {
        all.push_back(host.entry);
        all.back().place.instance = host.instance;
        all.back().former.clear();
        for (const auto& former : host.former) all.back().former.push_back(former.place);
    }
    return all;
}

/// Nothing: a station of its group may be started. Once enough were there, it stays so: a loss later is one of a
/// machine.
std::optional<std::string> HostTable::group_lacks(const Host& host) const {
    if (host.entry.group_min == 0 || groups_complete_.contains(host.entry.group)) return std::nullopt;
    const auto there = std::ranges::count_if(hosts_, [&](const Host& other) {
        return other.entry.group == host.entry.group &&
               (other.state == Host::State::up || other.state == Host::State::suspected);
    });
    if (static_cast<std::size_t>(there) >= host.entry.group_min) return std::nullopt;
    return fmt::format("{} of the machines of {} {} there, and min = {}", there, host.entry.group,
                       there == 1 ? "is" : "are", host.entry.group_min);
}

bool HostTable::group_is_there(const Host& host) {
    if (group_lacks(host)) return false;
    if (host.entry.group_min > 0) groups_complete_.insert(host.entry.group);
    return true;
}

}  // namespace weir::control
