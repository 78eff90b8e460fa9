// SPDX-License-Identifier: Apache-2.0
#include "triggers/plug_in/trigger_process.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "weir/base/thread_account.hpp"
#include "weir/plugin/worker_command.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
using Got = plugin::WorkerProcess::Got;

/// Until the file is loaded. Error: with the reason, which names no file.
Result<> wait_until_ready(plugin::WorkerProcess& process, SteadyTime until, const std::stop_token& stop) {
    plugin::WorkerMessage message;
    switch (process.receive(message, until, stop)) {
        case Got::message: break;
        case Got::too_late: return fail(Errc::limit, "it did not load within start_limit");
        case Got::stopped: return fail(Errc::limit, "the run stops");
        case Got::nonsense: return fail(Errc::corrupt, process.why_nonsense());
        case Got::woken:
        case Got::ended: return fail(Errc::refused, process.how_it_ended(stop));
    }
    if (message.kind == static_cast<std::uint32_t>(FromTriggerPlugIn::ready)) return {};
    if (message.kind == static_cast<std::uint32_t>(FromTriggerPlugIn::failed))
        return fail(Errc::refused, WEIR_TRY(read_trigger_call_failed(message.body)).text);
    return fail(Errc::corrupt, "its process sent something else than that it is ready");
}

}  // namespace

Result<> TriggerPlugInSpec::check(const std::string& file) {
    return plugin::check_plugin_file(file, "trigger plug-in");
}

Result<TriggerPlugInFile> TriggerPlugInFile::open(const TriggerPlugInSpec& spec) {
    WEIR_TRY(TriggerPlugInSpec::check(spec.file));
    std::error_code error;
    TriggerPlugInFile file{.spec = spec,
                           .command = WEIR_TRY(plugin::worker_command({.program = "weir-trigger-worker",
                                                                       .script = "weir_trigger_worker.py",
                                                                       .python = spec.python,
                                                                       .folder = spec.programs},
                                                                      std::filesystem::absolute(spec.file, error)))};
    const auto tried = [&]() -> Result<> {
        const auto process = WEIR_TRY(plugin::WorkerProcess::start(file.command, trigger_message_limits, *spec.clock));
        return wait_until_ready(*process, spec.clock->now() + spec.start_limit, {});
    }();
    if (!tried)
        return fail(Errc::usage, fmt::format("the trigger plug-in {} cannot be loaded: {}", spec.file,
                                             on_one_line(tried.error().message(), 500)));
    return file;
}

TriggerProcess::TriggerProcess(const TriggerPlugInFile& plug_in, RunNumber run, PlugInTriggers& triggers,
                               const Reporter& report, std::function<void()> came)
    : plug_in_(plug_in),
      run_(run),
      triggers_(triggers),
      report_(report),
      came_(std::move(came)),
      clock_(*plug_in.spec.clock),
      pause_(plug_in.spec.restart_first, plug_in.spec.restart_last, clock_),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    triggers_.use([this] { wake(); });
    thread_ = NamedThread("trigger plug-in", [this](const std::stop_token& stop) { work(stop); });
}

TriggerProcess::~TriggerProcess() {
    end();
    join();
    triggers_.use({});
}

void TriggerProcess::wake() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

Result<> TriggerProcess::begin() {
    std::unique_lock lock(mutex_);
    const auto limit = 2 * plug_in_.spec.start_limit;  // each of its two steps has this limit
    if (!begun_now_.wait_for(lock, limit, [&] { return begun_ || begin_error_; }))
        return fail(Errc::limit, "begin_run does not return within start_limit");
    if (!begun_) return std::unexpected(*begin_error_);
    return {};
}

void TriggerProcess::end() {
    thread_.request_stop();
    wake();
}

void TriggerProcess::join() {
    if (thread_.joinable()) thread_.join();
}

TriggerProcess::Stats TriggerProcess::stats() const noexcept {
    return {.threw = threw_.load(std::memory_order_relaxed),
            .hung = hung_.load(std::memory_order_relaxed),
            .crashed = crashed_.load(std::memory_order_relaxed),
            .restarts = restarts_.load(std::memory_order_relaxed)};
}

void TriggerProcess::work(const std::stop_token& stop) {
    while (pause_.wait(stop)) {
        auto process = start(stop);
        if (!process) {
            if (stop.stop_requested()) return;
            {
                const std::scoped_lock lock(mutex_);
                if (!begun_) {  // the start of the run fails, and nothing is to be ended
                    begin_error_ = process.error();
                    begun_now_.notify_all();
                    return;
                }
            }
            crashed(process.error().context);
            pause_.grow();
            continue;
        }
        if (serve(**process, stop)) return end_run(**process);
        pause_.grow();
    }
}

/// Until begin_run has returned.
Result<std::unique_ptr<plugin::WorkerProcess>> TriggerProcess::start(const std::stop_token& stop) {
    auto process = WEIR_TRY(plugin::WorkerProcess::start(plug_in_.command, trigger_message_limits, clock_));
    WEIR_TRY(wait_until_ready(*process, in(plug_in_.spec.start_limit), stop));
    came_in_ = credit_ = 0;
    out_.clear();
    write_begin_triggers({.run = run_, .next = triggers_.next_id(), .poll_interval = plug_in_.spec.poll_interval},
                         out_);
    process->send(out_);
    WEIR_TRY(expect(*process, FromTriggerPlugIn::begun, stop));
    const std::scoped_lock lock(mutex_);
    if (begun_) restarts_.fetch_add(1, std::memory_order_relaxed);
    begun_ = true;
    begun_now_.notify_all();
    return process;
}

Result<> TriggerProcess::expect(plugin::WorkerProcess& process, FromTriggerPlugIn kind, const std::stop_token& stop) {
    plugin::WorkerMessage message;
    const auto until = in(plug_in_.spec.start_limit);
    while (true) {
        switch (process.receive(message, until, stop)) {
            case Got::message: break;
            case Got::too_late: return fail(Errc::limit, "begin_run does not return within start_limit");
            case Got::stopped: return fail(Errc::limit, "the run stops");
            case Got::nonsense: return fail(Errc::corrupt, process.why_nonsense());
            case Got::woken:
            case Got::ended: return fail(Errc::refused, process.how_it_ended(stop));
        }
        if (message.kind == static_cast<std::uint32_t>(kind)) return {};
        if (message.kind == static_cast<std::uint32_t>(FromTriggerPlugIn::failed)) {
            const auto failed = WEIR_TRY(read_trigger_call_failed(message.body));
            return fail(Errc::refused, std::string(name(failed.call)) + " threw: " + failed.text);
        }
        if (message.kind != static_cast<std::uint32_t>(FromTriggerPlugIn::alive))
            return fail(Errc::corrupt, "its process sent a message that was not its turn");
    }
}

/// False: the process is of no more use, which was reported. True: the run ends.
bool TriggerProcess::serve(plugin::WorkerProcess& process, const std::stop_token& stop) {
    plugin::WorkerMessage message;
    auto until = in(plug_in_.spec.time_limit);
    while (!stop.stop_requested()) {
        give_credit(process);
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
        if (got != Got::message) return gone(process, got), false;
        if (!take(message, false)) return crashed(trouble_), false;
        until = in(plug_in_.spec.time_limit);
    }
    return true;
}

void TriggerProcess::end_run(plugin::WorkerProcess& process) {
    out_.clear();
    write_nothing(ToTriggerPlugIn::end_run, out_);
    process.send(out_);
    plugin::WorkerMessage message;
    const auto until = in(2 * plug_in_.spec.time_limit);  // the rest of a poll, and end_run
    while (true) {
        const auto got = process.receive(message, until, {});
        if (got != Got::message) return gone(process, got);
        if (message.kind == static_cast<std::uint32_t>(FromTriggerPlugIn::ended)) return;
        if (!take(message, true)) return crashed(trouble_);
        if (clock_.now() >= until) return gone(process, Got::too_late);  // it sends on and on
    }
}

void TriggerProcess::give_credit(plugin::WorkerProcess& process) {
    const auto credit = came_in_ + triggers_.room();
    if (credit <= credit_) return;
    credit_ = credit;
    out_.clear();
    write_credit(credit, out_);
    process.send(out_);
}

/// False: it is nonsense, for the reason in `trouble_`.
bool TriggerProcess::take(const plugin::WorkerMessage& message, bool ending) {
    switch (static_cast<FromTriggerPlugIn>(message.kind)) {
        case FromTriggerPlugIn::triggers: return take_triggers(message.body, ending);
        case FromTriggerPlugIn::failed: {
            const auto failed = read_trigger_call_failed(message.body);
            if (!failed) return nonsense(failed.error().context);
            threw_.fetch_add(1, std::memory_order_relaxed);
            report("trigger plug-in threw",
                   fmt::format("in {}: {}", name(failed->call), on_one_line(failed->text, 500)),
                   "it is called again; look whether triggers were lost", "trigger_plug_in_threw");
            return true;
        }
        case FromTriggerPlugIn::alive: return true;
        case FromTriggerPlugIn::ready:
        case FromTriggerPlugIn::begun:
        case FromTriggerPlugIn::ended: break;
    }
    return nonsense("its process sent a message that was not its turn");
}

bool TriggerProcess::take_triggers(ConstData bytes, bool ending) {
    using Block = wire::BlockReader<wire::InputTrigger>;
    Block block(bytes);
    while (true) {
        switch (block.next()) {
            case Block::Next::record: break;
            case Block::Next::bad:
            case Block::Next::broken: return nonsense(block.why());
            case Block::Next::end: pause_.reset(); return true;
        }
        if (!ending && came_in_ >= credit_) return nonsense("it sent more triggers than it had credit for");
        ++came_in_;
        if (triggers_.add(block.record())) came_();
    }
}

void TriggerProcess::gone(plugin::WorkerProcess& process, Got got) {
    if (got != Got::too_late) return crashed(got == Got::nonsense ? process.why_nonsense() : process.how_it_ended({}));
    hung_.fetch_add(1, std::memory_order_relaxed);
    report("trigger plug-in hangs", "a call does not return within time_limit",
           "its process is killed, and started again in a run; what its unit saw meanwhile is lost",
           "trigger_plug_in_hangs");
}

void TriggerProcess::crashed(const std::string& why) {
    crashed_.fetch_add(1, std::memory_order_relaxed);
    report("trigger plug-in crashed", on_one_line(why, 500),
           "its process is started again in a run; what its unit saw meanwhile is lost", "trigger_plug_in_crashed");
}

void TriggerProcess::report(const char* what, const std::string& why, const char* advice, const char* alarm) const {
    report_({.severity = Severity::error,
             .what = what,
             .where = plug_in_.spec.file,
             .why = why,
             .advice = advice,
             .alarm = alarm});
}

}  // namespace weir::selection
