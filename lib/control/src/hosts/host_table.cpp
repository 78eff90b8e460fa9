// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "hosts/host_books.hpp"
#include "hosts/host_choice.hpp"
#include "hosts/host_look.hpp"
#include "weir/base/file.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds hosted_report_deadline{2'000};
constexpr auto order_deadline = 5s;
constexpr Bytes partition_file_max = 1_MiB;
constexpr std::uint64_t generations_of_an_epoch = 1'000'000;

std::string name_of(HostTable::Host::State state) {
    switch (state) {
        case HostTable::Host::State::unknown: return "unknown";
        case HostTable::Host::State::up: return "up";
        case HostTable::Host::State::suspected: return "suspected";
        case HostTable::Host::State::lost: return "lost";
    }
    return {};
}

}  // namespace

HostTable::HostTable(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
                     service::ControlCalls& events, Reporter report, const Clock& clock)
    : partition_(partition),
      options_(std::move(options)),
      calls_(calls),
      report_(std::move(report)),
      clock_(clock),
      commander_{options_.epoch, options_.name, options_.take_over},
      links_(calls, events, hosted_report_deadline, fmt::format("?epoch={}", commander_.epoch)),
      generation_(commander_.epoch * generations_of_an_epoch),
      seen_(clock.now()),
      begun_(seen_),
      now_(seen_),
      homes_(homes_of(partition)) {
    for (const auto& entry : partition.hosts) {
        hosts_.emplace_back();
        auto& host = hosts_.back();
        host.entry = entry;
        if (!entry.in_group()) continue;
        host.entry.address = entry.place.address;
        host.instance = entry.place.instance;
        for (const auto& place : entry.former) host.former.push_back({place, now_, {}, false});
    }
}

Result<HostTable::SlotPointer> HostTable::launch(const LaunchRequest& request) {
    const std::scoped_lock lock(mutex_);
    const auto* station = partition_.find(request.name);
    if (station == nullptr) return fail(Errc::usage, fmt::format("{} is no station", request.name));
    auto slot = std::make_shared<Slot>();
    slot->name = request.name;
    slot->request = request;
    slot->host = choose(*station);
    slot->generation = ++generation_;
    hosts_[slot->host].slots.push_back(slot);
    latest_[slot->name] = slot;
    order(slot);
    return slot;
}

/// Of two of one name the later one: the other was superseded.
void HostTable::found(std::size_t which, const HostReport& report) {
    const std::scoped_lock lock(mutex_);
    if (hosts_[which].entry.in_group() && report.host != hosts_[which].entry.name) return;
    if (!report.processes.empty() && hosts_[which].entry.in_group()) groups_complete_.insert(hosts_[which].entry.group);
    for (const auto& process : report.processes) {
        if (process.end || partition_.find(process.name) == nullptr) continue;
        auto& left = left_[process.name];
        if (left && left->generation >= process.generation) continue;
        left = std::make_shared<Slot>();
        left->name = process.name;
        left->host = which;
        left->generation = process.generation;
        left->ordered = true;
        left->pid = process.pid;
        left->announcement = process.announcement;
    }
    hosts_[which].instance = report.instance;  // whose log is read from its first line
    hosts_[which].state = Host::State::up;
    hosts_[which].answered = now_;
}

void HostTable::look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait) {
    const auto begin = clock_.now();
    std::vector<std::size_t> missing;
    for (std::size_t i = 0; i < hosts_.size(); ++i)
        if (!hosts_[i].entry.address.empty()) missing.push_back(i);
    const auto known = missing.size();
    while (!missing.empty()) {
        std::vector<HostEntry> asked;
        for (const auto i : missing) asked.push_back(hosts_[i].entry);
        const auto reports = look_at_hosts(asked, calls_);
        std::vector<std::size_t> still;
        for (std::size_t k = 0; k < reports.size(); ++k) {
            if (reports[k]) found(missing[k], *reports[k]);
            else still.push_back(missing[k]);
        }
        missing = std::move(still);
        const auto patience = missing.size() == known ? at_most : options_.lost_after;
        if (missing.empty() || clock_.now() - begin >= patience || !wait()) return;
    }
}

HostTable::SlotPointer HostTable::adopt(const LaunchRequest& request) {
    const std::scoped_lock lock(mutex_);
    auto left = left_.extract(request.name);
    if (left.empty()) return nullptr;
    left.mapped()->request = request;
    hosts_[left.mapped()->host].slots.push_back(left.mapped());
    latest_[request.name] = left.mapped();
    return left.mapped();
}

void HostTable::terminate(const SlotPointer& slot) {
    const std::scoped_lock lock(mutex_);
    slot->terminated = true;
    if (slot->end) return;
    if (!slot->ordered) return finish(slot, {0, 0, "was ended before its machine was there"});
    send_end(*slot, false);
}

void HostTable::kill(const SlotPointer& slot) {
    const std::scoped_lock lock(mutex_);
    if (slot->end) return;
    if (slot->ordered) send_end(*slot, true);
    finish(slot, {0, 9, {}});
}

void HostTable::drop(const SlotPointer& slot) {
    kill(slot);
    const std::scoped_lock lock(mutex_);
    std::erase(hosts_[slot->host].slots, slot);
}

/// The poll that will bring the next report of the station; nothing: it has no process.
std::optional<std::uint64_t> HostTable::want_report(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    const auto slot = slot_of(name);
    if (!slot) return std::nullopt;
    auto& host = hosts_[slot->host];
    host.wanted = true;
    slot->report.reset();
    return host.poll + 1;
}

std::optional<service::StationReport> HostTable::take_report(const std::string& name, std::uint64_t poll) {
    const std::scoped_lock lock(mutex_);
    const auto slot = slot_of(name);
    if (!slot || !slot->report || slot->report_poll < poll) return std::nullopt;
    return std::exchange(slot->report, std::nullopt);
}

std::deque<std::string> HostTable::take_lines(const std::string& name) {
    const std::scoped_lock lock(mutex_);
    return std::exchange(lines_[name], {});
}

std::vector<HostView> HostTable::view() const {
    const std::scoped_lock lock(mutex_);
    std::vector<HostView> all;
    for (const auto& host : hosts_) {
        const auto silent = now_ - host.answered.value_or(begun_);
        const auto lacks = group_lacks(host);
        const bool nowhere = host.entry.address.empty();
        all.push_back({host.entry.name, host.entry.address, name_of(host.state),
                       host.trouble.empty() && lacks ? "no station starts: " + *lacks : host.trouble, host.weir,
                       std::chrono::duration<double>(silent).count(),
                       static_cast<std::size_t>(std::ranges::count_if(
                           host.slots, [](const SlotPointer& slot) { return !slot->end.has_value(); })),
                       nowhere || (host.poll > 0 && !host.polling_first), host.answers, host.ends,
                       host.entry.place.node});
    }
    return all;
}

std::shared_ptr<RunBooks> HostTable::books_of(const std::string& recorder, const std::string& directory,
                                              const std::string& catalogue) const {
    const auto which = homes_.at(recorder);
    return std::make_shared<HostBooks>(calls_, hosts_[which].entry.name, commander_, directory, catalogue,
                                       [self = weak_from_this(), which]() -> std::optional<std::string> {
                                           const auto table = self.lock();
                                           return table ? table->address_of(which) : std::nullopt;
                                       });
}

/// Nothing: it is known to be lost, or not where it is.
std::optional<std::string> HostTable::address_of(std::size_t which) const {
    const std::scoped_lock lock(mutex_);
    const auto& host = hosts_[which];
    if (host.state == Host::State::lost || host.superseded || host.entry.address.empty()) return std::nullopt;
    return host.entry.address;
}

std::string HostTable::waits_for(const SlotPointer& slot) const {
    const std::scoped_lock lock(mutex_);
    const auto lacks = group_lacks(host_of(*slot));
    return lacks ? *lacks : fmt::format("its machine {} is not there", host_of(*slot).entry.name);
}

HostTable::SlotPointer HostTable::slot_of(const std::string& name) const {
    const auto found = latest_.find(name);
    return found == latest_.end() || found->second->end ? nullptr : found->second;
}

std::size_t HostTable::choose(const StationEntry& station) const {
    std::vector<HostLoad> loads;
    for (const auto& host : hosts_) loads.push_back({host.state != Host::State::lost, host.slots.size()});
    for (const auto& [name, home] : homes_) ++loads[home].at_home;
    return choose_host(partition_, station, homes_.at(station.name), loads);
}

/// It is not known whether the agent heard it, as long as it has not answered: a second order has another
/// generation.
void HostTable::order(const SlotPointer& slot) {
    if (leaves_) return;
    const auto& host = hosts_[slot->host];
    if (host.state != Host::State::up && host.state != Host::State::suspected) return;
    if (!group_is_there(host)) return;
    auto text = read_text(options_.partition_file, partition_file_max);
    if (!text) return finish(slot, {0, 0, text.error().message()});
    slot->ordered = true;
    const ProcessOrder asked{commander_, slot->name, slot->generation, slot->request.arguments, std::move(*text)};
    calls_.post(host.entry.address, "/processes", to_json(asked), order_deadline,
                [self = weak_from_this(), slot, generation = slot->generation](const auto& answer) {
                    if (const auto table = self.lock()) table->ordered(slot, generation, answer);
                });
}

void HostTable::ordered(const SlotPointer& slot, std::uint64_t generation,
                        const Result<service::ControlAnswer>& answer) {
    const std::scoped_lock lock(mutex_);
    if (slot->end || slot->generation != generation) return;
    if (answer && answer->good()) return;
    if (answer)
        return finish(
            slot, {0, 0, fmt::format("could not be started on {}: {}", host_of(*slot).entry.name, answer->error())});
    if (slot->terminated) return finish(slot, {0, 0, "was ended before it was started"});
    slot->ordered = false;  // what may run of it is not kept
    slot->pid = 0;
    slot->announcement.reset();
    slot->generation = ++generation_;
}

void HostTable::leave() {
    const std::scoped_lock lock(mutex_);
    leaves_ = true;
}

bool HostTable::left() const {
    const std::scoped_lock lock(mutex_);
    return leaves_;
}

void HostTable::send_end(const Slot& slot, bool kill) {
    if (leaves_) return;
    calls_.post(host_of(slot).entry.address, "/end", to_json(EndOrder{commander_, slot.generation, kill}),
                order_deadline, [](const auto&) {});  // one that is killed is in no poll either
}

/// It was not started yet: on another machine, if it may move.
void HostTable::move_on(const SlotPointer& slot) {
    const auto* station = partition_.find(slot->name);
    if (station == nullptr) return;
    const auto other = choose(*station);
    if (other == slot->host) return;
    std::erase(hosts_[slot->host].slots, slot);
    slot->host = other;
    slot->generation = ++generation_;  // polls have told the other machine of later ones than it had
    hosts_[other].slots.push_back(slot);
    order(slot);
}

void HostTable::finish(const SlotPointer& slot, ProcessEnd end) {
    if (!slot->end) slot->end = std::move(end);
}

}  // namespace weir::control
