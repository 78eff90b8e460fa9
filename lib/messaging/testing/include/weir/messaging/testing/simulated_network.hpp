// SPDX-License-Identifier: Apache-2.0
// A partition in one thread: stations with an Endpoint each, under a clock that only moves here, over a network that
// loses, duplicates, delays, reorders and damages datagrams, chosen by a seed. The same seed gives the same run. For
// tests only.
//
//     SimulatedNetwork net(seed, {.loss = 0.05, .jitter = 200us});
//     net.add(StationId{1}, logic);                 // logic is a MessageHandler
//     net.add(StationId{2}, [](SimulatedStation& self) { return std::make_unique<Builder>(self.endpoint(), ...); });
//     net.start_run(RunNumber{7});
//     ASSERT_TRUE(net.run_until([&] { return logic.finished(); }, 10s));
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/messaging/endpoint.hpp"

namespace weir::testing {

struct NetworkFaults {
    double loss = 0;  // of all datagrams
    double duplicate = 0;
    double corrupt = 0;  // a byte changed, or the end cut off
    double late = 0;     // delayed by up to 20 times the jitter more: far out of order
    std::chrono::nanoseconds delay = std::chrono::microseconds(50);
    std::chrono::nanoseconds jitter = std::chrono::nanoseconds(0);  // up to this much more, for each datagram
    std::size_t datagram_max = 1472;
    std::size_t queue_max = 4096;  // datagrams that wait for a station that is paused; more are lost
};

class SimulatedNetwork;

class SimulatedStation {
public:
    [[nodiscard]] wire::StationId id() const noexcept { return id_; }
    [[nodiscard]] const Clock& clock() const noexcept;
    /// Of the process that runs now: another one after a restart.
    [[nodiscard]] messaging::Endpoint& endpoint() noexcept;
    [[nodiscard]] bool alive() const noexcept { return endpoint_ != nullptr; }
    [[nodiscard]] memory::BufferPool& pool() noexcept { return pool_; }

private:
    friend class SimulatedNetwork;
    using Logic = std::function<std::unique_ptr<messaging::MessageHandler>(SimulatedStation&)>;
    class NetworkLink;
    SimulatedStation(SimulatedNetwork& network, wire::StationId id, Bytes memory);

    SimulatedNetwork& network_;
    const wire::StationId id_;
    memory::BufferPool pool_;
    std::unique_ptr<NetworkLink> link_;
    std::unique_ptr<messaging::Endpoint> endpoint_;
    Logic make_;  // none: the handler belongs to the test
    std::unique_ptr<messaging::MessageHandler> own_;
    messaging::MessageHandler* handler_ = nullptr;
    std::deque<std::vector<std::byte>> waiting_;  // while paused
    bool paused_ = false;
    SteadyTime wake_{};

public:
    ~SimulatedStation();
};

class SimulatedNetwork {
public:
    /// `options` are those of all endpoints but for the identity; `memory` bounds the incomplete messages of each.
    explicit SimulatedNetwork(std::uint64_t seed, const NetworkFaults& faults = {},
                              const messaging::EndpointOptions& options = {}, Bytes memory = Bytes{256U << 20});
    ~SimulatedNetwork();

    /// Every station is a watched peer of every other, in the current run. `handler` belongs to the caller, and stays
    /// the same over a restart.
    SimulatedStation& add(wire::StationId id, messaging::MessageHandler& handler);
    /// The logic is made by `make`, again after each restart, and dies with the process.
    SimulatedStation& add(wire::StationId id, SimulatedStation::Logic make);
    [[nodiscard]] SimulatedStation& station(wire::StationId id) { return *stations_.at(id); }
    [[nodiscard]] messaging::Endpoint& endpoint(wire::StationId id) { return station(id).endpoint(); }

    /// For all stations at this moment; or for one, to begin at different times.
    void start_run(RunNumber run);
    void start_run(wire::StationId id, RunNumber run);

    [[nodiscard]] const ManualClock& clock() const noexcept { return clock_; }
    void run_for(std::chrono::nanoseconds time);
    /// True as soon as `done` returns true (called after each event of the simulation); false when the time is over.
    bool run_until(const std::function<bool()>& done, std::chrono::nanoseconds at_most);

    void set_faults(const NetworkFaults& faults) { faults_ = faults; }
    /// Nothing gets through in this direction.
    void black_out(wire::StationId from, wire::StationId to, bool on = true);
    /// The process does nothing; datagrams to it wait, up to queue_max.
    void pause(wire::StationId id, bool on = true);
    /// The process is gone, with its logic if add() was given a maker; datagrams to it are lost.
    void kill(wire::StationId id);
    /// Another process of the station, with a higher epoch, in the run of the last start_run().
    void restart(wire::StationId id);

    struct Stats {
        std::uint64_t carried = 0, lost = 0, doubled = 0, damaged = 0, delivered = 0;
    };
    [[nodiscard]] const Stats& stats() const noexcept { return stats_; }

private:
    friend class SimulatedStation;
    struct Flight {
        SteadyTime when;
        std::uint64_t order;
        wire::StationId to;
        std::vector<std::byte> bytes;
        bool operator>(const Flight& other) const noexcept {
            return when != other.when ? when > other.when : order > other.order;
        }
    };
    SimulatedStation& add(wire::StationId id);
    void begin(SimulatedStation& station);
    void launch(wire::StationId from, wire::StationId to, std::vector<std::byte> bytes);
    void fly(wire::StationId to, const std::vector<std::byte>& bytes);
    bool chance(double probability);
    void deliver_due();
    void step(SimulatedStation& station);
    [[nodiscard]] SteadyTime next_event() const;

    NetworkFaults faults_;
    const messaging::EndpointOptions options_;
    const Bytes memory_;
    std::mt19937_64 random_;
    ManualClock clock_;
    RunNumber run_{};
    std::uint64_t epochs_ = 0;
    std::uint64_t order_ = 0;
    std::map<wire::StationId, std::unique_ptr<SimulatedStation>> stations_;
    std::set<std::pair<wire::StationId, wire::StationId>> dark_;
    std::vector<Flight> flights_;  // a heap, the next one to arrive in front
    Stats stats_;
};

}  // namespace weir::testing
