// SPDX-License-Identifier: Apache-2.0
#include "weir/station/loop_station.hpp"

#include <algorithm>
#include <utility>

namespace weir::station {

LoopStation::LoopStation(LoopStationOptions options, Open open, const Clock& clock)
    : options_(std::move(options)), open_(std::move(open)), clock_(clock) {}

LoopStation::~LoopStation() { static_cast<void>(LoopStation::disconnect()); }

Result<> LoopStation::configure() {
    auto make_logic = WEIR_TRY(open_());
    loop_ = WEIR_TRY(messaging::StationLoop::open(options_.loop, clock_));
    make_logic_ = std::move(make_logic);
    return {};
}

Peer LoopStation::self() const {
    return {.name = options_.name,
            .kind = options_.kind,
            .id = options_.id,
            .dataflow = loop_ ? loop_->address() : "",
            .events = {},
            .sources = {},
            .tcp = options_.loop.link == messaging::LinkKind::tcp,
            .first = options_.first};
}

std::vector<Peer> LoopStation::spoken_with(const std::vector<Peer>& peers) const {
    auto all = peers;
    std::erase_if(all, [&](const Peer& peer) { return !logic_->speaks_with(peer); });
    return all;
}

Result<> LoopStation::connect(const std::vector<Peer>& peers) {
    const std::scoped_lock lock(logic_mutex_);
    status_.write({}, false);
    logic_ = make_logic_(*loop_, status_);
    WEIR_TRY(logic_->set_peers(peers, clock_.now()));
    return loop_->connect(spoken_with(peers), *logic_);
}

Result<> LoopStation::begin(RunNumber run, bool again) {
    Result<> prepared;
    loop_->in_loop([&] { prepared = logic_->prepare_run(run, again); });
    if (!prepared) return prepared;
    WEIR_TRY(logic_->await_workers());
    status_.write({}, false);  // who asks from now on asks about this run
    loop_->begin_run(run, [&] { logic_->start_run(run, clock_.now()); });
    return {};
}

Result<> LoopStation::pause() {
    loop_->in_loop([&] { logic_->pause(); });
    return {};
}

Result<> LoopStation::resume() {
    loop_->in_loop([&] { logic_->resume(clock_.now()); });
    return {};
}

Result<> LoopStation::stop(std::chrono::milliseconds deadline) {
    loop_->drain([&] { logic_->drain(); });
    auto idle = status_.wait_idle(deadline * 9 / 10);
    if (!idle) {
        bool wait = false;
        loop_->in_loop([&] {
            wait = logic_->force(clock_.now());
            logic_->publish_status();
        });
        if (wait) idle = status_.wait_idle(deadline / 10);
    }
    loop_->halt();
    logic_->stop_workers(idle, deadline);
    loop_->end_run([&] { logic_->end_run(); });
    return {};
}

Result<> LoopStation::disconnect() {
    const std::scoped_lock lock(logic_mutex_);
    if (loop_) loop_->disconnect();
    logic_.reset();  // its last status stays: a command prints it at its end
    return {};
}

Result<> LoopStation::unconfigure() {
    const std::scoped_lock lock(logic_mutex_);
    logic_.reset();  // of a connect() that failed
    loop_.reset();
    make_logic_ = {};
    return {};
}

Result<> LoopStation::change_peers(const std::vector<Peer>& peers) {
    Result<> taken;
    WEIR_TRY(loop_->change_peers(spoken_with(peers), [&] { taken = logic_->set_peers(peers, clock_.now()); }));
    return taken;
}

Result<> LoopStation::set_masks(const std::vector<service::SourceMask>& masks) {
    Result<> taken;
    loop_->in_loop([&] { taken = logic_->set_masks(masks); });
    return taken;
}

service::StationEvents LoopStation::events() const {
    const std::unique_lock lock(logic_mutex_, std::try_to_lock);
    service::StationEvents events;
    if (lock && logic_) loop_->in_loop([&] { events = logic_->events(); });
    return events;
}

}  // namespace weir::station
