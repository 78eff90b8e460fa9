// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/plug_in_process.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "weir/base/thread_account.hpp"
#include "weir/plugin/worker_command.hpp"

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;
using Got = WorkerProcess::Got;

// Of all that goes wrong with a process, Errc::limit is a hang, and everything else a crash.

Error end_of(WorkerProcess& process, Got got, std::string late, const std::stop_token& stop) {
    if (got == Got::too_late) return {Errc::limit, 0, std::move(late)};
    if (got == Got::stopped) return {Errc::limit, 0, "the run stops"};
    if (got == Got::nonsense) return {Errc::corrupt, 0, process.why_nonsense()};
    return {Errc::refused, 0, process.how_it_ended(stop)};
}

Error out_of_turn() { return {Errc::corrupt, 0, "its process sent a message that was not its turn"}; }

/// Whatever the error is: no hang.
Result<> corrupt(Result<> taken) {
    if (!taken) taken.error().code = Errc::corrupt;
    return taken;
}

/// The body of the message `kind`, valid until the next one is received. What comes before is for `take`.
template <class Take>
Result<ConstData> wait_for(WorkerProcess& process, FromPlugIn kind, SteadyTime until, const Clock& clock,
                           const std::stop_token& stop, const std::string& late, Take&& take) {
    WorkerMessage message;
    do {
        const auto got = process.receive(message, until, stop);
        if (got != Got::message) return std::unexpected(end_of(process, got, late, stop));
        if (message.kind == static_cast<std::uint32_t>(kind)) return message.body;
        WEIR_TRY(take(message));
    } while (clock.now() < until);  // it may send on and on
    return fail(Errc::limit, late);
}

/// Before begin_run has returned.
Result<> take_failed(const WorkerMessage& message) {
    if (message.kind == static_cast<std::uint32_t>(FromPlugIn::alive)) return {};
    if (message.kind != static_cast<std::uint32_t>(FromPlugIn::failed)) return std::unexpected(out_of_turn());
    const auto failed = WEIR_TRY(read_failed(message.body));
    if (failed.call == Call::load) return fail(Errc::refused, failed.text);
    return fail(Errc::refused, fmt::format("{} threw: {}", name(failed.call), failed.text));
}

/// What the plug-in has.
Result<std::uint32_t> wait_until_ready(WorkerProcess& process, const PlugInSpec& spec, const std::stop_token& stop) {
    const auto ready = WEIR_TRY(wait_for(process, FromPlugIn::ready, spec.clock->now() + spec.start_limit, *spec.clock,
                                         stop, "it did not load within start_limit", take_failed));
    return read_number<std::uint32_t>(ready);
}

/// Of the process's own memory: any bytes.
Call call_of(WorkerProcess& process) {
    const auto memory = process.memory(call_memory);
    return memory ? static_cast<Call>(load_little<std::uint32_t>(*memory)) : Call::none;
}

void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

}  // namespace

Result<PlugInProgram> PlugInProgram::open(const PlugInKind& kind, const PlugInSpec& spec) {
    WEIR_TRY(check_plugin_file(spec.file, kind.name));
    std::error_code error;
    PlugInProgram opened{.kind = kind, .spec = spec};
    opened.command = WEIR_TRY(
        worker_command({.program = kind.program, .script = kind.script, .python = spec.python, .folder = spec.programs},
                       std::filesystem::absolute(spec.file, error)));
    const auto has = [&]() -> Result<std::uint32_t> {
        const auto process = WEIR_TRY(WorkerProcess::start(opened.command, kind.limits, *spec.clock));
        return wait_until_ready(*process, spec, {});
    }();
    if (!has)
        return fail(Errc::usage, fmt::format("the {} {} cannot be loaded: {}", kind.name, spec.file,
                                             on_one_line(has.error().message(), 500)));
    opened.has = *has;
    return opened;
}

PlugInProcess::PlugInProcess(PlugInProgram plug_in, RunNumber run, Reporter report, Station& station)
    : plug_in_(std::move(plug_in)),
      run_(run),
      report_(std::move(report)),
      station_(station),
      clock_(*plug_in_.spec.clock),
      pause_(plug_in_.spec.restart_first, plug_in_.spec.restart_last, clock_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_(plug_in_.kind.name, [this](const std::stop_token& stop) { work(stop); }) {}

PlugInProcess::~PlugInProcess() {
    if (!ends_) killed_ = true;
    end(0ms);
    join();
}

Result<> PlugInProcess::begin() {
    std::unique_lock lock(mutex_);
    const auto limit = 2 * plug_in_.spec.start_limit;  // each of its two steps has this limit
    if (!begun_now_.wait_for(lock, limit, [&] { return begun_ || begin_error_; }))
        return fail(Errc::limit, "begin_run does not return within start_limit");
    if (!begun_) return std::unexpected(*begin_error_);
    return {};
}

void PlugInProcess::wake() const noexcept {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void PlugInProcess::end(std::chrono::milliseconds limit) {
    if (std::exchange(ends_, true)) return;
    end_by_ = in(limit);
    thread_.request_stop();
    wake();
}

void PlugInProcess::join() {
    if (thread_.joinable()) thread_.join();
}

PlugInProcess::Stats PlugInProcess::stats() const noexcept {
    return {.threw = threw_.load(std::memory_order_relaxed),
            .hung = hung_.load(std::memory_order_relaxed),
            .crashed = crashed_.load(std::memory_order_relaxed),
            .restarts = restarts_.load(std::memory_order_relaxed)};
}

void PlugInProcess::work(const std::stop_token& stop) {
    while (pause_.wait(stop)) {
        auto process = start(stop);
        if (!process) {
            if (stop.stop_requested() || fails_to_begin(process.error())) return;
            report_end(process.error());
        } else {
            auto over = serve(**process, stop);
            const bool ends = over.has_value();  // the run
            if (ends && !killed_) over = end_run(**process);
            if (!over) report_end(over.error());
            station_.gone();
            if (ends) return;
        }
        pause_.grow();
    }
}

/// Until begin_run has returned.
Result<std::unique_ptr<WorkerProcess>> PlugInProcess::start(const std::stop_token& stop) {
    const auto& spec = plug_in_.spec;
    auto process = WEIR_TRY(WorkerProcess::start(plug_in_.command, plug_in_.kind.limits, clock_));
    WEIR_TRY(wait_until_ready(*process, spec, stop));
    WEIR_TRY(process->memory(call_memory));
    out_.clear();
    write_begin_run({.run = run_, .poll_interval = spec.poll_interval, .words = station_.begin_words()}, out_);
    const auto until = in(spec.start_limit);
    process->send(out_);
    WEIR_TRY(wait_for(*process, FromPlugIn::begun, until, clock_, stop, "begin_run does not return within start_limit",
                      take_failed));
    station_.begun();
    const std::scoped_lock lock(mutex_);
    if (begun_) count(restarts_);
    begun_ = true;
    begun_now_.notify_all();
    return process;
}

/// At the start of the run, which fails then: nothing is to be ended.
bool PlugInProcess::fails_to_begin(const Error& why) {
    const std::scoped_lock lock(mutex_);
    if (begun_) return false;
    begin_error_ = why;
    begun_now_.notify_all();
    return true;
}

/// Until the run ends.
Result<> PlugInProcess::serve(WorkerProcess& process, const std::stop_token& stop) {
    WorkerMessage message;
    auto until = in(plug_in_.spec.time_limit);
    while (!stop.stop_requested()) {
        station_.give(process);
        const auto got = [&] {
            const ScopedWait wait(WaitCause::data);
            return process.receive(message, until, stop, wake_.get());
        }();
        if (got == Got::woken) {
            std::uint64_t number = 0;
            [[maybe_unused]] const auto read = ::read(wake_.get(), &number, sizeof number);
            continue;
        }
        if (got == Got::stopped) break;
        if (got != Got::message) return std::unexpected(end_of(process, got, why_it_hangs(call_of(process)), {}));
        WEIR_TRY(take(message, stop));
        until = in(plug_in_.spec.time_limit);
    }
    return {};
}

Result<> PlugInProcess::end_run(WorkerProcess& process) {
    out_.clear();
    write_nothing(ToPlugIn::end_run, out_);
    process.send(out_);
    std::stop_source stopped;
    stopped.request_stop();  // nothing waits any more
    auto ended = wait_for(process, FromPlugIn::ended, end_by_, clock_, {}, "",
                          [&](const WorkerMessage& message) { return take(message, stopped.get_token()); });
    if (ended) return {};
    if (ended.error().code == Errc::limit) ended.error().context = why_it_hangs(call_of(process));
    return std::unexpected(std::move(ended.error()));
}

Result<> PlugInProcess::take(const WorkerMessage& message, const std::stop_token& stop) {
    const auto kind = static_cast<FromPlugIn>(message.kind);
    if (kind == FromPlugIn::alive) return {};
    if (kind == FromPlugIn::failed) {
        const auto failed = WEIR_TRY(read_failed(message.body));
        count(threw_);
        report_threw(report_, plug_in_.kind, plug_in_.spec.file, failed.call, failed.text);
        return corrupt(station_.threw(failed));
    }
    if (kind < FromPlugIn::records) return std::unexpected(out_of_turn());
    WEIR_TRY(corrupt(station_.take(message, stop)));
    pause_.reset();
    return {};
}

void PlugInProcess::report_end(const Error& why) {
    const bool hangs = why.code == Errc::limit;
    count(hangs ? hung_ : crashed_);
    (hangs ? report_hangs : report_crashed)(report_, plug_in_.kind, plug_in_.spec.file, why.context);
}

}  // namespace weir::plugin
