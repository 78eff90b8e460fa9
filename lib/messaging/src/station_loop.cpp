// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/station_loop.hpp"

#include <algorithm>
#include <exception>
#include <future>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::messaging {

Result<std::vector<LinkPeer>> links_to(const std::vector<Peer>& peers, const std::vector<StationKind>& kinds,
                                       LinkKind link, const std::vector<StationKind>& watched) {
    std::vector<LinkPeer> links;
    for (const auto& peer : peers) {
        if (std::ranges::find(kinds, peer.kind) == kinds.end()) continue;
        const auto address = transport::parse_host_port(peer.dataflow);
        if (!address)
            return fail(Errc::usage, "station " + peer.name + " has no usable address: " + address.error().message());
        links.push_back({.id = peer.id,
                         .address = *address,
                         .link = peer.tcp ? LinkKind::tcp : link,
                         .watched = std::ranges::find(watched, peer.kind) != watched.end()});
    }
    return links;
}

StationLoop::StationLoop(StationLoopOptions options) : options_(std::move(options)), pool_(options_.memory) {}

StationLoop::~StationLoop() = default;

Result<std::unique_ptr<StationLoop>> StationLoop::open(StationLoopOptions options, const Clock& clock) {
    if (auto& epoch = options.loop.endpoint.epoch; epoch == wire::Epoch{0})
        epoch = wire::Epoch{static_cast<std::uint64_t>(clock.wall().time_since_epoch() / std::chrono::nanoseconds(1))};
    std::unique_ptr<StationLoop> made(new StationLoop(std::move(options)));
    const auto& listen = made->options_.loop.listen;
    if (const auto here = transport::resolve(listen, true); here && here->front().unspecified())
        return fail(Errc::usage, "a station cannot listen on every interface (" + to_string(listen) +
                                     "): the others know it by one address; write one of this machine");
    made->loop_ = WEIR_TRY(MessageLoop::open(made->options_.loop, made->pool_, clock));
    return made;
}

std::string StationLoop::address() const {
    return to_string(transport::HostPort{options_.loop.listen.host, loop_->port()});
}
MessageLoopStats StationLoop::stats() const { return loop_->stats(); }
memory::BufferPool& StationLoop::pool() noexcept { return pool_; }
Endpoint& StationLoop::endpoint() noexcept { return loop_->endpoint(); }
bool StationLoop::running() const noexcept { return phase_ != Phase::idle; }

Result<std::vector<LinkPeer>> StationLoop::links(const std::vector<Peer>& peers) const {
    return links_to(peers, options_.speaks_with, options_.link, options_.watches);
}

Result<> StationLoop::connect(const std::vector<Peer>& peers, LoopLogic& logic) {
    WEIR_ASSERT(logic_ == nullptr);  // not connected: the loop's thread would be at the same peers
    const auto linked = WEIR_TRY(links(peers));
    WEIR_TRY(loop_->set_peers(linked));
    logic_ = &logic;
    published_ = SteadyTime::min();  // at the first step
    if (options_.probe) {
        if (auto there = loop_->probe(*options_.probe, *this); !there) {
            logic_ = nullptr;
            static_cast<void>(loop_->set_peers({}));  // no address in it that could be wrong
            return there;
        }
    }
    thread_ = NamedThread(options_.thread, [this](const std::stop_token& stop) { loop_->run(stop, *this); });
    return {};
}

void StationLoop::disconnect() {
    thread_ = {};
    logic_ = nullptr;
    phase_ = Phase::idle;
    loop_->endpoint().set_run(RunNumber{0});  // it may have been in the middle of one
}

Result<> StationLoop::change_peers(const std::vector<Peer>& peers, const std::function<void()>& work) {
    const auto linked = WEIR_TRY(links(peers));
    Result<> result;
    in_loop([&] {
        result = loop_->set_peers(linked);
        if (result && work) work();
    });
    return result;
}

void StationLoop::begin_run(RunNumber run, const std::function<void()>& work) {
    in_loop([&] {
        loop_->endpoint().set_run(run);
        if (work) work();
        phase_ = Phase::running;
        logic_->publish_status();
    });
}

void StationLoop::drain(const std::function<void()>& work) {
    in_loop([&] {
        if (work) work();
        phase_ = Phase::draining;
        logic_->publish_status();
    });
}

void StationLoop::halt() {
    in_loop([&] { phase_ = Phase::idle; });
}

void StationLoop::end_run(const std::function<void()>& work) {
    in_loop([&] {
        if (work) work();
        phase_ = Phase::idle;
        if (logic_ != nullptr) logic_->publish_status();
        loop_->endpoint().set_run(RunNumber{0});
    });
}

void StationLoop::in_loop(const std::function<void()>& work) {
    if (!thread_.joinable()) return work();
    const auto done = std::make_shared<std::promise<void>>();  // shared: the loop's thread may leave it after this one
    auto future = done->get_future();
    loop_->call([&work, done] {
        try {
            work();
            done->set_value();
        } catch (...) {
            done->set_exception(std::current_exception());
        }
    });
    future.get();
}

void StationLoop::call(std::function<void()> work) { loop_->call(std::move(work)); }

void StationLoop::on_message(const IncomingMessage& message, SteadyTime now) {
    if (running()) logic_->on_message(message, now);
}

void StationLoop::on_peer(wire::StationId peer, PeerChange change, SteadyTime now) {
    logic_->on_peer(peer, change, now);
}

std::optional<SteadyTime> StationLoop::step(SteadyTime now) {
    logic_->collect();
    const auto next = running() ? logic_->step(now) : std::nullopt;
    if (options_.status_interval == options_.status_interval.zero()) return next;
    if (phase_ == Phase::draining || now >= published_ + options_.status_interval) {
        published_ = now;
        logic_->publish_status();
    }
    return std::min(next.value_or(now + options_.status_interval), now + options_.status_interval);
}

}  // namespace weir::messaging
