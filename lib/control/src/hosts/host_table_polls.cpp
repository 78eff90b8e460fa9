// SPDX-License-Identifier: Apache-2.0
// The polls of the agents, and what they mean: which machines answer, are silent, are lost.
#include <fmt/format.h>

#include <algorithm>

#include "hosts/host_table.hpp"
#include "weir/control/host_engines.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds poll_deadline = 2s;
constexpr std::chrono::milliseconds lost_poll_deadline = 1s;  // a connection that began without an answer waits long
constexpr std::size_t lines_waiting_max = 10'000;             // of one station
constexpr auto gap_max = 1s;  // more time between two steps is none in which machines were asked

void update_slot(HostTable::Slot& slot, HostedStatus& seen) {
    slot.pid = seen.pid;
    if (!slot.announcement) slot.announcement = seen.announcement;
    if (seen.report && seen.asked_in) {
        slot.report = std::move(seen.report);
        slot.report_poll = *seen.asked_in;
    }
}

}  // namespace

void HostTable::step() {
    const std::scoped_lock lock(mutex_);
    if (leaves_) return;
    const auto seen = clock_.now();
    commands_ = true;
    now_ += std::min<SteadyTime::duration>(seen - seen_, gap_max);  // who does not ask hears no silence
    seen_ = seen;
    const auto now = now_;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        auto& host = hosts_[i];
        look_at_silence(host, now);
        const auto due = host.wanted ? options_.poll / 4 : options_.poll;
        if (host.superseded) continue;
        if (!host.former.empty()) end_former(i, now);
        if (host.entry.address.empty()) continue;
        if (!host.polling && (host.poll == 0 || now - host.polled >= due)) send_poll(i, now);
        if (host.state != Host::State::up && host.state != Host::State::suspected) continue;
        for (const auto& slot : host.slots)
            if (!slot->ordered && !slot->end) order(slot);
    }
}

std::optional<std::string> HostTable::superseded() const {
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(hosts_, true, &Host::superseded);
    return found == hosts_.end() ? std::nullopt : std::optional(found->trouble);
}

/// Nothing is wanted any more; waits until all agents that answer know it.
void HostTable::end() {
    std::unique_lock lock(mutex_);
    if (!commands_ || leaves_) return;
    std::vector<std::size_t> told;
    for (std::size_t i = 0; i < hosts_.size(); ++i) {
        hosts_[i].slots.clear();
        if (hosts_[i].entry.address.empty()) continue;
        if (hosts_[i].state == Host::State::up || hosts_[i].state == Host::State::suspected ||
            (options_.engines != nullptr && options_.engines->has_begun(i)))
            told.push_back(i);
    }
    goodbyes_ = told.size();
    for (const auto i : told) {
        ++hosts_[i].poll;
        hosts_[i].ends = hosts_[i].answers = false;
        auto last = poll_of(hosts_[i]);
        last.last = true;
        calls_.post(hosts_[i].entry.address, "/poll", to_json(last), options_.end_deadline,
                    [self = weak_from_this(), i](const auto& answer) {
                        const auto table = self.lock();
                        if (!table) return;
                        const std::scoped_lock locked(table->mutex_);
                        table->hosts_[i].ends = answer && answer->good();
                        if (table->hosts_[i].ends) table->hosts_[i].instance.clear();  // it is none to be looked for
                        table->places_changed_ = true;
                        table->hosts_[i].answers = answer.has_value();
                        if (answer && answer->status == 409) table->hosts_[i].superseded = true;
                        --table->goodbyes_;
                        table->changed_.notify_all();
                    });
    }
    changed_.wait_for(lock, options_.end_deadline + 500ms, [this] { return goodbyes_ == 0; });
}

HostPoll HostTable::poll_of(const Host& host) const {
    HostPoll poll{commander_, host.poll, host.log_after, generation_, {}};
    for (const auto& slot : host.slots)
        if (!slot->end) poll.kept.insert(slot->generation);
    if (host.entry.in_group()) {  // its address may be that of another machine by now
        poll.machine = host.entry.name;
        poll.instance = host.instance;
    }
    return poll;
}

void HostTable::send_poll(std::size_t which, SteadyTime now) {
    auto& host = hosts_[which];
    host.polling = true;
    host.wanted = false;
    host.polled = now;
    ++host.poll;
    calls_.post(host.entry.address, "/poll", to_json(poll_of(host)),
                host.state == Host::State::lost ? lost_poll_deadline : poll_deadline,
                [self = weak_from_this(), which, moves = host.moves](const auto& answer) {
                    const auto table = self.lock();
                    if (!table) return;
                    if (answer && answer->good()) {
                        auto report = parse_host_report(answer->body);
                        if (report) return table->take(which, moves, std::move(*report));
                        return table->refused(which, moves, report.error().message(), false, true);
                    }
                    table->refused(which, moves, answer ? answer->error() : answer.error().message(),
                                   answer && answer->status == 409, answer && answer->status != misdirected);
                });
}

void HostTable::refused(std::size_t which, std::uint64_t moves, const std::string& why, bool by_another, bool answers) {
    const std::scoped_lock lock(mutex_);
    auto& host = hosts_[which];
    if (host.moves != moves) return;
    host.polling = host.polling_first = false;
    host.answers = answers;
    host.superseded = why.starts_with("superseded");
    if (host.superseded)
        report_({.severity = Severity::error,
                 .what = fmt::format("{} obeys another run control", host.entry.name),
                 .why = why,
                 .advice = "this one can do nothing there any more; end it",
                 .alarm = fmt::format("superseded on {}", host.entry.name)});
    host.trouble = why;
    if (!by_another) return;
    for (const auto& slot : host.slots)
        if (!slot->ordered) finish(slot, {0, 0, fmt::format("could not be started on {}: {}", host.entry.name, why)});
}

void HostTable::take(std::size_t which, std::uint64_t moves, HostReport report) {
    const std::scoped_lock lock(mutex_);
    const auto now = now_;
    auto& host = hosts_[which];
    if (host.moves != moves) return;
    host.polling = host.polling_first = false;
    host.answers = true;
    host.trouble.clear();
    host.weir = report.weir;
    if (report.weir != WEIR_VERSION) {
        host.trouble = fmt::format("its agent is weir {}, run control is {}; install one version on all machines",
                                   report.weir, WEIR_VERSION);
        return;  // its silence goes on
    }
    const bool new_agent = host.instance != report.instance;
    if (new_agent && !host.instance.empty()) host.log_after = 0;
    if (new_agent && host.instance.empty() && report.log_last > 0 && host.log_after == 0) {
        host.log_after = report.log_last;  // what was before is of another run control
        report.log.clear();
    }
    host.instance = report.instance;
    if (new_agent) places_changed_ = true;
    if (host.state == Host::State::lost || host.state == Host::State::suspected)
        report_({.severity = Severity::information, .what = fmt::format("{} answers again", host.entry.name)});
    host.state = Host::State::up;
    host.answered = now;
    for (auto& line : report.log) {
        host.log_after = std::max(host.log_after, line.number);
        auto& lines = lines_[line.station];
        if (lines.size() < lines_waiting_max) lines.push_back(std::move(line.text));
    }
    for (const auto& slot : std::vector(host.slots)) {
        if (slot->end || !slot->ordered) continue;
        const auto found = std::ranges::find(report.processes, slot->generation, &HostedStatus::generation);
        if (found == report.processes.end()) {
            if (slot->pid == 0) continue;  // not started yet
            finish(slot, {0, 0,
                          new_agent ? fmt::format("ended with the agent of {}", host.entry.name)
                                    : fmt::format("is not known on {} any more", host.entry.name)});
            continue;
        }
        update_slot(*slot, *found);
        if (found->end) finish(slot, *found->end);
    }
}

void HostTable::look_at_silence(Host& host, SteadyTime now) {
    const auto silent = now - host.answered.value_or(begun_);
    if (silent < options_.suspected_after || host.state == Host::State::lost) return;
    const auto silence = host.entry.address.empty() ? "no job of it runs yet" : "no answer";
    const auto why = host.trouble.empty() ? silence : host.trouble;
    if (host.state == Host::State::up) {
        host.state = Host::State::suspected;
        report_(
            {.severity = Severity::warning,
             .what = fmt::format("{} has not answered for {}", host.entry.name, to_string(options_.suspected_after)),
             .why = why});
    }
    if (silent < options_.lost_after) return;
    // What another run control left is there already, or lost.
    const bool is_brought = !host.answered && host.entry.start.engine != EngineKind::none && !options_.take_over;
    if (is_brought && silent < options_.brought_within) return;
    const bool was_there = host.state == Host::State::suspected;
    host.state = Host::State::lost;
    report_({.severity = Severity::error,
             .what = fmt::format("{} {}", host.entry.name, was_there ? "is lost" : "is not there"),
             .where = host.entry.address,
             .why = why,
             .advice = "stations that may move start elsewhere, the others wait for it",
             .alarm = fmt::format("{} is lost", host.entry.name)});
    for (const auto& slot : std::vector(host.slots)) {
        if (slot->end) continue;
        if (slot->ordered) finish(slot, {0, 0, fmt::format("is lost with {}: {}", host.entry.name, why)});
        else move_on(slot);
    }
}

}  // namespace weir::control
