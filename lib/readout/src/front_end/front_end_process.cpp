// SPDX-License-Identifier: Apache-2.0
// A front-end in a process of its own (weir/plugin/plug_in_process.hpp): it is given triggers, and its fragments are
// taken; while the buffers are full they are not, so the process waits in its next send. What a process that died had
// not read out is lost.
#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <utility>

#include "front_end/front_end_feed.hpp"
#include "front_end/front_end_messages.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t unsent_max = 64U << 10;  // of triggers that the process has not taken yet

class ProcessFeed final : public FrontEndFeed, private plugin::PlugInProcess::Station {
public:
    ProcessFeed(const FrontEndPlugin& plugin, RunNumber run, std::vector<SourceId> sources, FragmentDelivery& delivery)
        : triggers_max_(plugin.spec.triggers_max),
          sources_(std::move(sources)),
          delivery_(delivery),
          process_(*plugin.program, run, delivery.report(), *this) {}
    ~ProcessFeed() override = default;

    Result<> begin() override { return process_.begin(); }

    void read_out(std::span<const Trigger> triggers) override {
        std::size_t taken = 0;
        {
            const std::scoped_lock lock(mutex_);
            while (up_ && taken < triggers.size() && waiting_.size() < triggers_max_)
                waiting_.push_back(triggers[taken++]);
        }
        if (taken > 0) process_.wake();
        for (const auto& trigger : triggers.subspan(taken)) delivery_.lose(trigger.level1_id);
    }

    void stop(std::chrono::milliseconds deadline) override {
        process_.end(deadline);
        process_.join();
    }

    FrontEndStats stats() const override {
        const auto process = process_.stats();
        return {.delivery = delivery_.stats(),
                .triggers = asked_.load(std::memory_order_relaxed),
                .threw = process.threw,
                .hung = process.hung,
                .crashed = process.crashed,
                .restarts = process.restarts};
    }

private:
    std::vector<std::uint32_t> begin_words() override {
        std::vector<std::uint32_t> words;
        for (const auto source : sources_) words.push_back(number(source));
        return words;
    }
    void begun() override {
        const std::scoped_lock lock(mutex_);
        up_ = true;
    }

    void give(plugin::WorkerProcess& process) override {
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

    Result<> take(const plugin::WorkerMessage& message, const std::stop_token& stop) override {
        if (message.kind == static_cast<std::uint32_t>(plugin::FromPlugIn::records))
            return take_fragments(message.body, stop);
        const auto read_out = WEIR_TRY(plugin::read_number<std::uint32_t>(message.body));
        const std::scoped_lock lock(mutex_);
        if (read_out > in_process_.size()) return fail(Errc::corrupt, "it read out more triggers than it was given");
        in_process_.erase(in_process_.begin(), in_process_.begin() + read_out);
        return {};
    }
    Result<> take_fragments(ConstData bytes, const std::stop_token& stop) {
        using Block = wire::BlockReader<wire::InputFragment>;
        Block block(bytes);
        while (true) {
            switch (block.next()) {
                case Block::Next::record: break;
                case Block::Next::bad:
                case Block::Next::broken: return fail(Errc::corrupt, block.why());
                case Block::Next::end: return {};
            }
            static_cast<void>(delivery_.deliver(block.record(), stop));  // without room it is counted
        }
    }

    Result<> threw(const plugin::Failed& failed) override {
        if (failed.call != plugin::Call::read_out) return {};
        {
            const std::scoped_lock lock(mutex_);
            if (std::ranges::find(in_process_, failed.trigger, &Trigger::level1_id) == in_process_.end())
                return fail(Errc::corrupt, "it failed at a trigger that it was not given");
        }
        delivery_.lose(failed.trigger);
        return {};
    }

    void gone() override {
        const std::scoped_lock lock(mutex_);
        up_ = false;
        for (auto* list : {&in_process_, &waiting_}) {
            for (const auto& trigger : *list) delivery_.lose(trigger.level1_id);
            list->clear();
        }
    }

    const std::size_t triggers_max_;
    const std::vector<SourceId> sources_;
    FragmentDelivery& delivery_;
    std::atomic<std::uint64_t> asked_{0};  // to be looked at: relaxed

    std::mutex mutex_;
    bool up_ = false;                           // the process takes triggers
    std::deque<Trigger> waiting_, in_process_;  // not given to the process yet; given and not read out

    // Of the thread of the process.
    std::vector<std::byte> out_;
    std::vector<Trigger> batch_;

    plugin::PlugInProcess process_;  // last: it uses all others
};

}  // namespace

std::unique_ptr<FrontEndFeed> make_process_feed(const FrontEndPlugin& plugin, RunNumber run,
                                                std::vector<SourceId> sources, FragmentDelivery& delivery) {
    return std::make_unique<ProcessFeed>(plugin, run, std::move(sources), delivery);
}

}  // namespace weir::readout
