// SPDX-License-Identifier: Apache-2.0
// A front-end in a thread of the readout. A call that never returns holds up this thread only: it is named, and left
// behind when the run stops.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "front_end/front_end_feed.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/stoppable_sleep.hpp"
#include "weir/plugin/plug_in_kind.hpp"
#include "weir/plugin/thrown_by.hpp"

namespace weir::readout {
namespace {

using namespace std::chrono_literals;
using plugin::Call;

/// Shared between the feed and a thread that was left behind, which uses nothing else of the readout any more.
struct Shared {
    FrontEndPlugin plugin;
    RunNumber run{};
    std::vector<SourceId> sources;
    FragmentDelivery* delivery = nullptr;  // with_delivery()
    std::stop_source stop;

    std::mutex mutex;
    std::condition_variable wake, changed;
    std::deque<Trigger> triggers;
    std::size_t inside = 0;  // calls that use `delivery`
    bool abandoned = false;  // the thread was left behind: neither delivery nor clock may be there any more
    bool closed = false;     // takes no triggers any more
    bool begun = false, ended = false;
    std::optional<Error> begin_error;

    // The call that goes on. `since`: steady nanoseconds, 0: none, or it waits for room; released by the thread and
    // acquired by those who look, which orders `call`.
    std::atomic<std::int64_t> since{0};
    std::atomic<Call> call{Call::load};
    std::atomic<std::uint64_t> asked{0}, threw{0};

    // All below: by the thread.

    void begin_call(Call which) {
        const std::scoped_lock lock(mutex);
        call.store(which, std::memory_order_relaxed);
        go_on();
    }
    void end_call() noexcept { since.store(0, std::memory_order_release); }

    /// Does `work` with the delivery; its time does not count. False: the readout has left this thread behind.
    template <class Work>
    bool with_delivery(Work&& work) {
        const bool in_call = since.load(std::memory_order_relaxed) != 0;
        {
            const std::scoped_lock lock(mutex);
            if (abandoned) return false;
            ++inside;
            end_call();
        }
        const bool result = work(*delivery);
        const std::scoped_lock lock(mutex);
        if (in_call) go_on();
        if (--inside == 0) changed.notify_all();
        return result;
    }

private:
    void go_on() {
        if (abandoned) return;
        const std::int64_t now = plugin.spec.clock->now().time_since_epoch().count();
        since.store(std::max<std::int64_t>(now, 1), std::memory_order_release);  // a clock may begin at 0
    }
};

class Sink final : public FragmentSink {
public:
    explicit Sink(Shared& shared) : shared_(shared), stop_(shared.stop.get_token()) {}
    bool send(const wire::InputFragment& fragment) override {
        sent = true;
        return shared_.with_delivery([&](FragmentDelivery& delivery) {
            if (fragment.level1_id || !trigger) return delivery.deliver(fragment, stop_);
            auto numbered = fragment;
            numbered.level1_id = trigger;
            return delivery.deliver(numbered, stop_);
        });
    }
    std::optional<Level1Id> trigger;  // that is read out now
    bool sent = false;

private:
    Shared& shared_;
    const std::stop_token stop_;
};

/// Of the plug-in: foreign code, whose exceptions end here. Nothing: it returned; else what it threw.
template <class Work>
std::optional<std::string> guarded(Shared& shared, Call call, Work&& work) {
    shared.begin_call(call);
    auto thrown = plugin::thrown_by(work);
    shared.end_call();
    return thrown;
}

class FrontEndCalls {
public:
    explicit FrontEndCalls(Shared& shared) : shared_(shared), sink_(shared) {}

    void run() {
        auto thrown = guarded(shared_, Call::load, [&] { front_end_.reset(shared_.plugin.face.make()); });
        if (!thrown)
            thrown = guarded(shared_, Call::begin_run, [&] { front_end_->begin_run(shared_.run, shared_.sources); });
        {
            const std::scoped_lock lock(shared_.mutex);
            if (thrown) shared_.begin_error = Error{Errc::refused, 0, *thrown};
            shared_.begun = true;
        }
        shared_.changed.notify_all();
        if (!thrown) {
            const auto stop = shared_.stop.get_token();
            while (!stop.stop_requested()) step(stop);
            if (auto late = guarded(shared_, Call::end_run, [&] { front_end_->end_run(sink_); }))
                threw(Call::end_run, *late);
        }
        static_cast<void>(guarded(shared_, Call::end_run, [&] { front_end_.reset(); }));
    }

private:
    void step(const std::stop_token& stop) {
        std::optional<Trigger> trigger;
        {
            std::unique_lock lock(shared_.mutex);
            if (shared_.triggers.empty() && rests_) {
                const auto ready = [&] { return !shared_.triggers.empty() || stop.stop_requested(); };
                const ScopedWait wait(WaitCause::timer);
                if (shared_.plugin.polls) {
                    shared_.wake.wait_for(lock, shared_.plugin.spec.poll_interval, ready);
                } else {
                    shared_.wake.wait(lock, ready);
                }
            }
            if (!shared_.triggers.empty()) {
                trigger = shared_.triggers.front();
                shared_.triggers.pop_front();
            }
        }
        if (stop.stop_requested() && !trigger) return;
        sink_.sent = false;
        if (trigger) return read_out(*trigger);
        rests_ = true;
        if (!shared_.plugin.polls) return;
        if (auto thrown = guarded(shared_, Call::poll, [&] { front_end_->poll(sink_); })) {
            threw(Call::poll, *thrown);
            const auto& spec = shared_.plugin.spec;
            pause_ = pause_ == 0ms ? spec.restart_first : std::min(2 * pause_, spec.restart_last);
            static_cast<void>(stoppable_sleep(pause_, stop));
        } else {
            pause_ = 0ms;
            rests_ = !sink_.sent;
        }
    }

    void read_out(const Trigger& trigger) {
        shared_.asked.fetch_add(1, std::memory_order_relaxed);
        sink_.trigger = trigger.level1_id;
        auto thrown = guarded(shared_, Call::read_out, [&] { front_end_->read_out(trigger, sink_); });
        sink_.trigger.reset();
        rests_ = false;
        if (!thrown) return;
        threw(Call::read_out, *thrown);
        shared_.with_delivery([&](FragmentDelivery& delivery) {
            delivery.lose(trigger.level1_id);
            return true;
        });
    }

    void threw(Call call, const std::string& why) {
        shared_.threw.fetch_add(1, std::memory_order_relaxed);
        shared_.with_delivery([&](FragmentDelivery& delivery) {
            report_threw(delivery.report(), front_end_kind(FrontEndRuns::thread), delivery.front_end(), call, why);
            return true;
        });
    }

    Shared& shared_;
    Sink sink_;
    std::chrono::milliseconds pause_{0};
    std::unique_ptr<FrontEnd> front_end_;
    bool rests_ = false;  // nothing was to do
};

class ThreadFeed final : public FrontEndFeed {
public:
    ThreadFeed(const FrontEndPlugin& plugin, RunNumber run, std::vector<SourceId> sources, FragmentDelivery& delivery)
        : shared_(std::make_shared<Shared>()), delivery_(delivery) {
        shared_->plugin = plugin;
        shared_->run = run;
        shared_->sources = std::move(sources);
        shared_->delivery = &delivery;
        thread_ = std::thread([shared = shared_, accounts = ThreadAccounts::of_this_thread()] {
            name_this_thread("front-end");
            std::unique_ptr<ThreadAccounts::Entry> entry;
            if (accounts != nullptr) entry = std::make_unique<ThreadAccounts::Entry>(*accounts, "front-end");
            FrontEndCalls(*shared).run();
            const std::scoped_lock lock(shared->mutex);
            // The accounts may be gone when a thread that was left behind ends: it leaves its entry there.
            if (shared->abandoned) static_cast<void>(entry.release());
            entry.reset();
            shared->ended = true;
            shared->changed.notify_all();
        });
        watch_ = NamedThread("front-end watch", [this](const std::stop_token& stop) { watch(stop); });
    }
    /// Without stop() nobody waited for it: only a call over its limit is named.
    ~ThreadFeed() override { stop(0ms, false); }

    Result<> begin() override {
        std::unique_lock lock(shared_->mutex);
        if (!shared_->changed.wait_for(lock, shared_->plugin.spec.start_limit, [&] { return shared_->begun; }))
            return fail(Errc::limit, "begin_run does not return within start_limit");
        if (shared_->begin_error) return fail(Errc::refused, "begin_run threw: " + shared_->begin_error->context);
        return {};
    }

    void read_out(std::span<const Trigger> triggers) override {
        std::size_t taken = 0;
        {
            const std::scoped_lock lock(shared_->mutex);
            while (!shared_->closed && taken < triggers.size() &&
                   shared_->triggers.size() < shared_->plugin.spec.triggers_max)
                shared_->triggers.push_back(triggers[taken++]);
        }
        shared_->wake.notify_one();
        for (const auto& trigger : triggers.subspan(taken)) delivery_.lose(trigger.level1_id);
    }

    void stop(std::chrono::milliseconds deadline) override { stop(deadline, true); }

    FrontEndStats stats() const override {
        return {.delivery = delivery_.stats(),
                .triggers = shared_->asked.load(std::memory_order_relaxed),
                .threw = shared_->threw.load(std::memory_order_relaxed),
                .hung = hung_.load(std::memory_order_relaxed),
                .hanging = std::max(0ns, in_call() - limit())};
    }

private:
    /// `waited`: what is not over after the deadline hangs.
    void stop(std::chrono::milliseconds deadline, bool waited) {
        if (!thread_.joinable()) return;
        shared_->stop.request_stop();
        std::deque<Trigger> left;
        bool all = false;
        {
            std::unique_lock lock(shared_->mutex);
            shared_->wake.notify_all();
            shared_->closed = true;
            left.swap(shared_->triggers);
            all = shared_->changed.wait_for(lock, deadline, [&] { return shared_->ended; });
            shared_->abandoned = !all;
            // A thread that delivers notices the stop: only a call may be left behind.
            shared_->changed.wait(lock, [&] { return shared_->inside == 0; });
        }
        watch_ = {};
        for (const auto& trigger : left) delivery_.lose(trigger.level1_id);
        if (all) {
            thread_.join();
        } else {
            look(waited);
            thread_.detach();
        }
    }
    [[nodiscard]] std::chrono::nanoseconds in_call() const {
        const auto since = shared_->since.load(std::memory_order_acquire);
        return since == 0 ? 0ns
                          : shared_->plugin.spec.clock->now().time_since_epoch() - std::chrono::nanoseconds(since);
    }
    [[nodiscard]] std::chrono::nanoseconds limit() const {
        const auto& spec = shared_->plugin.spec;
        const bool starts = shared_->call.load(std::memory_order_relaxed) <= Call::begin_run;
        return starts ? spec.start_limit : spec.time_limit;
    }
    void watch(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            {
                const ScopedWait wait(WaitCause::timer);
                std::unique_lock lock(shared_->mutex);
                std::condition_variable_any timer;
                timer.wait_for(lock, stop, std::min<std::chrono::milliseconds>(100ms, shared_->plugin.spec.time_limit),
                               [] { return false; });
            }
            look();
        }
    }
    void look(bool left_behind = false) {
        const auto since = shared_->since.load(std::memory_order_acquire);
        if (!left_behind && (since == 0 || in_call() <= limit())) return;
        if (since != 0 && since == reported_) return;
        reported_ = since;
        hung_.fetch_add(1, std::memory_order_relaxed);
        const auto call =
            since == 0 ? Call::end_run : shared_->call.load(std::memory_order_relaxed);  // 0: not yet in it
        report_hangs(delivery_.report(), front_end_kind(FrontEndRuns::thread), delivery_.front_end(),
                     plugin::why_it_hangs(call));
    }

    std::shared_ptr<Shared> shared_;
    FragmentDelivery& delivery_;
    std::atomic<std::uint64_t> hung_{0};
    std::int64_t reported_ = 0;  // of the watch, and of stop() after it
    std::thread thread_;
    NamedThread watch_;
};

}  // namespace

std::unique_ptr<FrontEndFeed> make_thread_feed(const FrontEndPlugin& plugin, RunNumber run,
                                               std::vector<SourceId> sources, FragmentDelivery& delivery) {
    return std::make_unique<ThreadFeed>(plugin, run, std::move(sources), delivery);
}

}  // namespace weir::readout
