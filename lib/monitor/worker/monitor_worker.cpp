// SPDX-License-Identifier: Apache-2.0
// weir-monitor-worker FILE.so: runs a C++ monitor. Started by `weir monitor` with a socket (3);
// src/monitor_messages.hpp describes the messages.
#include <chrono>
#include <deque>
#include <memory>
#include <stdexcept>

#include "monitor_library.hpp"
#include "monitor_messages.hpp"
#include "weir/plugin/plug_in_worker.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;
using namespace weir::monitor;

constexpr auto sent_every = 500ms;

/// The histograms of a run, and what of each was sent last.
class WorkerBook final : public Book {
public:
    explicit WorkerBook(RunNumber run) : run_(run) {}

    Histogram1D& histogram(std::string_view name, std::string_view titles, Axis x) override {
        check(Histogram(std::string(name), titles, x));
        auto& made = one_axis_.emplace_back(std::string(name), titles, std::move(x));
        all_.push_back({&made});
        return made;
    }
    Histogram2D& histogram(std::string_view name, std::string_view titles, Axis x, Axis y) override {
        check(Histogram(std::string(name), titles, x, y));
        auto& made = two_axes_.emplace_back(std::string(name), titles, std::move(x), std::move(y));
        all_.push_back({&made});
        return made;
    }
    Counter& counter(std::string_view name) override {
        if (const auto* fault = fault_of_name(name)) refuse(name, fault);
        for (const auto* other : counters_)
            if (other->name == name) refuse(name, "there is another counter of this name");
        if (counters_.size() == HistogramLimits::histograms) refuse(name, "there are 1000 counters already");
        auto& made = every_counter_.emplace_back(std::string(name));
        counters_.push_back(&made);
        return made;
    }
    RunNumber run() const noexcept override { return run_; }

    /// Calls `send(message)` for each histogram that was filled since the last time, and for the counters.
    template <class Send>
    void send_changed(Send&& send) {
        for (auto& one : all_) {
            if (one.sent && one.entries == one.histogram->entries) continue;
            one.sent = true;
            one.entries = one.histogram->entries;
            out_.clear();
            write_histogram(*one.histogram, out_);
            send(out_);
        }
        std::vector<double> values;
        for (const auto* counter : counters_) values.push_back(counter->value);
        if (values == sent_values_) return;
        sent_values_ = std::move(values);
        out_.clear();
        write_counters(counters_, out_);
        send(out_);
    }

private:
    struct One {
        const Histogram* histogram;
        bool sent = false;
        double entries = 0;
    };
    [[noreturn]] static void refuse(std::string_view name, const char* fault) {
        throw std::length_error("\"" + std::string(name) + "\" cannot be booked: " + fault);
    }
    void check(const Histogram& histogram) {
        if (const auto* fault = fault_of(histogram)) refuse(histogram.name, fault);
        for (const auto& other : all_)
            if (other.histogram->name == histogram.name) refuse(histogram.name, "there is another of this name");
        if (all_.size() == HistogramLimits::histograms) refuse(histogram.name, "there are 1000 histograms already");
        cells_ += histogram.cells();
        if (cells_ > HistogramLimits::all_cells) refuse(histogram.name, "all have more than 2000000 bins together");
    }

    const RunNumber run_;
    std::deque<Histogram1D> one_axis_;  // where their author has references to them
    std::deque<Histogram2D> two_axes_;
    std::deque<Counter> every_counter_;
    std::vector<One> all_;
    std::vector<const Counter*> counters_;
    std::vector<double> sent_values_;
    std::size_t cells_ = 0;
    std::vector<std::byte> out_;
};

class Worker final : public plugin::PlugInWorker {
public:
    explicit Worker(const MonitorFace& face)
        : PlugInWorker(plugin::has_poll, {.records = 1, .bytes = 1}), face_(face) {}

private:
    void begin_run(const plugin::BeginRun& begin) override {
        monitor_.reset();
        book_ = std::make_unique<WorkerBook>(begin.run);
        monitor_.reset(face_.make(*book_));
        sent_ = {};
    }
    void poll() override {
        if (system_clock().now() - sent_ >= sent_every) send_changed();
    }
    void end_run() override {
        const auto thrown = plugin::thrown_by([this] { monitor_->end_run(); });
        send_changed();
        if (thrown) throw std::runtime_error(*thrown);
    }
    bool take(std::uint32_t kind, ConstData body) override {
        if (kind != static_cast<std::uint32_t>(ToMonitor::event) || !monitor_) return false;
        const auto event = read_event(body, fragments_);
        if (!event) return false;
        guarded(plugin::Call::see, event->level1_id, [&] { monitor_->see(*event); });
        out_.clear();
        plugin::write_nothing(FromMonitor::seen, out_);
        answer(out_);
        return true;
    }
    void send_changed() {
        book_->send_changed([this](ConstData message) { answer(message); });
        sent_ = system_clock().now();
    }

    const MonitorFace face_;
    std::unique_ptr<WorkerBook> book_;
    std::unique_ptr<Monitor> monitor_;  // ends before its histograms
    std::vector<Fragment> fragments_;
    std::vector<std::byte> out_;
    SteadyTime sent_{};
};

Result<std::unique_ptr<plugin::PlugInWorker>> make(const char* file) {
    return std::make_unique<Worker>(WEIR_TRY(load_monitor(file)));
}

}  // namespace

int main(int argc, char** argv) {
    return plugin::run_worker(argc, argv, "weir-monitor-worker is started by weir monitor", make);
}
