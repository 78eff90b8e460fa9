// SPDX-License-Identifier: Apache-2.0
// The stations around a supervisor and its units, as small as they can be, for a simulated network: a readout that
// answers (or not yet, or never), a DFM that gives credit and keeps the decisions, a unit whose workers need
// no threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "weir/base/endian.hpp"
#include "weir/messaging/testing/simulated_network.hpp"
#include "weir/selection/selection_unit.hpp"
#include "weir/selection/supervisor.hpp"

namespace weir::selection::test {

using testing::SimulatedNetwork;
using wire::StationId;

inline constexpr StationId supervisor_id{1}, assigner_id{2}, readout_id{10}, pseudo_id{15}, unit_id{20};

/// Each of its fragments is four words: source, level-1 id and two more.
class SimpleReadout final : public messaging::MessageHandler {
public:
    SimpleReadout(messaging::Endpoint& endpoint, std::uint32_t not_yet = 0) : endpoint_(endpoint), not_yet_(not_yet) {}

    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::DataRequest request;
        if (message.type != wire::DataflowType::data_request || !decode(message.body, request)) return;
        for (const auto event : request.events) {
            const bool not_yet = asked_[number(event)]++ < not_yet_;
            wire::DataHead head{.request = request.request, .level1_id = event, .robs = {}};
            std::vector<std::byte> data;
            for (const auto rob : request.robs) {
                {
                    const std::scoped_lock lock(mutex_);
                    ++asked_for_[number(rob)];
                }
                const auto state = number(rob) % 100 == 99 ? wire::RobState::lost
                                   : not_yet               ? wire::RobState::not_yet
                                                           : wire::RobState::here;
                head.robs.push_back({rob, state, state == wire::RobState::here ? 16U : 0U});
                if (state != wire::RobState::here) continue;
                data.resize(data.size() + 16);
                store_little(std::span(data), data.size() - 16, number(rob));
                store_little(std::span(data), data.size() - 12, number(event));
            }
            std::vector<std::byte> bytes;
            encode(head, bytes);
            const ConstData pieces[]{bytes, data};
            const bool silent =
                std::ranges::any_of(request.robs, [this](auto rob) { return number(rob) >= silent_from; });
            if (!mute && !silent) endpoint_.send(message.from, wire::DataflowType::data, pieces);
        }
    }
    void on_peer(StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

    std::atomic<bool> mute = false;
    std::atomic<std::uint32_t> silent_from = ~0U;  // it answers no request for a source from this one on

    /// How often each ROB was asked for. Any thread.
    [[nodiscard]] std::map<std::uint32_t, std::uint32_t> asked_for() const {
        const std::scoped_lock lock(mutex_);
        return asked_for_;
    }

private:
    messaging::Endpoint& endpoint_;
    const std::uint32_t not_yet_;
    mutable std::mutex mutex_;
    std::map<std::uint32_t, std::uint32_t> asked_for_;
    std::map<std::uint32_t, std::uint32_t> asked_;
};

/// Keeps the first result of each event, as a pseudo readout does.
class SimplePseudoReadout final : public messaging::MessageHandler {
public:
    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::Level2Result result;
        if (message.type != wire::DataflowType::level2_result || !decode(message.body, result)) return;
        results.emplace(number(result.global_id), std::move(result));
    }
    void on_peer(StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

    std::map<std::uint64_t, wire::Level2Result> results;
};

/// Ends every event at once; its credit is what it ended and `room` more.
class SimpleAssigner final : public messaging::MessageHandler {
public:
    SimpleAssigner(messaging::Endpoint& endpoint, std::uint64_t room) : endpoint_(endpoint), room_(room) {}

    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::Accept accept;
        if (message.type != wire::DataflowType::accept || !decode(message.body, accept)) return;
        for (const auto& ticket : accept.accepted) {
            ++decided;
            accepted[number(ticket.global_id)] = ticket;
            level1.insert(number(ticket.level1_id));
        }
        for (const auto id : accept.rejected) {
            ++decided;
            rejected.insert(number(id));
            level1.insert(number(id));
        }
    }
    void on_peer(StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override {
        if (frozen) return now + std::chrono::milliseconds(1);
        if (credit_ != decided + room_) {
            std::vector<std::byte> bytes;
            encode(wire::AcceptCredit{decided + room_}, bytes);
            if (endpoint_.send_reliably(supervisor_id, wire::DataflowType::accept_credit, bytes))
                credit_ = decided + room_;
        }
        return now + std::chrono::milliseconds(1);
    }

    std::uint64_t decided = 0;
    bool frozen = false;  // ends no event
    std::map<std::uint64_t, wire::EventTicket> accepted;
    std::set<std::uint32_t> rejected, level1;

private:
    messaging::Endpoint& endpoint_;
    const std::uint64_t room_;
    std::uint64_t credit_ = 0;
};

/// A unit that keeps events whose global id is even; its computing takes no time.
class SimpleUnit final : public messaging::MessageHandler, public UnitWorkers {
public:
    SimpleUnit(const UnitOptions& options, messaging::Endpoint& endpoint, const std::vector<Peer>& peers)
        : unit(options, endpoint, *this) {
        unit.set_peers(peers);
        unit.start_run();
    }
    void take(UnitTask task) override { tasks_.push_back(std::move(task)); }
    void take_requested(std::uint64_t id, std::unique_ptr<CollectedEvent> fragments) override {
        requested[id] = std::move(fragments);
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        unit.on_message(message, now);
    }
    void on_peer(StationId peer, messaging::PeerChange change, SteadyTime now) override {
        unit.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        const auto next = unit.step(now);
        if (tasks_.empty() || hangs) return next;
        for (auto& task : std::exchange(tasks_, {})) {
            Judgement judgement;
            const auto id = number(task.data->ticket.global_id);
            judgement.decision.accepted = id % 2 == 0;
            judgement.decision.result.assign(4, std::byte{7});
            judgement.decision.level2_words = {static_cast<std::uint32_t>(id), task.data->missing};
            unit.judged(std::move(task), std::move(judgement));
        }
        return unit.step(now);
    }

    SelectionUnit unit;
    bool hangs = false;
    std::map<std::uint64_t, std::unique_ptr<CollectedEvent>> requested;  // answers, by id

    [[nodiscard]] const std::deque<UnitTask>& tasks() const noexcept { return tasks_; }

private:
    std::deque<UnitTask> tasks_;
};

inline std::vector<Peer> partition(std::size_t units, std::size_t robs = 12) {
    std::vector<Peer> peers{{.name = "l2sv", .kind = StationKind::supervise, .id = supervisor_id},
                            {.name = "dfm", .kind = StationKind::assign, .id = assigner_id}};
    for (std::uint16_t readout = 0; readout < 2; ++readout) {
        Peer peer{
            .name = "ros", .kind = StationKind::readout, .id = StationId(std::uint16_t(number(readout_id) + readout))};
        for (std::uint32_t rob = 0; rob < robs / 2; ++rob)
            peer.sources.push_back(SourceId{1000U * (readout + 1U) + rob});
        peers.push_back(std::move(peer));
    }
    for (std::size_t i = 0; i < units; ++i)
        peers.push_back({.name = "l2pu-" + std::to_string(i),
                         .kind = StationKind::select,
                         .id = StationId(static_cast<std::uint16_t>(number(unit_id) + i))});
    return peers;
}

/// A supervisor with its surroundings over a network with a seed.
struct SimulatedPartition {
    SimulatedPartition(std::uint64_t seed, const testing::NetworkFaults& faults, const SupervisorOptions& options,
                       std::size_t units, std::uint64_t room = 200,
                       const UnitOptions& unit_options = {.workers = 4, .depth = 2}, bool with_results = false,
                       TriggerSource* triggers = nullptr)
        : net(seed, faults), peers(partition(units)) {
        if (with_results) {
            peers.push_back(
                {.name = "pros", .kind = StationKind::readout, .id = pseudo_id, .sources = {SourceId{0x7b'0001}}});
            net.add(pseudo_id, [this](testing::SimulatedStation&) {
                auto made = std::make_unique<SimplePseudoReadout>();
                pseudo = made.get();
                return made;
            });
        }
        net.add(supervisor_id, [this, options, triggers](testing::SimulatedStation& self) {
            const Reporter report([this](const Report& made) { reports.push_back(made.what); });
            auto made = triggers != nullptr
                            ? std::make_unique<Supervisor>(options, self.endpoint(), *triggers, report)
                            : std::make_unique<Supervisor>(options, self.endpoint(), net.clock(), report);
            made->set_peers(peers, net.clock().now());
            made->start_run(net.clock().now());
            supervisor = made.get();
            return made;
        });
        net.add(assigner_id, [this, room](testing::SimulatedStation& self) {
            auto made = std::make_unique<SimpleAssigner>(self.endpoint(), room);
            assigner = made.get();
            return made;
        });
        for (std::uint16_t i = 0; i < 2; ++i)
            net.add(StationId(std::uint16_t(number(readout_id) + i)), [this, i](testing::SimulatedStation& self) {
                auto made = std::make_unique<SimpleReadout>(self.endpoint());
                readouts[i] = made.get();
                return made;
            });
        for (std::size_t i = 0; i < units; ++i) {
            net.add(StationId(static_cast<std::uint16_t>(number(unit_id) + i)),
                    [this, i, unit_options](testing::SimulatedStation& self) {
                        auto made = std::make_unique<SimpleUnit>(unit_options, self.endpoint(), peers);
                        if (unit.size() <= i) unit.resize(i + 1);
                        unit[i] = made.get();
                        return made;
                    });
        }
        net.start_run(RunNumber{7});
    }

    [[nodiscard]] bool finished() {
        return supervisor->finished() && net.endpoint(supervisor_id).reliable_in_flight() == 0;
    }
    /// Every id was decided, once for each: nothing lost, nothing invented.
    [[nodiscard]] bool all_decided(std::uint64_t events) const { return assigner->level1.size() == events; }

    /// Every accepted event has a result, an empty one when it was accepted without a judgement.
    [[nodiscard]] bool all_have_results() const {
        return std::ranges::all_of(assigner->accepted, [this](const auto& event) {
            const auto found = pseudo->results.find(event.first);
            return found != pseudo->results.end() && found->second.level1_id == event.second.level1_id;
        });
    }
    [[nodiscard]] std::size_t empty_results() const {
        return static_cast<std::size_t>(
            std::ranges::count_if(pseudo->results, [](const auto& result) { return result.second.result.empty(); }));
    }

    std::vector<std::string> reports;  // of the supervisor
    SimulatedNetwork net;
    std::vector<Peer> peers;
    Supervisor* supervisor = nullptr;
    SimpleAssigner* assigner = nullptr;
    SimplePseudoReadout* pseudo = nullptr;
    std::vector<SimpleUnit*> unit;
    SimpleReadout* readouts[2]{};
};

}  // namespace weir::selection::test
