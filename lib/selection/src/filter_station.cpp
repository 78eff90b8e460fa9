// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/filter_station.hpp"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "selection_alarm.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/markers.hpp"
#include "weir/transport/address.hpp"
#include "workers/hanging.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

service::StationStatus status_of(const FilterStats& stats) {
    service::StationStatus status;
    status.ledger.received = stats.received;
    status.ledger.stored = stats.stored;
    for (const auto reason : wire::reject_reasons)
        if (const auto count = stats.rejected[wire::index(reason)]; count > 0)
            status.ledger.rejected[wire::name(reason)] = count;
    if (stats.rejected[0] > 0) status.ledger.rejected["unknown"] = stats.rejected[0];
    if (stats.returned > 0) status.ledger.rejected["given back"] = stats.returned;
    status.ledger.in_hand = stats.in_hand;
    status.counters = {{"bytes_received", double(stats.bytes)},
                       {"selected", double(stats.selected)},
                       {"forced", double(stats.forced)},
                       {"threw", double(stats.threw)},
                       {"timed_out", double(stats.timed_out)},
                       {"crashed", double(stats.crashed)},
                       {"worker_restarts", double(stats.worker_restarts)},
                       {"queued", double(stats.queued)},
                       {"at_recorders", double(stats.at_recorders)},
                       {"moved", double(stats.moved)},
                       {"in_doubt", double(stats.in_doubt)},
                       {"recorders_connected", double(stats.recorders_connected)},
                       {"waits_for_recorder", double(stats.waits_for_recorder)},
                       {"connections", double(stats.receiver.connections)},
                       {"duplicates", double(stats.receiver.duplicates)},
                       {"waits_for_memory", double(stats.receiver.waits_for_memory)},
                       {"waits_for_workers", double(stats.receiver.waits_for_sink)}};
    status.levels = {"queued", "at_recorders", "recorders_connected", "connections", "hanging", "hanging_seconds"};
    return status;
}

/// Its builder put empty ROBs in place of lost ones.
bool incomplete(ConstData bytes, event::Format format) {
    const auto event = event::EventView::parse(bytes, format);
    return event && (event->status() & event::status::timeout) != 0;
}

}  // namespace

FilterStation::FilterStation(FilterStationOptions options, Reporter report, service::Timers& timers, const Clock& clock)
    : options_(std::move(options)), report_(std::move(report)), timers_(timers), clock_(clock) {}

FilterStation::~FilterStation() {
    watch_.cancel();
    end_filter();
    leak_pool();
}

void FilterStation::end_filter() {
    if (!filter_) return;
    filter_->stop(0ms);
    left_behind_ = left_behind_ || filter_->left_behind();
    filter_.reset();
}

void FilterStation::leak_pool() {
    // Leaked on purpose: a thread that comes back from a selection that hung finds its event where it was.
    if (left_behind_) static_cast<void>(pool_.release());
    pool_.reset();
    left_behind_ = false;
}

Result<std::unique_ptr<Filter>> FilterStation::listen() {
    auto options = options_.filter;
    options.receiver.listen = port_->address();
    options.clock = &clock_;
    const auto lent = port_->lend();
    options.sampled = [this](ConstData event, std::span<const StreamTag> tags) {
        if (samples_ == nullptr) return;
        const auto now = clock_.now();
        samples_->offer(event, now);
        if (samples_->tap().due(now))
            samples_->tap().offer(std::span(&event, 1), {incomplete(event, options_.filter.format), tags}, clock_);
    };
    return Filter::open(std::move(options), *pool_, report_);
}

Result<> FilterStation::configure() {
    auto spec = options_.selection;
    spec.clock = &clock_;
    selection_ = WEIR_TRY(Selection::open(spec));
    pool_ = std::make_unique<memory::BufferPool>(options_.memory);
    auto port = WEIR_TRY(transport::ReservedPort::take(options_.filter.receiver.listen));
    port_.emplace(std::move(port));
    return {};
}

Peer FilterStation::self() const {
    return {.name = options_.filter.name,
            .kind = StationKind::filter,
            .id = options_.id,
            .dataflow = {},
            .events = port_ ? transport::to_string(port_->address()) : "",
            .sources = {}};
}

Result<> FilterStation::connect(const std::vector<Peer>& peers) {
    peers_ = peers;
    return {};
}

Result<> FilterStation::start(RunNumber run) {
    auto filter = WEIR_TRY(listen());
    if (samples_ != nullptr) samples_->clear();
    WEIR_TRY(filter->start(run, *selection_, peers_));
    {
        const std::scoped_lock lock(mutex_);
        filter_ = std::move(filter);
        last_.reset();
    }
    if (selection_->in_processes()) return {};       // they are ended
    const auto known = std::make_shared<Hanging>();  // shared between the copies of the action
    watch_ = timers_.every(50ms, [this, known] {
        known->look(filter_->stuck(hangs_after(options_.selection.time_limit)), selection_->name(), report_);
    });
    return {};
}

Result<> FilterStation::start_again(RunNumber run) {
    distrust(*selection_, report_);
    return start(run);
}

Result<> FilterStation::stop(std::chrono::milliseconds deadline) {
    if (!filter_->stop(deadline)) {
        const auto left = filter_->stats().returned;
        report_.warning(fmt::format("{} events were not final at the stop; their builders still have them", left));
    }
    watch_.cancel();
    const std::scoped_lock lock(mutex_);
    last_ = filter_->stats();
    end_filter();
    return {};
}

Result<> FilterStation::disconnect() {
    peers_.clear();
    return {};
}

Result<> FilterStation::unconfigure() {
    {
        const std::scoped_lock lock(mutex_);
        end_filter();
        last_.reset();
    }
    leak_pool();
    selection_.reset();
    port_.reset();
    return {};
}

Result<> FilterStation::change_peers(const std::vector<Peer>& peers) {
    peers_ = peers;
    return filter_ ? filter_->change_recorders(peers) : Result<>{};
}

service::StationStatus FilterStation::status() const {
    const std::scoped_lock lock(mutex_);
    if (filter_) {
        auto status = status_of(filter_->stats());
        if (selection_ && !selection_->in_processes()) {
            const auto limit = hangs_after(options_.selection.time_limit);
            status.counters["hanging"] = double(filter_->stuck(limit).size());
            status.counters["hanging_seconds"] = hanging_seconds(filter_->longest_selection(), limit);
        }
        return status;
    }
    return last_ ? status_of(*last_) : service::StationStatus{};
}

}  // namespace weir::selection
