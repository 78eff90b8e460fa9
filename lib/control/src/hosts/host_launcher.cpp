// SPDX-License-Identifier: Apache-2.0
#include "weir/control/host_launcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_map>

#include <boost/json/serialize.hpp>

#include "hosts/host_books.hpp"
#include "hosts/host_choice.hpp"
#include "hosts/host_messages.hpp"
#include "weir/base/file.hpp"
#include "weir/control/host_engines.hpp"
#include "weir/control/http_links.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds poll_deadline = 2s;
constexpr std::chrono::milliseconds lost_poll_deadline = 1s;  // a connection that began without an answer waits long
constexpr auto order_deadline = 5s;
constexpr Bytes partition_file_max = 1_MiB;
constexpr std::size_t lines_waiting_max = 10'000;  // of one station
constexpr std::uint64_t generations_of_an_epoch = 1'000'000;

constexpr auto gap_max = 1s;  // more time between two steps is none in which machines were asked
constexpr auto first_look = 2s;

/// Where the station is reached through the agent, in place of an address that only its own machine can use.
std::string through_agent(const std::string& announcement, const HostEntry& host, const std::string& name) {
    auto document = json::parse(announcement);
    if (!document || !document->is_object()) return announcement;
    document->get_object()["control"] = fmt::format("{}/stations/{}", host.address, name);
    return json::serialize(*document);
}

/// How each machine is; nothing of those that do not answer. Waits for them.
std::vector<std::optional<HostReport>> look_at_hosts(const std::vector<HostEntry>& hosts,
                                                     service::ControlCalls& calls) {
    std::vector<std::future<std::optional<HostReport>>> asked;
    for (const auto& host : hosts) {
        const auto promise = std::make_shared<std::promise<std::optional<HostReport>>>();
        asked.push_back(promise->get_future());
        calls.get(host.address, "/host", first_look, [promise](const auto& answer) {
            auto report = answer && answer->good() ? parse_host_report(answer->body)
                                                   : Result<HostReport>(fail(Errc::io, "no answer"));
            promise->set_value(report ? std::optional(std::move(*report)) : std::nullopt);
        });
    }
    std::vector<std::optional<HostReport>> all;
    for (auto& one : asked) all.push_back(one.get());
    return all;
}

}  // namespace

/// What run control knows of all machines. Under one lock; answers come on the thread of the calls.
class HostLauncher::Core : public std::enable_shared_from_this<Core> {
public:
    /// A process that was asked for.
    struct Slot {
        std::string name;
        std::size_t host = 0;
        std::uint64_t generation = 0;
        LaunchRequest request;
        bool ordered = false;  // its agent was asked
        bool terminated = false;
        std::int64_t pid = 0;
        std::optional<std::string> announcement;
        std::optional<ProcessEnd> end;
        std::optional<service::StationReport> report;  // not taken yet
        std::uint64_t report_poll = 0;                 // in which its station was asked
    };
    using SlotPointer = std::shared_ptr<Slot>;

    struct Host {
        HostEntry entry;
        std::uint64_t poll = 0;  // the last that was sent
        bool polling = false, polling_first = true;
        bool superseded = false;             // it obeys another run control
        bool answers = false, ends = false;  // HostView
        bool wanted = false;                 // a report is
        SteadyTime polled{};
        std::optional<SteadyTime> answered{};
        enum class State { unknown, up, suspected, lost } state = State::unknown;
        std::string trouble, weir, instance;
        std::uint64_t log_after = 0;
        std::vector<SlotPointer> slots;  // that are wanted there
    };

    Core(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
         service::ControlCalls& events, Reporter report, const Clock& clock)
        : partition_(partition),
          options_(std::move(options)),
          calls_(calls),
          events_(events),
          report_(std::move(report)),
          clock_(clock),
          commander_{options_.epoch, options_.name, options_.take_over},
          generation_(commander_.epoch * generations_of_an_epoch),
          seen_(clock.now()),
          begun_(seen_),
          now_(seen_),
          homes_(homes_of(partition)) {
        for (const auto& entry : partition.hosts) {
            hosts_.emplace_back();
            hosts_.back().entry = entry;
        }
    }

    [[nodiscard]] std::string transition_query() const { return fmt::format("?epoch={}", commander_.epoch); }

    Result<SlotPointer> launch(const LaunchRequest& request) {
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
    void found(std::size_t which, const HostReport& report) {
        const std::scoped_lock lock(mutex_);
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

    void look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait) {
        const auto begin = clock_.now();
        std::vector<std::size_t> missing;
        for (std::size_t i = 0; i < hosts_.size(); ++i) missing.push_back(i);
        while (true) {
            std::vector<HostEntry> asked;
            for (const auto i : missing) asked.push_back(hosts_[i].entry);
            const auto reports = look_at_hosts(asked, calls_);
            std::vector<std::size_t> still;
            for (std::size_t k = 0; k < reports.size(); ++k) {
                if (reports[k]) found(missing[k], *reports[k]);
                else still.push_back(missing[k]);
            }
            missing = std::move(still);
            const auto patience = missing.size() == hosts_.size() ? at_most : options_.lost_after;
            if (missing.empty() || clock_.now() - begin >= patience || !wait()) return;
        }
    }

    SlotPointer adopt(const LaunchRequest& request) {
        const std::scoped_lock lock(mutex_);
        auto left = left_.extract(request.name);
        if (left.empty()) return nullptr;
        left.mapped()->request = request;
        hosts_[left.mapped()->host].slots.push_back(left.mapped());
        latest_[request.name] = left.mapped();
        return left.mapped();
    }

    void terminate(const SlotPointer& slot) {
        const std::scoped_lock lock(mutex_);
        slot->terminated = true;
        if (slot->end) return;
        if (!slot->ordered) return finish(slot, {0, 0, "was ended before its machine was there"});
        send_end(*slot, false);
    }

    void kill(const SlotPointer& slot) {
        const std::scoped_lock lock(mutex_);
        if (slot->end) return;
        if (slot->ordered) send_end(*slot, true);
        finish(slot, {0, 9, {}});
    }

    void drop(const SlotPointer& slot) {
        kill(slot);
        const std::scoped_lock lock(mutex_);
        std::erase(hosts_[slot->host].slots, slot);
    }

    template <class Look>
    auto look(const SlotPointer& slot, const Look& look_at) const {
        const std::scoped_lock lock(mutex_);
        return look_at(*slot, hosts_[slot->host].entry);
    }

    /// The poll that will bring the next report of the station; nothing: it has no process.
    std::optional<std::uint64_t> want_report(const std::string& name) {
        const std::scoped_lock lock(mutex_);
        const auto slot = slot_of(name);
        if (!slot) return std::nullopt;
        auto& host = hosts_[slot->host];
        host.wanted = true;
        slot->report.reset();
        return host.poll + 1;
    }
    std::optional<service::StationReport> take_report(const std::string& name, std::uint64_t poll) {
        const std::scoped_lock lock(mutex_);
        const auto slot = slot_of(name);
        if (!slot || !slot->report || slot->report_poll < poll) return std::nullopt;
        return std::exchange(slot->report, std::nullopt);
    }

    std::deque<std::string> take_lines(const std::string& name) {
        const std::scoped_lock lock(mutex_);
        return std::exchange(lines_[name], {});
    }

    void step() {
        const std::scoped_lock lock(mutex_);
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
            if (!host.polling && (host.poll == 0 || now - host.polled >= due)) send_poll(i, now);
            if (host.state != Host::State::up && host.state != Host::State::suspected) continue;
            for (const auto& slot : host.slots)
                if (!slot->ordered && !slot->end) order(slot);
        }
    }

    [[nodiscard]] std::optional<std::string> superseded() const {
        const std::scoped_lock lock(mutex_);
        const auto found = std::ranges::find(hosts_, true, &Host::superseded);
        return found == hosts_.end() ? std::nullopt : std::optional(found->trouble);
    }

    [[nodiscard]] std::vector<HostView> view() const {
        const std::scoped_lock lock(mutex_);
        std::vector<HostView> all;
        for (const auto& host : hosts_) {
            const auto silent = now_ - host.answered.value_or(begun_);
            all.push_back({host.entry.name, host.entry.address, name_of(host.state), host.trouble, host.weir,
                           std::chrono::duration<double>(silent).count(),
                           static_cast<std::size_t>(std::ranges::count_if(
                               host.slots, [](const SlotPointer& slot) { return !slot->end.has_value(); })),
                           host.poll > 0 && !host.polling_first, host.answers, host.ends});
        }
        return all;
    }

    /// Nothing is wanted any more; waits until all agents that answer know it.
    void end() {
        std::unique_lock lock(mutex_);
        if (!commands_) return;
        std::vector<std::size_t> told;
        for (std::size_t i = 0; i < hosts_.size(); ++i) {
            hosts_[i].slots.clear();
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
                            const auto core = self.lock();
                            if (!core) return;
                            const std::scoped_lock locked(core->mutex_);
                            core->hosts_[i].ends = answer && answer->good();
                            core->hosts_[i].answers = answer.has_value();
                            if (answer && answer->status == 409) core->hosts_[i].superseded = true;
                            --core->goodbyes_;
                            core->changed_.notify_all();
                        });
        }
        changed_.wait_for(lock, options_.end_deadline + 500ms, [this] { return goodbyes_ == 0; });
    }

    [[nodiscard]] std::shared_ptr<RunBooks> books_of(const std::string& recorder, const std::string& directory,
                                                     const std::string& catalogue) const {
        const auto which = homes_.at(recorder);
        return std::make_shared<HostBooks>(calls_, hosts_[which].entry.address, commander_, directory, catalogue,
                                           [self = weak_from_this(), which] {
                                               const auto core = self.lock();
                                               return core && core->is_there(which);
                                           });
    }

    /// Not known to be lost.
    [[nodiscard]] bool is_there(std::size_t which) const {
        const std::scoped_lock lock(mutex_);
        return hosts_[which].state != Host::State::lost && !hosts_[which].superseded;
    }

    [[nodiscard]] service::ControlCalls& calls() const noexcept { return calls_; }
    [[nodiscard]] HostEngines* engines() const noexcept { return options_.engines; }
    [[nodiscard]] service::ControlCalls& events() const noexcept { return events_; }

private:
    static std::string name_of(Host::State state) {
        switch (state) {
            case Host::State::unknown: return "unknown";
            case Host::State::up: return "up";
            case Host::State::suspected: return "suspected";
            case Host::State::lost: return "lost";
        }
        return {};
    }

    [[nodiscard]] SlotPointer slot_of(const std::string& name) const {
        const auto found = latest_.find(name);
        return found == latest_.end() || found->second->end ? nullptr : found->second;
    }

    std::size_t choose(const StationEntry& station) const {
        std::vector<HostLoad> loads;
        for (const auto& host : hosts_) loads.push_back({host.state != Host::State::lost, host.slots.size()});
        return choose_host(partition_, station, homes_.at(station.name), loads);
    }

    /// It is not known whether the agent heard it, as long as it has not answered: a second order has another
    /// generation.
    void order(const SlotPointer& slot) {
        const auto& host = hosts_[slot->host];
        if (host.state != Host::State::up && host.state != Host::State::suspected) return;
        auto text = read_text(options_.partition_file, partition_file_max);
        if (!text) return finish(slot, {0, 0, text.error().message()});
        slot->ordered = true;
        const ProcessOrder asked{commander_, slot->name, slot->generation, slot->request.arguments, std::move(*text)};
        calls_.post(host.entry.address, "/processes", to_json(asked), order_deadline,
                    [self = weak_from_this(), slot, generation = slot->generation](const auto& answer) {
                        if (const auto core = self.lock()) core->ordered(slot, generation, answer);
                    });
    }

    void ordered(const SlotPointer& slot, std::uint64_t generation, const Result<service::ControlAnswer>& answer) {
        const std::scoped_lock lock(mutex_);
        if (slot->end || slot->generation != generation) return;
        if (answer && answer->good()) return;
        if (answer)
            return finish(
                slot,
                {0, 0, fmt::format("could not be started on {}: {}", host_of(*slot).entry.name, answer->error())});
        if (slot->terminated) return finish(slot, {0, 0, "was ended before it was started"});
        slot->ordered = false;  // what may run of it is not kept
        slot->pid = 0;
        slot->announcement.reset();
        slot->generation = ++generation_;
    }

    void send_end(const Slot& slot, bool kill) {
        calls_.post(host_of(slot).entry.address, "/end", to_json(EndOrder{commander_, slot.generation, kill}),
                    order_deadline, [](const auto&) {});  // one that is killed is in no poll either
    }

    [[nodiscard]] HostPoll poll_of(const Host& host) const {
        HostPoll poll{commander_, host.poll, host.log_after, generation_, {}};
        for (const auto& slot : host.slots)
            if (!slot->end) poll.kept.insert(slot->generation);
        return poll;
    }

    void send_poll(std::size_t which, SteadyTime now) {
        auto& host = hosts_[which];
        host.polling = true;
        host.wanted = false;
        host.polled = now;
        ++host.poll;
        calls_.post(host.entry.address, "/poll", to_json(poll_of(host)),
                    host.state == Host::State::lost ? lost_poll_deadline : poll_deadline,
                    [self = weak_from_this(), which](const auto& answer) {
                        const auto core = self.lock();
                        if (!core) return;
                        if (answer && answer->good()) {
                            auto report = parse_host_report(answer->body);
                            if (report) return core->take(which, std::move(*report));
                            return core->refused(which, report.error().message(), false, true);
                        }
                        core->refused(which, answer ? answer->error() : answer.error().message(),
                                      answer && answer->status == 409, answer.has_value());
                    });
    }

    /// `by_another`: it obeys another run control.
    void refused(std::size_t which, const std::string& why, bool by_another, bool answers) {
        const std::scoped_lock lock(mutex_);
        auto& host = hosts_[which];
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
            if (!slot->ordered)
                finish(slot, {0, 0, fmt::format("could not be started on {}: {}", host.entry.name, why)});
    }

    void take(std::size_t which, HostReport report) {
        const std::scoped_lock lock(mutex_);
        const auto now = now_;
        auto& host = hosts_[which];
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
            update(*slot, *found);
            if (found->end) finish(slot, *found->end);
        }
    }

    static void update(Slot& slot, HostedStatus& seen) {
        slot.pid = seen.pid;
        if (!slot.announcement) slot.announcement = seen.announcement;
        if (seen.report && seen.asked_in) {
            slot.report = std::move(seen.report);
            slot.report_poll = *seen.asked_in;
        }
    }

    void look_at_silence(Host& host, SteadyTime now) {
        const auto silent = now - host.answered.value_or(begun_);
        if (silent < options_.suspected_after || host.state == Host::State::lost) return;
        const auto why = host.trouble.empty() ? "no answer" : host.trouble;
        if (host.state == Host::State::up) {
            host.state = Host::State::suspected;
            report_({.severity = Severity::warning,
                     .what = fmt::format("{} has not answered for {}", host.entry.name,
                                         to_string(options_.suspected_after)),
                     .why = why});
        }
        if (silent < options_.lost_after) return;
        const bool is_brought = !host.answered && host.entry.start.engine != EngineKind::none;
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

    /// It was not started yet: on another machine, if it may move.
    void move_on(const SlotPointer& slot) {
        const auto* station = partition_.find(slot->name);
        if (station == nullptr) return;
        const auto other = choose(*station);
        if (other == slot->host) return;
        std::erase(hosts_[slot->host].slots, slot);
        slot->host = other;
        hosts_[other].slots.push_back(slot);
        order(slot);
    }

    void finish(const SlotPointer& slot, ProcessEnd end) {
        if (!slot->end) slot->end = std::move(end);
    }

    [[nodiscard]] const Host& host_of(const Slot& slot) const { return hosts_[slot.host]; }

    const Partition& partition_;
    const HostLauncherOptions options_;
    service::ControlCalls& calls_;
    service::ControlCalls& events_;
    const Reporter report_;
    const Clock& clock_;
    const Commander commander_;
    std::uint64_t generation_;  // the last that was given
    SteadyTime seen_;           // of the clock, at the last step
    const SteadyTime begun_;
    SteadyTime now_;         // goes on only while run control itself does
    bool commands_ = false;  // since the first step
    const std::map<std::string, std::size_t> homes_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Host> hosts_;
    std::map<std::string, std::deque<std::string>> lines_;  // by station
    std::map<std::string, SlotPointer> left_;               // by a run control before, by name
    std::unordered_map<std::string, SlotPointer> latest_;   // of each station
    std::size_t goodbyes_ = 0;                              // that are not answered
};

class HostLauncher::Process final : public LaunchedProcess {
public:
    Process(std::shared_ptr<Core> core, Core::SlotPointer slot) : core_(std::move(core)), slot_(std::move(slot)) {}
    ~Process() override { core_->drop(slot_); }
    Process(const Process&) = delete;
    Process& operator=(const Process&) = delete;

    [[nodiscard]] std::int64_t pid() const noexcept override {
        return core_->look(slot_, [](const Core::Slot& slot, const HostEntry&) { return slot.pid; });
    }
    [[nodiscard]] std::optional<std::string> announcement() override {
        return core_->look(slot_, [](const Core::Slot& slot, const HostEntry& host) -> std::optional<std::string> {
            if (!slot.announcement) return std::nullopt;
            return through_agent(*slot.announcement, host, slot.name);
        });
    }
    [[nodiscard]] std::optional<ProcessEnd> ended() override {
        return core_->look(slot_, [](const Core::Slot& slot, const HostEntry&) { return slot.end; });
    }
    void terminate() noexcept override { core_->terminate(slot_); }
    void kill() noexcept override { core_->kill(slot_); }
    [[nodiscard]] bool waits() const override {
        return core_->look(slot_, [](const Core::Slot& slot, const HostEntry&) { return !slot.ordered && !slot.end; });
    }
    [[nodiscard]] std::string host() const override {
        return core_->look(slot_, [](const Core::Slot&, const HostEntry& host) { return host.name; });
    }

private:
    const std::shared_ptr<Core> core_;
    const Core::SlotPointer slot_;
};

/// Calls, and reports with events, go to the station through its agent; other reports come with the agent's polls.
class HostLauncher::Link final : public StationLink {
public:
    Link(std::shared_ptr<Core> core, const std::string& address)
        : core_(std::move(core)),
          name_(address.substr(address.rfind('/') + 1)),
          direct_(HttpLinks(core_->calls(), core_->events(), poll_deadline, core_->transition_query()).open(address)) {}

    void call(const service::StationRequest& request) override { direct_->call(request); }
    [[nodiscard]] std::optional<CallAnswer> answer() override { return direct_->answer(); }
    void ask(bool with_events) override {
        direct_asked_ = with_events;
        if (with_events) direct_->ask(true);
        else poll_ = core_->want_report(name_);
    }
    [[nodiscard]] std::optional<Result<service::StationReport>> report() override {
        if (direct_asked_) return direct_->report();
        if (!poll_) return std::nullopt;
        auto report = core_->take_report(name_, *poll_);
        if (!report) return std::nullopt;
        poll_.reset();
        return Result<service::StationReport>(std::move(*report));
    }

private:
    const std::shared_ptr<Core> core_;
    const std::string name_;
    const std::unique_ptr<StationLink> direct_;
    bool direct_asked_ = false;
    std::optional<std::uint64_t> poll_;
};

class HostLauncher::Lines final : public LogLines {
public:
    Lines(std::shared_ptr<Core> core, std::string name) : core_(std::move(core)), name_(std::move(name)) {}
    void read(const std::function<void(std::string_view line)>& line) override {
        for (const auto& text : core_->take_lines(name_)) line(text);
    }

private:
    const std::shared_ptr<Core> core_;
    const std::string name_;
};

std::uint64_t HostLauncher::next_epoch(const Partition& partition, std::uint64_t at_least,
                                       service::ControlCalls& calls) {
    for (const auto& report : look_at_hosts(partition.hosts, calls))
        if (report && report->commander) at_least = std::max(at_least, report->commander->epoch + 1);
    return at_least;
}

void HostLauncher::look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait) {
    core_->look_for_left(at_most, wait);
}

std::unique_ptr<LaunchedProcess> HostLauncher::adopt(const LaunchRequest& request) {
    auto slot = core_->adopt(request);
    return slot ? std::make_unique<Process>(core_, std::move(slot)) : nullptr;
}

HostLauncher::HostLauncher(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
                           service::ControlCalls& events, Reporter report, const Clock& clock)
    : core_(std::make_shared<Core>(partition, std::move(options), calls, events, std::move(report), clock)) {}

HostLauncher::~HostLauncher() {
    auto* engines = core_->engines();
    if (engines != nullptr) engines->settle();
    core_->end();
    // Machines that do not answer may obey that one too, in jobs that it counts on.
    if (engines != nullptr && !core_->superseded()) engines->end(core_->view());
}

Result<std::unique_ptr<LaunchedProcess>> HostLauncher::launch(const LaunchRequest& request) {
    auto slot = WEIR_TRY(core_->launch(request));
    return std::make_unique<Process>(core_, std::move(slot));
}

std::unique_ptr<LogLines> HostLauncher::log_of(const LaunchRequest& request) {
    return std::make_unique<Lines>(core_, request.name);
}

std::shared_ptr<RunBooks> HostLauncher::books_of(const std::string& recorder, const std::string& directory,
                                                 const std::string& catalogue) const {
    return core_->books_of(recorder, directory, catalogue);
}

void HostLauncher::step() {
    core_->step();
    if (core_->engines() != nullptr) core_->engines()->step(core_->view());
}

std::unique_ptr<StationLink> HostLauncher::open(const std::string& address) {
    return std::make_unique<Link>(core_, address);
}

std::optional<std::string> HostLauncher::superseded() const { return core_->superseded(); }

std::vector<HostView> HostLauncher::view() const { return core_->view(); }

}  // namespace weir::control
