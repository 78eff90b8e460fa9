// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/testing/simulated_network.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::testing {

using messaging::Endpoint;
using messaging::MessageHandler;
using wire::StationId;

class SimulatedStation::NetworkLink final : public messaging::Link {
public:
    explicit NetworkLink(SimulatedStation& station) : station_(station) {}

    bool carry(StationId to, std::span<const ConstData> datagram) override {
        std::vector<std::byte> bytes;
        for (const auto piece : datagram) bytes.insert(bytes.end(), piece.begin(), piece.end());
        WEIR_ASSERT(bytes.size() <= datagram_max(to));
        station_.network_.launch(station_.id_, to, std::move(bytes));
        return true;
    }
    [[nodiscard]] std::size_t datagram_max(StationId) const override { return station_.network_.faults_.datagram_max; }
    void flush() override {}

private:
    SimulatedStation& station_;
};

SimulatedStation::SimulatedStation(SimulatedNetwork& network, StationId id, Bytes memory)
    : network_(network), id_(id), pool_(memory), link_(std::make_unique<NetworkLink>(*this)) {}
SimulatedStation::~SimulatedStation() = default;

const Clock& SimulatedStation::clock() const noexcept { return network_.clock_; }

Endpoint& SimulatedStation::endpoint() noexcept {
    WEIR_ASSERT(endpoint_ != nullptr);
    return *endpoint_;
}

SimulatedNetwork::SimulatedNetwork(std::uint64_t seed, const NetworkFaults& faults,
                                   const messaging::EndpointOptions& options, Bytes memory)
    : faults_(faults), options_(options), memory_(memory), random_(seed) {
    clock_.advance(std::chrono::seconds(1));  // a steady clock is never at its beginning
}
SimulatedNetwork::~SimulatedNetwork() = default;

SimulatedStation& SimulatedNetwork::add(StationId id) {
    auto& place = stations_[id];
    WEIR_ASSERT(place == nullptr);
    place.reset(new SimulatedStation(*this, id, memory_));
    return *place;
}

SimulatedStation& SimulatedNetwork::add(StationId id, MessageHandler& handler) {
    auto& station = add(id);
    station.handler_ = &handler;
    begin(station);
    return station;
}

SimulatedStation& SimulatedNetwork::add(StationId id, SimulatedStation::Logic make) {
    auto& station = add(id);
    station.make_ = std::move(make);
    begin(station);
    return station;
}

void SimulatedNetwork::begin(SimulatedStation& station) {
    auto options = options_;
    options.self = station.id_;
    options.epoch = wire::Epoch{++epochs_};
    station.endpoint_ = std::make_unique<Endpoint>(options, *station.link_, station.pool_);
    for (const auto& [id, other] : stations_) {
        if (id == station.id_) continue;
        station.endpoint_->add_peer(id, true);
        if (other->alive()) other->endpoint_->add_peer(station.id_, true);
    }
    station.endpoint_->set_run(run_);
    if (station.make_) {
        station.own_ = station.make_(station);
        station.handler_ = station.own_.get();
    }
    station.wake_ = clock_.now();
}

void SimulatedNetwork::start_run(RunNumber run) {
    run_ = run;
    for (const auto& [id, station] : stations_) start_run(id, run);
}

void SimulatedNetwork::start_run(StationId id, RunNumber run) {
    run_ = run;
    auto& one = station(id);
    if (!one.alive()) return;
    one.endpoint_->set_run(run);
    one.wake_ = clock_.now();
}

bool SimulatedNetwork::chance(double probability) {
    return probability > 0 && std::uniform_real_distribution<>(0, 1)(random_) < probability;
}

void SimulatedNetwork::launch(StationId from, StationId to, std::vector<std::byte> bytes) {
    ++stats_.carried;
    if (dark_.contains({from, to}) || chance(faults_.loss)) {
        ++stats_.lost;
        return;
    }
    if (chance(faults_.duplicate)) {
        ++stats_.doubled;
        fly(to, bytes);
    }
    if (chance(faults_.corrupt)) {
        ++stats_.damaged;
        const auto at = random_() % bytes.size();
        if (chance(0.2)) bytes.resize(at);
        else bytes[at] ^= static_cast<std::byte>(1 + random_() % 255);
    }
    fly(to, bytes);
}

void SimulatedNetwork::fly(StationId to, const std::vector<std::byte>& bytes) {
    auto takes = faults_.delay;
    if (faults_.jitter.count() > 0) {
        const auto jitter = static_cast<std::uint64_t>(faults_.jitter.count());
        takes += std::chrono::nanoseconds(random_() % jitter);
        if (chance(faults_.late)) takes += std::chrono::nanoseconds(random_() % (20 * jitter));
    }
    flights_.push_back({clock_.now() + takes, ++order_, to, bytes});
    std::ranges::push_heap(flights_, std::greater<>());
}

void SimulatedNetwork::deliver_due() {
    const auto now = clock_.now();
    while (!flights_.empty() && flights_.front().when <= now) {
        std::ranges::pop_heap(flights_, std::greater<>());
        auto flight = std::move(flights_.back());
        flights_.pop_back();
        const auto found = stations_.find(flight.to);
        if (found == stations_.end() || !found->second->alive()) {
            ++stats_.lost;
        } else if (auto& station = *found->second; station.paused_) {
            if (station.waiting_.size() < faults_.queue_max) station.waiting_.push_back(std::move(flight.bytes));
            else ++stats_.lost;
        } else {
            ++stats_.delivered;
            station.endpoint_->receive(flight.bytes, now, *station.handler_);
            station.wake_ = now;
        }
    }
}

/// As a message loop does: the logic, then the endpoint.
void SimulatedNetwork::step(SimulatedStation& station) {
    const auto now = clock_.now();
    for (; !station.waiting_.empty(); station.waiting_.pop_front()) {
        ++stats_.delivered;
        station.endpoint_->receive(station.waiting_.front(), now, *station.handler_);
    }
    station.endpoint_->set_time(now);
    const auto logic = station.handler_->step(now);
    auto next = station.endpoint_->step(now, *station.handler_);
    if (logic) next = std::min(next, *logic);
    station.wake_ = std::max(next, now + std::chrono::microseconds(1));  // time goes on, whatever they ask for
}

SteadyTime SimulatedNetwork::next_event() const {
    auto next = flights_.empty() ? SteadyTime::max() : flights_.front().when;
    for (const auto& [id, station] : stations_) {
        if (station->alive() && !station->paused_) next = std::min(next, station->wake_);
    }
    return next;
}

bool SimulatedNetwork::run_until(const std::function<bool()>& done, std::chrono::nanoseconds at_most) {
    const auto end = clock_.now() + at_most;
    for (const auto& [id, station] : stations_)
        station->wake_ = std::min(station->wake_, clock_.now());  // the test acted
    while (!done()) {
        const auto next = std::min(next_event(), end);
        if (next > clock_.now()) clock_.advance(next - clock_.now());
        for (const auto& [id, station] : stations_) {
            if (station->alive() && !station->paused_) station->endpoint_->set_time(clock_.now());
        }
        deliver_due();
        for (const auto& [id, station] : stations_) {
            if (station->alive() && !station->paused_ && station->wake_ <= clock_.now()) step(*station);
        }
        if (clock_.now() >= end) return done();
    }
    return true;
}

void SimulatedNetwork::run_for(std::chrono::nanoseconds time) {
    static_cast<void>(run_until([] { return false; }, time));
}

void SimulatedNetwork::black_out(StationId from, StationId to, bool on) {
    if (on) dark_.insert({from, to});
    else dark_.erase({from, to});
}

void SimulatedNetwork::pause(StationId id, bool on) {
    station(id).paused_ = on;
    station(id).wake_ = clock_.now();
}

void SimulatedNetwork::kill(StationId id) {
    auto& one = station(id);
    one.own_.reset();
    if (one.make_) one.handler_ = nullptr;
    one.endpoint_.reset();
    one.waiting_.clear();
    one.paused_ = false;
}

void SimulatedNetwork::restart(StationId id) {
    if (station(id).alive()) kill(id);
    begin(station(id));
}

}  // namespace weir::testing
