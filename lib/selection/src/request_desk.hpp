// SPDX-License-Identifier: Apache-2.0
// Where workers whose selection has requested further fragments meet the unit's thread, which collects them. The worker
// sleeps until they are here; the unit goes on with other events. After close() nobody waits here any more: a thread
// that was left behind by its station may still come.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weir/base/thread_account.hpp"
#include "weir/selection/selection_unit.hpp"

namespace weir::selection {

class RequestDesk {
public:
    /// `wake` has the unit's thread call take() soon; not called after close().
    explicit RequestDesk(std::function<void()> wake) : wake_(std::move(wake)) {}

    /// In a worker: waits for the fragments. Nothing: they will not come, as the unit stops or has discarded the event.
    [[nodiscard]] std::unique_ptr<CollectedEvent> collect(UnitRequest request) {
        std::unique_lock lock(mutex_);
        if (closed_) return nullptr;
        request.id = ++last_;
        Waiting waiting;
        waiting_.emplace(request.id, &waiting);
        asked_.push_back(std::move(request));
        if (asked_.size() == 1) wake_();
        const ScopedWait wait(WaitCause::data);
        waiting.here.wait(lock, [&] { return waiting.done; });
        return std::move(waiting.fragments);
    }

    /// In the unit's thread: what was requested since the last call.
    [[nodiscard]] std::deque<UnitRequest> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(asked_, {});
    }
    void answer(std::uint64_t id, std::unique_ptr<CollectedEvent> fragments) {
        const std::scoped_lock lock(mutex_);
        const auto found = waiting_.find(id);
        if (found != waiting_.end()) end(found, std::move(fragments));
    }
    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        asked_.clear();
        while (!waiting_.empty()) end(waiting_.begin(), nullptr);
    }

private:
    struct Waiting {  // on the stack of its worker
        std::condition_variable here;
        bool done = false;
        std::unique_ptr<CollectedEvent> fragments;
    };
    using Place = std::unordered_map<std::uint64_t, Waiting*>::iterator;

    void end(Place place, std::unique_ptr<CollectedEvent> fragments) {
        auto& waiting = *place->second;
        waiting_.erase(place);
        waiting.fragments = std::move(fragments);
        waiting.done = true;
        waiting.here.notify_one();  // with the lock held: the worker destroys it afterwards
    }

    const std::function<void()> wake_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, Waiting*> waiting_;
    std::deque<UnitRequest> asked_;  // at most one for each worker
    std::uint64_t last_ = 0;
    bool closed_ = false;
};

/// The requests of one event in a unit: Event::requests of a worker. Shared with the desk by workers that were left
/// behind.
class UnitEventRequests final : public FragmentRequests {
public:
    UnitEventRequests(std::shared_ptr<RequestDesk> desk, const UnitTask& task)
        : desk_(std::move(desk)), ticket_(task.data->ticket), session_(task.session) {}
    ~UnitEventRequests() = default;

    std::span<const Fragment> request(std::span<const SourceId> sources) override {
        auto collected =
            desk_->collect({.session = session_, .ticket = ticket_, .sources = {sources.begin(), sources.end()}});
        if (!collected) {
            collected = std::make_unique<CollectedEvent>();
            for (const auto source : sources) collected->fragments.push_back({source, FragmentState::missing, {}});
        }
        return collected_.emplace_back(std::move(collected))->fragments;
    }
    const Fragment* find(SourceId) const noexcept override { return nullptr; }

private:
    const std::shared_ptr<RequestDesk> desk_;
    const wire::EventTicket ticket_;
    const std::uint64_t session_;
    std::vector<std::unique_ptr<CollectedEvent>> collected_;
};

}  // namespace weir::selection
