// SPDX-License-Identifier: Apache-2.0
// A whole building farm in one thread: a supervisor that accepts everything, a DFM, builders, readouts, and a place
// where built events become final, over a simulated network.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "weir/building/assigner.hpp"
#include "weir/building/builder.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/messaging/testing/simulated_network.hpp"

namespace weir::building {

using testing::NetworkFaults;
using testing::SimulatedNetwork;
using testing::SimulatedStation;

inline constexpr RunNumber farm_run{7};
inline constexpr wire::StationId supervisor_id{1}, dfm_id{2};
[[nodiscard]] constexpr wire::StationId builder_id(unsigned i) {
    return wire::StationId(static_cast<std::uint16_t>(10 + i));
}
[[nodiscard]] constexpr wire::StationId readout_id(unsigned i) {
    return wire::StationId(static_cast<std::uint16_t>(100 + i));
}
[[nodiscard]] constexpr SourceId source_id(unsigned readout, unsigned k) {
    return SourceId{0x510000 + readout * 16 + k};
}

/// The ROB of a source for an event: the same bytes whenever it is asked for.
inline std::vector<std::byte> farm_rob(SourceId source, Level1Id id, std::size_t words) {
    std::vector<std::uint32_t> data(words);
    for (std::size_t i = 0; i < words; ++i)
        data[i] = number(source) * 2654435761U + number(id) * 40503U + static_cast<std::uint32_t>(i);
    std::vector<std::byte> rob;
    static_cast<void>(event::append_rob(rob, {.source = source, .run = farm_run, .level1_id = id}, data));
    return rob;
}

/// Posts tickets as the DFM's credit allows.
class FarmSupervisor final : public messaging::MessageHandler {
public:
    explicit FarmSupervisor(std::uint64_t events) : events_(events) {}
    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::AcceptCredit credit;
        if (message.type == wire::DataflowType::accept_credit && decode(message.body, credit))
            credit_ = std::max(credit_, credit.credit);
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override {
        while (sent_ < std::min(events_, credit_)) {
            wire::Accept accept;
            const auto count = std::min<std::uint64_t>(std::min(events_, credit_) - sent_, 50);
            for (std::uint64_t i = 1; i <= count; ++i) {
                wire::EventTicket ticket;
                ticket.global_id = GlobalEventId{sent_ + i};
                ticket.level1_id = Level1Id{static_cast<std::uint32_t>(sent_ + i)};
                accept.accepted.push_back(ticket);
            }
            std::vector<std::byte> bytes;
            encode(accept, bytes);
            if (!endpoint->send_reliably(dfm_id, wire::DataflowType::accept, bytes)) break;
            sent_ += count;
        }
        return now + std::chrono::milliseconds(5);
    }
    messaging::Endpoint* endpoint = nullptr;

private:
    std::uint64_t events_, credit_ = 0, sent_ = 0;
};

class FarmReadout final : public messaging::MessageHandler {
public:
    FarmReadout(SimulatedStation& self, unsigned index, unsigned sources, std::size_t words)
        : self_(self), index_(index), sources_(sources), words_(words) {}
    void on_message(const messaging::IncomingMessage& message, SteadyTime) override {
        wire::Clear clear;
        if (message.type == wire::DataflowType::clear && decode(message.body, clear)) {
            for (const auto id : clear.events) cleared.insert(number(id));
            oldest = std::max(oldest, number(clear.oldest));
            return;
        }
        wire::DataRequest request;
        if (message.type != wire::DataflowType::data_request || !decode(message.body, request)) return;
        for (const auto id : request.events) answer(message.from, request.request, id);
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime) override { return std::nullopt; }

    std::set<std::uint32_t> cleared;
    std::uint32_t oldest = 0;

private:
    void answer(wire::StationId to, std::uint64_t request, Level1Id id) {
        wire::DataHead head{.request = request, .level1_id = id, .robs = {}};
        const bool gone = number(id) < oldest || cleared.contains(number(id));
        std::vector<std::byte> robs;
        for (unsigned k = 0; k < sources_; ++k) {
            const auto rob = gone ? std::vector<std::byte>{} : farm_rob(source_id(index_, k), id, words_);
            head.robs.push_back({.source = source_id(index_, k),
                                 .state = gone ? wire::RobState::cleared : wire::RobState::here,
                                 .size = static_cast<std::uint32_t>(rob.size())});
            robs.insert(robs.end(), rob.begin(), rob.end());
        }
        std::vector<std::byte> bytes;
        encode(head, bytes);
        const std::array<ConstData, 2> pieces{bytes, robs};
        self_.endpoint().send(to, wire::DataflowType::data, pieces);
    }
    SimulatedStation& self_;
    unsigned index_, sources_;
    std::size_t words_;
};

/// Where built events go; they are final after a while, as a disk would make them. Outlives its builders.
struct FarmStore {
    std::map<std::uint64_t, std::vector<std::byte>> events;  // by global id: the payload
    std::uint64_t duplicates = 0, incomplete = 0;
};

class FarmBuilder final : public messaging::MessageHandler, public BuiltSink {
public:
    FarmBuilder(SimulatedStation& self, const BuilderOptions& options, const std::vector<Peer>& peers, FarmStore& store,
                std::chrono::nanoseconds final_after)
        : clock_(self.clock()),
          store_(store),
          final_after_(final_after),
          builder(options, self.endpoint(), self.pool(), *this) {
        builder.set_peers(peers, clock_.now());
        builder.start_run(farm_run);
    }
    bool take(std::unique_ptr<BuiltEvent>& event) override {
        if (held_.size() >= 64) return false;
        held_.push_back({clock_.now() + final_after_, std::move(event)});
        return true;
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        builder.on_message(message, now);
    }
    void on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) override {
        builder.on_peer(peer, change, now);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        while (!held_.empty() && held_.front().first <= now) {
            auto& event = *held_.front().second;
            const bool first = store_.events.emplace(number(event.ticket.global_id), event.pieces.to_bytes()).second;
            if (!first) ++store_.duplicates;
            if (event.robs_lost > 0) ++store_.incomplete;
            builder.ended(event.ticket, event.robs_lost > 0, wire::EventOutcome::stored, "");
            held_.pop_front();
        }
        const auto next = builder.step(now);
        return held_.empty() ? next : std::min(next.value_or(held_.front().first), held_.front().first);
    }

private:
    const Clock& clock_;
    FarmStore& store_;
    std::chrono::nanoseconds final_after_;
    std::deque<std::pair<SteadyTime, std::unique_ptr<BuiltEvent>>> held_;

public:
    Builder builder;
};

struct FarmShape {
    std::uint64_t events = 200;
    unsigned readouts = 5, sources = 3, builders = 2;
    std::size_t words = 40;
    BuilderOptions builder{};
    AssignerOptions assigner{.events_max = 256};
};

struct Farm {
    Farm(std::uint64_t seed, const NetworkFaults& faults, const FarmShape& wanted)
        : shape(wanted), supervisor(shape.events), net(seed, faults) {
        peers.push_back({.name = "l2sv", .kind = StationKind::supervise, .id = supervisor_id});
        peers.push_back({.name = "dfm", .kind = StationKind::assign, .id = dfm_id});
        for (unsigned i = 0; i < shape.builders; ++i)
            peers.push_back({.name = "sfi-" + std::to_string(i), .kind = StationKind::build, .id = builder_id(i)});
        for (unsigned i = 0; i < shape.readouts; ++i) {
            Peer peer{.name = "ros-" + std::to_string(i), .kind = StationKind::readout, .id = readout_id(i)};
            for (unsigned k = 0; k < shape.sources; ++k) peer.sources.push_back(source_id(i, k));
            peers.push_back(peer);
        }
        supervisor.endpoint = &net.add(supervisor_id, supervisor).endpoint();
        net.add(dfm_id, [this](SimulatedStation& self) {
            auto made = std::make_unique<Assigner>(shape.assigner, self.endpoint());
            made->set_peers(peers, self.clock().now());
            made->start_run();
            dfm = made.get();
            return made;
        });
        for (unsigned i = 0; i < shape.builders; ++i) {
            net.add(builder_id(i), [this, i](SimulatedStation& self) {
                auto made =
                    std::make_unique<FarmBuilder>(self, shape.builder, peers, store, std::chrono::milliseconds(5));
                builders[i] = &made->builder;
                return made;
            });
        }
        for (unsigned i = 0; i < shape.readouts; ++i) {
            net.add(readout_id(i), [this, i](SimulatedStation& self) {
                auto made = std::make_unique<FarmReadout>(self, i, shape.sources, shape.words);
                readouts[i] = made.get();
                return made;
            });
        }
        net.start_run(farm_run);
    }
    [[nodiscard]] bool finished() const {
        return dfm->counts().stored + dfm->counts().failed >= shape.events && dfm->idle();
    }
    [[nodiscard]] bool run(std::chrono::nanoseconds at_most) {
        return net.run_until([this] { return finished(); }, at_most);
    }
    /// How many events are there, whole, bit for bit what the readouts gave.
    [[nodiscard]] std::uint64_t exact() const {
        std::uint64_t good = 0;
        for (const auto& [id, bytes] : store.events) {
            std::vector<std::byte> expected;
            for (unsigned i = 0; i < shape.readouts; ++i) {
                for (unsigned k = 0; k < shape.sources; ++k) {
                    const auto rob = farm_rob(source_id(i, k), Level1Id{static_cast<std::uint32_t>(id)}, shape.words);
                    expected.insert(expected.end(), rob.begin(), rob.end());
                }
            }
            const auto view = event::EventView::parse(bytes, event::Format::event_5_0);
            if (view && std::ranges::equal(view->payload(), expected)) ++good;
        }
        return good;
    }

    const FarmShape shape;
    std::vector<Peer> peers;
    FarmStore store;
    FarmSupervisor supervisor;
    Assigner* dfm = nullptr;
    std::map<unsigned, Builder*> builders;
    std::map<unsigned, FarmReadout*> readouts;
    SimulatedNetwork net;
};

}  // namespace weir::building
