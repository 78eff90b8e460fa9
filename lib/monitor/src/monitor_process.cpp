// SPDX-License-Identifier: Apache-2.0
#include "monitor_process.hpp"

#include <algorithm>
#include <utility>

#include "monitor_messages.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/rob_cursor.hpp"
#include "weir/plugin/worker_command.hpp"

namespace weir::monitor {
namespace {

using namespace std::chrono_literals;

constexpr plugin::PlugInKind monitor_kind{
    .name = "monitor",
    .alarm = "monitor",
    .program = "weir-monitor-worker",
    .script = "weir_monitor_worker.py",
    .limits = monitor_message_limits,
    .threw = "its next event comes; the run is not concerned",
    .hangs = "its process is killed, and started again in a run; the run is not concerned",
    .crashed = "its process is started again in a run; the run is not concerned"};

constexpr Bytes unpacked_most = 64_MiB;
constexpr unsigned rest_doublings = 5;     // 32 s
constexpr std::uint64_t good_again = 100;  // events: a death after these is a first one

void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

Result<Event> look_at(const event::EventView& view, std::vector<Fragment>& fragments) {
    Event event;
    const auto& ids = view.ids();
    event.run = ids.run;
    event.global_id = ids.global_id;
    event.level1_id = ids.level1_id;
    event.lumi_block = ids.lumi_block;
    event.bunch_crossing_id = view.bunch_crossing_id();
    event.trigger_type = view.trigger_type();
    event.seconds = ids.time.seconds;
    event.nanoseconds = ids.time.nanoseconds;
    event.payload = view.bytes();
    fragments.clear();
    WEIR_TRY(event::for_each_rob(view, [&fragments](const event::FragmentView& rob) {
        Fragment fragment{.source = rob.source(), .status = rob.status(), .bytes = rob.bytes()};
        if (const auto rod = event::RodView::parse(rob.payload(), rob.payload_offset())) fragment.data = rod->data();
        fragments.push_back(fragment);
    }));
    event.fragments = fragments;
    return event;
}

Result<> write_sample(ConstData bytes, event::Format format, std::vector<std::byte>& to) {
    std::vector<Fragment> fragments;
    const auto view = WEIR_TRY(event::EventView::parse(bytes, format));
    if (view.compression() == event::Compression::none) {
        write_event(WEIR_TRY(look_at(view, fragments)), to);
        return {};
    }
    const auto unpacked = WEIR_TRY(event::decompress_event(view, unpacked_most));
    const auto plain = WEIR_TRY(event::EventView::parse(unpacked, format));
    write_event(WEIR_TRY(look_at(plain, fragments)), to);
    return {};
}

}  // namespace

Result<> MonitorSpec::check_name(const std::string& file) { return plugin::check_plugin_name(file, monitor_kind.name); }
Result<> MonitorSpec::check(const std::string& file) { return plugin::check_plugin_file(file, monitor_kind.name); }

Result<plugin::PlugInProgram> open_monitor(const MonitorSpec& spec) {
    return plugin::PlugInProgram::open(monitor_kind, spec);
}

MonitorProcess::MonitorProcess(const plugin::PlugInProgram& plug_in, RunNumber run, event::Format format,
                               SampledPayloads& events, KeptHistograms& kept, const Reporter& report)
    : format_(format), events_(events), kept_(kept), process_(plug_in, run, report, *this) {
    events_.begin([this] { process_.wake(); });
}

MonitorProcess::~MonitorProcess() { events_.end(); }

void MonitorProcess::end(std::chrono::milliseconds limit) {
    events_.end();
    process_.end(limit);
    process_.join();
}

MonitorProcess::Events MonitorProcess::events() const noexcept {
    constexpr auto relaxed = std::memory_order_relaxed;
    return {.given = given_.load(relaxed),
            .seen = seen_.load(relaxed),
            .threw = threw_.load(relaxed),
            .lost = lost_.load(relaxed),
            .malformed = malformed_.load(relaxed)};
}

void MonitorProcess::give(plugin::WorkerProcess& process) {
    while (!in_hand_) {
        const auto payload = events_.take();
        if (!payload) return;
        if (!write_next(*payload)) continue;
        in_hand_ = true;
        throws_ = false;
        count(given_);
        process.send(out_);
    }
}

bool MonitorProcess::write_next(const std::string& payload) {
    out_.clear();
    if (write_sample(as_data(payload), format_, out_)) return true;
    count(malformed_);
    return false;
}

Result<> MonitorProcess::take(const plugin::WorkerMessage& message, const std::stop_token&) {
    switch (static_cast<FromMonitor>(message.kind)) {
        case FromMonitor::seen:
            if (!std::exchange(in_hand_, false))
                return fail(Errc::corrupt, "it has seen an event that it was not given");
            if (!throws_) count(seen_);
            if (++seen_since_ >= good_again) deaths_ = 0;
            return {};
        case FromMonitor::histogram: return kept_.take(WEIR_TRY(read_histogram(message.body)));
        case FromMonitor::counters: kept_.take(WEIR_TRY(read_counters(message.body))); return {};
    }
    return fail(Errc::corrupt, "its process sent a message that is none of a monitor");
}

Result<> MonitorProcess::threw(const plugin::Failed& failed) {
    if (failed.call != plugin::Call::see) return {};
    if (!in_hand_) return fail(Errc::corrupt, "it threw at an event that it was not given");
    throws_ = true;
    count(threw_);
    return {};
}

void MonitorProcess::gone() {
    kept_.process_ended();
    if (!std::exchange(in_hand_, false)) return;
    if (!throws_) count(lost_);
    deaths_ = std::min(deaths_ + 1, rest_doublings);
    seen_since_ = 0;
    events_.rest(1s * (1U << (deaths_ - 1)));
}

}  // namespace weir::monitor
