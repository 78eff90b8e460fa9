// SPDX-License-Identifier: Apache-2.0
// What run control knows of the machines of its partition, and of the processes that it has asked for there: which are
// wanted, which machines answer, which are lost. It polls the agents, and is the picture that the polls carry. One lock
// is around all of it; answers of agents come on the thread of the calls.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "hosts/host_messages.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/control/host_launcher.hpp"
#include "weir/control/http_links.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/partition.hpp"
#include "weir/control/run_books.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

/// Any thread, but launch(), adopt(), look_for_left(), step() and end(): one. The partition, the calls and the clock
/// outlive it, and so does what it reports to. It is shared with answers that are under way.
class HostTable : public std::enable_shared_from_this<HostTable> {
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

    /// Where an agent may still be that is not wanted any more.
    struct Former {
        HostPlace place;
        SteadyTime since{};
        std::optional<SteadyTime> polled{};
        bool polling = false;
    };

    struct Host {
        HostEntry entry;          // of a group: `address` is empty until its node is known
        std::uint64_t moves = 0;  // of its address
        std::vector<Former> former;
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

    HostTable(const Partition& partition, HostLauncherOptions options, service::ControlCalls& calls,
              service::ControlCalls& events, Reporter report, const Clock& clock);

    Result<SlotPointer> launch(const LaunchRequest& request);
    /// As of HostLauncher.
    void look_for_left(std::chrono::milliseconds at_most, const std::function<bool()>& wait);
    /// Nothing: none of that name was left.
    SlotPointer adopt(const LaunchRequest& request);
    void terminate(const SlotPointer& slot);
    void kill(const SlotPointer& slot);
    /// It is killed, if it lives, and not wanted any more.
    void drop(const SlotPointer& slot);
    /// What `look_at(slot, its machine)` returns, called under the lock.
    template <class Look>
    auto look(const SlotPointer& slot, const Look& look_at) const {
        const std::scoped_lock lock(mutex_);
        return look_at(*slot, hosts_[slot->host].entry);
    }

    /// The poll that will bring the next report of the station; nothing: it has no process.
    std::optional<std::uint64_t> want_report(const std::string& name);
    /// Nothing: none has come since that poll.
    std::optional<service::StationReport> take_report(const std::string& name, std::uint64_t poll);
    /// What is new in the log of a station.
    std::deque<std::string> take_lines(const std::string& name);

    /// Where the machine of a group is, as its engine has found out.
    void place(std::size_t which, const HostPlace& place);
    [[nodiscard]] std::size_t size() const noexcept { return hosts_.size(); }  // fixed
    /// The machines, with what is known of where they are, if that is anything new since the last call.
    [[nodiscard]] std::optional<std::vector<HostEntry>> new_places();
    /// Why the process was not started: "its machine h3 is not there".
    [[nodiscard]] std::string waits_for(const SlotPointer& slot) const;

    /// Sends the polls and launches that are due, and looks at who is silent.
    void step();
    /// Nothing is wanted any more; waits until all agents that answer know it.
    void end();
    /// As of HostLauncher.
    void leave();
    [[nodiscard]] bool left() const;

    [[nodiscard]] std::optional<std::string> superseded() const;
    [[nodiscard]] std::vector<HostView> view() const;
    [[nodiscard]] std::shared_ptr<RunBooks> books_of(const std::string& recorder, const std::string& directory,
                                                     const std::string& catalogue) const;
    [[nodiscard]] HttpLinks& links() noexcept { return links_; }  // through the agents; of the one thread
    [[nodiscard]] HostEngines* engines() const noexcept { return options_.engines; }

private:
    // Launches, in host_table.cpp. Under the lock, but for address_of(), which takes it.
    [[nodiscard]] SlotPointer slot_of(const std::string& name) const;
    [[nodiscard]] std::size_t choose(const StationEntry& station) const;
    void order(const SlotPointer& slot);
    void send_end(const Slot& slot, bool kill);
    void move_on(const SlotPointer& slot);
    static void finish(const SlotPointer& slot, ProcessEnd end);
    [[nodiscard]] const Host& host_of(const Slot& slot) const { return hosts_[slot.host]; }
    [[nodiscard]] std::optional<std::string> address_of(std::size_t which) const;  // nothing: it is lost

    // Polls, in host_table_polls.cpp. Under the lock.
    [[nodiscard]] HostPoll poll_of(const Host& host) const;
    void send_poll(std::size_t which, SteadyTime now);
    void look_at_silence(Host& host, SteadyTime now);

    // Groups, in host_groups.cpp. Under the lock.
    void end_former(std::size_t which, SteadyTime now);
    [[nodiscard]] std::optional<std::string> group_lacks(const Host& host) const;
    [[nodiscard]] bool group_is_there(const Host& host);

    // What agents have answered; each takes the lock.
    void former_answered(std::size_t which, const std::string& instance, const Result<service::ControlAnswer>& answer);
    void found(std::size_t which, const HostReport& report);
    void ordered(const SlotPointer& slot, std::uint64_t generation, const Result<service::ControlAnswer>& answer);
    /// `moves`: of the machine, when it was asked.
    void take(std::size_t which, std::uint64_t moves, HostReport report);
    /// `by_another`: it obeys another run control.
    void refused(std::size_t which, std::uint64_t moves, const std::string& why, bool by_another, bool answers);

    const Partition& partition_;
    const HostLauncherOptions options_;
    service::ControlCalls& calls_;
    const Reporter report_;
    const Clock& clock_;
    const Commander commander_;
    HttpLinks links_;
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
    bool places_changed_ = true;
    std::set<std::string> groups_complete_;  // that have had as many machines as they want
    std::size_t goodbyes_ = 0;               // that are not answered
    bool leaves_ = false;                    // nothing is sent any more
};

}  // namespace weir::control
