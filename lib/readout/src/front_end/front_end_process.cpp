// SPDX-License-Identifier: Apache-2.0
// A front-end in a process of its own. One thread gives it triggers and takes its fragments; while the buffers are full
// it does not take them, so the process waits in its next send. A process that ends, hangs or sends nonsense is started
// again after a pause; what it had not read out is lost.
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "front_end/front_end_feed.hpp"
#include "front_end/front_end_messages.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_process.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using Got = plugin::WorkerProcess::Got;

constexpr std::size_t unsent_max = 64U << 10;  // of triggers that the process has not taken yet

class ProcessFeed final : public FrontEndFeed {
public:
    ProcessFeed(const FrontEndPlugin& plugin, RunNumber run, std::vector<SourceId> sources, FragmentDelivery& delivery)
        : plugin_(plugin),
          run_(run),
          sources_(std::move(sources)),
          delivery_(delivery),
          clock_(*plugin.spec.clock),
          pause_(plugin.spec.restart_first, plugin.spec.restart_last, clock_),
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
          thread_("front-end", [this](const std::stop_token& stop) { work(stop); }) {}
    ~ProcessFeed() override { stop(0ms); }

    Result<> begin() override {
        std::unique_lock lock(mutex_);
        const auto limit = 2 * plugin_.spec.start_limit;  // each of its two steps has this limit
        if (!begun_now_.wait_for(lock, limit, [&] { return begun_ || begin_error_; }))
            return fail(Errc::limit, "begin_run does not return within start_limit");
        if (!begun_) return std::unexpected(*begin_error_);
        return {};
    }

    void read_out(std::span<const Trigger> triggers) override {
        std::size_t taken = 0;
        {
            const std::scoped_lock lock(mutex_);
            while (up_ && taken < triggers.size() && waiting_.size() < plugin_.spec.triggers_max)
                waiting_.push_back(triggers[taken++]);
        }
        if (taken > 0) wake();
        for (const auto& trigger : triggers.subspan(taken)) delivery_.lose(trigger.level1_id);
    }

    void stop(std::chrono::milliseconds deadline) override {
        if (!thread_.joinable()) return;
        end_by_ = in(deadline);  // ordered by the stop
        thread_.request_stop();
        wake();
        thread_.join();
    }

    FrontEndStats stats() const override {
        return {.delivery = delivery_.stats(),
                .triggers = asked_.load(std::memory_order_relaxed),
                .threw = threw_.load(std::memory_order_relaxed),
                .hung = hung_.load(std::memory_order_relaxed),
                .crashed = crashed_.load(std::memory_order_relaxed),
                .restarts = restarts_.load(std::memory_order_relaxed)};
    }

private:
    [[nodiscard]] SteadyTime in(std::chrono::nanoseconds time) const { return clock_.now() + time; }
    void wake() const {
        const std::uint64_t one = 1;
        [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
    }

    void work(const std::stop_token& stop) {
        while (pause_.wait(stop)) {
            auto process = start(stop);
            if (!process) {
                if (stop.stop_requested()) return;
                const std::scoped_lock lock(mutex_);
                if (!begun_) {  // the start of the run fails, and nothing is to be ended
                    begin_error_ = process.error();
                    begun_now_.notify_all();
                    return;
                }
                count(crashed_);
                report_crashed(delivery_, process.error().context);
                pause_.grow();
                continue;
            }
            const bool lives = serve(**process, stop);
            if (lives) end(**process);
            const std::scoped_lock lock(mutex_);
            up_ = false;
            for (auto* list : {&in_process_, &waiting_}) {
                for (const auto& trigger : *list) delivery_.lose(trigger.level1_id);
                list->clear();
            }
            if (lives) return;
            pause_.grow();
        }
    }

    /// Until begin_run has returned.
    Result<std::unique_ptr<plugin::WorkerProcess>> start(const std::stop_token& stop) {
        auto process = WEIR_TRY(plugin::WorkerProcess::start(plugin_.command, front_end_limits, clock_));
        WEIR_TRY(expect(*process, FromFrontEnd::ready, stop));
        out_.clear();
        write_begin_run({.run = run_, .poll_interval = plugin_.spec.poll_interval, .sources = sources_}, out_);
        process->send(out_);
        WEIR_TRY(expect(*process, FromFrontEnd::begun, stop));
        const std::scoped_lock lock(mutex_);
        if (begun_) count(restarts_);
        begun_ = up_ = true;
        begun_now_.notify_all();
        return process;
    }

    Result<> expect(plugin::WorkerProcess& process, FromFrontEnd kind, const std::stop_token& stop) {
        plugin::WorkerMessage message;
        const auto until = in(plugin_.spec.start_limit);
        while (true) {
            switch (process.receive(message, until, stop)) {
                case Got::message: break;
                case Got::too_late:
                    return fail(Errc::limit, kind == FromFrontEnd::ready
                                                 ? "it did not load within start_limit"
                                                 : "begin_run does not return within start_limit");
                case Got::stopped: return fail(Errc::limit, "the run stops");
                case Got::nonsense: return fail(Errc::corrupt, process.why_nonsense());
                case Got::woken:
                case Got::ended: return fail(Errc::refused, process.how_it_ended(stop));
            }
            if (message.kind == static_cast<std::uint32_t>(kind)) return {};
            if (message.kind == static_cast<std::uint32_t>(FromFrontEnd::failed)) {
                const auto failed = WEIR_TRY(read_failed(message.body));
                return fail(Errc::refused, std::string(name(failed.call)) + " threw: " + failed.text);
            }
            if (message.kind != static_cast<std::uint32_t>(FromFrontEnd::alive) &&
                message.kind != static_cast<std::uint32_t>(FromFrontEnd::fragments))
                return fail(Errc::corrupt, "its process sent a message that was not its turn");
            if (!take(process, message, stop)) return fail(Errc::corrupt, trouble_);
        }
    }

    /// False: the process is of no more use, which was reported. True: stop was requested.
    bool serve(plugin::WorkerProcess& process, const std::stop_token& stop) {
        plugin::WorkerMessage message;
        auto until = in(plugin_.spec.time_limit);
        while (!stop.stop_requested()) {
            give_triggers(process);
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
            if (!take(process, message, stop)) return crashed(trouble_), false;
            until = in(plugin_.spec.time_limit);
        }
        return true;
    }

    void end(plugin::WorkerProcess& process) {
        out_.clear();
        write_end_run(out_);
        process.send(out_);
        plugin::WorkerMessage message;
        std::stop_source stopped;
        stopped.request_stop();  // of the delivery: there is no room any more
        while (true) {
            const auto got = process.receive(message, end_by_, {});
            if (got != Got::message) return gone(process, got);
            if (message.kind == static_cast<std::uint32_t>(FromFrontEnd::ended)) return;
            if (!take(process, message, stopped.get_token())) return crashed(trouble_);
            if (clock_.now() >= end_by_) return gone(process, Got::too_late);  // it sends on and on
        }
    }

    void give_triggers(plugin::WorkerProcess& process) {
        if (process.unsent() > unsent_max) return;
        batch_.clear();
        {
            const std::scoped_lock lock(mutex_);
            if (waiting_.empty()) return;
            batch_.assign(waiting_.begin(), waiting_.end());
            in_process_.insert(in_process_.end(), waiting_.begin(), waiting_.end());
            waiting_.clear();
        }
        out_.clear();
        write_triggers(batch_, out_);
        process.send(out_);
        asked_.fetch_add(batch_.size(), std::memory_order_relaxed);
    }

    /// False: it is nonsense, for the reason in `trouble_`.
    bool take(plugin::WorkerProcess&, const plugin::WorkerMessage& message, const std::stop_token& stop) {
        switch (static_cast<FromFrontEnd>(message.kind)) {
            case FromFrontEnd::fragments: {
                using Block = wire::BlockReader<wire::InputFragment>;
                Block block(message.body);
                while (true) {
                    switch (block.next()) {
                        case Block::Next::record: break;
                        case Block::Next::bad:
                        case Block::Next::broken: return nonsense(block.why());
                        case Block::Next::end: pause_.reset(); return true;
                    }
                    static_cast<void>(delivery_.deliver(block.record(), stop));  // without room it is counted
                }
            }
            case FromFrontEnd::done: {
                const auto number = read_number(message.body);
                const std::scoped_lock lock(mutex_);
                if (!number || *number > in_process_.size())
                    return nonsense("it read out more triggers than it was given");
                in_process_.erase(in_process_.begin(), in_process_.begin() + *number);
                pause_.reset();
                return true;
            }
            case FromFrontEnd::failed: {
                const auto failed = read_failed(message.body);
                if (!failed) return nonsense(failed.error().context);
                count(threw_);
                report_threw(delivery_, name(failed->call), failed->text);
                if (failed->call != Call::read_out) return true;
                {
                    const std::scoped_lock lock(mutex_);
                    if (std::ranges::find(in_process_, failed->trigger, &Trigger::level1_id) == in_process_.end())
                        return nonsense("it failed at a trigger that it was not given");
                }
                delivery_.lose(failed->trigger);
                return true;
            }
            case FromFrontEnd::alive: return true;
            case FromFrontEnd::ready:
            case FromFrontEnd::begun:
            case FromFrontEnd::ended: break;
        }
        return nonsense("its process sent a message that was not its turn");
    }
    bool nonsense(std::string why) { return trouble_ = std::move(why), false; }

    void gone(plugin::WorkerProcess& process, Got got) {
        if (got != Got::too_late)
            return crashed(got == Got::nonsense ? process.why_nonsense() : process.how_it_ended({}));
        count(hung_);
        report_hangs(delivery_, "a call", true);
    }
    void crashed(const std::string& why) {
        count(crashed_);
        report_crashed(delivery_, why);
    }
    static void count(std::atomic<std::uint64_t>& counter) { counter.fetch_add(1, std::memory_order_relaxed); }

    const FrontEndPlugin plugin_;
    const RunNumber run_;
    const std::vector<SourceId> sources_;
    FragmentDelivery& delivery_;
    const Clock& clock_;
    std::atomic<std::uint64_t> asked_{0}, threw_{0}, hung_{0}, crashed_{0}, restarts_{0};  // to be looked at: relaxed
    SteadyTime end_by_{};

    std::mutex mutex_;
    std::condition_variable begun_now_;
    bool begun_ = false, up_ = false;
    std::optional<Error> begin_error_;
    std::deque<Trigger> waiting_, in_process_;  // not given to the process yet; given and not read out

    // Of the thread.
    plugin::RestartPause pause_;
    std::vector<std::byte> out_;
    std::vector<Trigger> batch_;
    std::string trouble_;

    const Descriptor wake_;
    NamedThread thread_;  // last: it uses all others
};

}  // namespace

std::unique_ptr<FrontEndFeed> make_process_feed(const FrontEndPlugin& plugin, RunNumber run,
                                                std::vector<SourceId> sources, FragmentDelivery& delivery) {
    return std::make_unique<ProcessFeed>(plugin, run, std::move(sources), delivery);
}

}  // namespace weir::readout
