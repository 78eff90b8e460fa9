// SPDX-License-Identifier: Apache-2.0
#include "weir/monitor/monitor_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <mutex>
#include <utility>

#include "monitor_process.hpp"
#include "saved_files.hpp"
#include "weir/base/file.hpp"
#include "weir/page/history.hpp"
#include "weir/page/live_document.hpp"

namespace weir::monitor {
namespace {

using namespace std::chrono_literals;

constexpr Bytes reference_size_most = 128_MiB;

/// The part of a stop that is for the monitor; the rest is for saving. One that hangs shall not delay the end of a run
/// by more than any call of it may take.
constexpr std::chrono::milliseconds part_of(std::chrono::milliseconds deadline, std::chrono::milliseconds time_limit) {
    return std::min(deadline / 2, time_limit);
}

}  // namespace

class MonitorStation::Logic {
public:
    Logic(MonitorStationOptions options, const service::StationServices& services)
        : options_(std::move(options)), services_(services) {}

    ~Logic() { end_process(0ms); }

    Result<> configure() {
        if (!options_.reference.empty()) {
            const auto text = WEIR_TRY(read_text(options_.reference, reference_size_most));
            auto saved = read_saved_histograms(text);
            if (!saved)
                return fail(saved.error().code,
                            fmt::format("reference {}: {}", options_.reference.native(), saved.error().context));
            const std::scoped_lock lock(mutex_);
            reference_ = std::make_shared<const SavedHistograms>(std::move(*saved));
        }
        auto spec = options_.monitor;
        spec.clock = &services_.clock;
        program_ = WEIR_TRY(open_monitor(spec));
        return {};
    }

    Result<> connect(const std::vector<Peer>& peers) {
        SampleOptions options{.rate = options_.rate, .tls = options_.tls};
        if (!options_.stream.empty()) options.query = "&stream=" + options_.stream;
        events_ = WEIR_TRY(SampledPayloads::start(std::move(options), services_.timers, services_.reports.reporter(),
                                                  services_.clock));
        events_->ask_of(sampled(peers));
        return {};
    }

    void change_peers(const std::vector<Peer>& peers) {
        if (events_) events_->ask_of(sampled(peers));
    }

    Result<> start(RunNumber run) {
        kept_.begin(run);
        auto process = std::make_unique<MonitorProcess>(*program_, run, options_.format, *events_, kept_,
                                                        services_.reports.reporter());
        if (auto begun = process->begin(); !begun)
            return fail(begun.error().code,
                        fmt::format("the monitor {}: {}", options_.monitor.file, begun.error().context));
        const std::scoped_lock lock(mutex_);
        process_ = std::move(process);
        run_ = run;
        last_.reset();
        saved_.clear();
        return {};
    }

    Result<> stop(std::chrono::milliseconds deadline) {
        end_process(part_of(deadline, options_.monitor.time_limit));
        const auto status = this->status();
        const SavedWith with{.monitor = options_.name, .run = run_, .events = status.ledger.stored};
        auto saved = save_histograms(options_.directory, with, kept_.picture(), services_.clock.wall());
        if (!saved) {
            services_.reports.reporter()({.severity = Severity::error,
                                          .what = fmt::format("the histograms of run {} are not saved", number(run_)),
                                          .where = options_.directory.native(),
                                          .why = saved.error().message(),
                                          .advice = "make room, or set directory",
                                          .alarm = "histograms_not_saved"});
            return {};
        }
        const std::scoped_lock lock(mutex_);
        saved_ = saved->native();
        return {};
    }

    void disconnect() { events_.reset(); }
    void unconfigure() {
        program_.reset();
        const std::scoped_lock lock(mutex_);
        reference_.reset();
    }

    service::StationStatus status() const {
        const std::scoped_lock lock(mutex_);
        return process_ ? status_of(*process_) : last_.value_or(service::StationStatus{});
    }

    service::HttpResponse answer(const service::HttpRequest& request) const {
        if (request.query.empty()) return page::json_answer(list() + "\n", request);
        const auto name = page::query_value(request.query, "name");
        const auto histogram = kept_.find(name);
        if (!histogram)
            return service::http_error(404, "there is no histogram of that name; GET /histograms lists them");
        auto object = to_json(*histogram);
        if (const auto saved = reference()) {
            if (const auto found = saved->histograms.find(name); found != saved->histograms.end()) {
                auto beside = to_json(found->second);
                beside["run"] = number(saved->run);
                object["reference"] = std::move(beside);
            }
        }
        return page::json_answer(json::serialize(object) + "\n", request);
    }

private:
    std::shared_ptr<const SavedHistograms> reference() const {
        const std::scoped_lock lock(mutex_);
        return reference_;
    }

    std::vector<SampledStation> sampled(const std::vector<Peer>& peers) const {
        const auto of_kind = [&](StationKind kind) {
            return std::ranges::any_of(peers, [kind](const Peer& peer) { return peer.kind == kind; });
        };
        const bool filters = of_kind(StationKind::filter);
        std::vector<SampledStation> all;
        for (const auto& peer : peers) {
            const bool named = std::ranges::find(options_.stations, peer.name) != options_.stations.end();
            const bool last = peer.kind == (filters ? StationKind::filter : StationKind::build);
            if (options_.stations.empty() ? last : named) all.push_back({peer.name, peer.control});
        }
        return all;
    }

    void end_process(std::chrono::milliseconds limit) {
        if (!process_) return;
        process_->end(limit);
        const std::scoped_lock lock(mutex_);
        last_ = status_of(*process_);
        process_.reset();
    }

    service::StationStatus status_of(const MonitorProcess& process) const {
        const auto events = process.events();
        const auto stats = process.stats();
        const auto asked = events_ ? events_->stats() : SampledPayloads::Stats{};
        service::StationStatus status;
        auto& ledger = status.ledger;
        ledger.received = events.given + events.malformed;
        ledger.stored = events.seen;
        ledger.rejected = {
            {"threw", events.threw}, {"lost with its process", events.lost}, {"damaged", events.malformed}};
        const auto ended = events.seen + events.threw + events.lost + events.malformed;
        ledger.received = std::max(ledger.received, ended);  // counted one after the other, while it goes on
        ledger.in_hand = ledger.received - ended;
        status.counters = {{"threw", double(stats.threw)},           {"hung", double(stats.hung)},
                           {"crashed", double(stats.crashed)},       {"restarts", double(stats.restarts)},
                           {"asked", double(asked.asked)},           {"too_large", double(asked.too_large)},
                           {"silent_stations", double(asked.silent)}};
        status.levels = {"silent_stations"};
        return status;
    }

    std::string list() const {
        const auto picture = kept_.picture();
        const auto status = this->status();
        const auto saved = reference();
        json::array histograms;
        for (const auto& histogram : picture.histograms) {
            auto object = summary_of(*histogram);
            object["reference"] = saved && saved->histograms.contains(histogram->name);
            histograms.push_back(std::move(object));
        }
        json::object document{{"monitor", json::safe(options_.name)},
                              {"run", number(picture.run)},
                              {"events", status.ledger.stored},
                              {"histograms", std::move(histograms)},
                              {"counters", to_json(picture.counters)}};
        if (saved) document["reference_run"] = number(saved->run);
        const std::scoped_lock lock(mutex_);
        if (!saved_.empty()) document["saved"] = json::safe(saved_);
        return json::serialize(document);
    }

    const MonitorStationOptions options_;
    const service::StationServices services_;
    std::optional<plugin::PlugInProgram> program_;
    KeptHistograms kept_;
    std::unique_ptr<SampledPayloads> events_;
    RunNumber run_{};
    mutable std::mutex mutex_;                          // of what status() and the control port look at
    std::shared_ptr<const SavedHistograms> reference_;  // shared with answers that are being made
    std::unique_ptr<MonitorProcess> process_;
    std::optional<service::StationStatus> last_;
    std::string saved_;
};

MonitorStation::MonitorStation(MonitorStationOptions options, const service::StationServices& services)
    : self_{.name = options.name, .kind = StationKind::monitor, .id = options.id},
      logic_(std::make_unique<Logic>(std::move(options), services)) {}
MonitorStation::~MonitorStation() = default;

Result<> MonitorStation::configure() { return logic_->configure(); }
Peer MonitorStation::self() const { return self_; }
Result<> MonitorStation::connect(const std::vector<Peer>& peers) { return logic_->connect(peers); }
Result<> MonitorStation::start(RunNumber run) { return logic_->start(run); }
Result<> MonitorStation::stop(std::chrono::milliseconds deadline) { return logic_->stop(deadline); }
Result<> MonitorStation::disconnect() {
    logic_->disconnect();
    return {};
}
Result<> MonitorStation::unconfigure() {
    logic_->unconfigure();
    return {};
}
Result<> MonitorStation::change_peers(const std::vector<Peer>& peers) {
    logic_->change_peers(peers);
    return {};
}
service::StationStatus MonitorStation::status() const { return logic_->status(); }

std::vector<service::HttpRoute> MonitorStation::routes() {
    return {{service::HttpRoute::Method::get, "/histograms",
             [logic = logic_.get()](const service::HttpRequest& request, const service::HttpAnswer& answer) {
                 answer(logic->answer(request));
             }}};
}

}  // namespace weir::monitor
