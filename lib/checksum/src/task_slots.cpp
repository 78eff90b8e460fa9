// SPDX-License-Identifier: Apache-2.0
#include "posts.hpp"

#include <sched.h>

#include <optional>

#include "spin.hpp"
#include "weir/base/assert.hpp"
#include "worker_threads.hpp"

namespace weir::checksum {
namespace {

using SteadyClock = std::chrono::steady_clock;

/// From `offered`: exactly one of worker and caller gets the task.
bool move_on(Post& post, PostState from, PostState to, std::memory_order order) noexcept {
    return post.state.compare_exchange_strong(from, to, order, std::memory_order_relaxed);
}

/// Asks for the line of a post as who will write to it, so that it is not asked for a second time.
void fetch_to_write(const Post& post) noexcept {
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0" : : "m"(post.state));
#else
    __builtin_prefetch(&post, 1);
#endif
}

SteadyClock::rep now() noexcept { return SteadyClock::now().time_since_epoch().count(); }

}  // namespace

Posts::Posts(const WorkerOptions& options) : spin_(options.spin), posts_(options.threads) {
    WEIR_ASSERT(options.threads <= WorkerOptions::threads_max);
    const auto cpus = options.pin ? worker_cpus(options.threads, options.cpus) : std::vector<int>();
    for (std::size_t i = 0; i < posts_.size(); ++i) {
        Post& post = posts_[i];
        if (!start_thread(post.worker, [this, &post] { work(post); })) break;
        ++workers_;
        if (!cpus.empty() && !pin_thread(post.worker.native_handle(), cpus[i])) ++pins_refused_;
    }
}

Posts::~Posts() {
    stopping_.store(true, std::memory_order_seq_cst);
    for (auto& post : manned()) wake(post);
    for (auto& post : manned()) post.worker.join();
}

void Posts::work(Post& post) noexcept {
    auto last_seen = SteadyClock::now();
    while (true) {
        for (unsigned look = 0; look < 64 * looks_a_pause; ++look) {
            fetch_to_write(post);
            if (post.state.load(std::memory_order_relaxed) == PostState::offered &&
                move_on(post, PostState::offered, PostState::begun, std::memory_order_acquire)) {
                post.run(post.task.data());
                post.state.store(PostState::done, std::memory_order_release);
                last_seen = SteadyClock::now();
                look = 0;
            }
            if (look % looks_a_pause == 0) pause_processor();
        }
        if (stopping_.load(std::memory_order_relaxed)) return;
        if (SteadyClock::now() - last_seen < spin_) continue;
        sleep(post);
        last_seen = SteadyClock::now();
    }
}

/// Whoever is woken stays awake for a while, also when its task was taken back by then: the next will follow soon.
void Posts::sleep(Post& post) noexcept {
    std::unique_lock lock(post.mutex);
    post.cpu = ::sched_getcpu();
    post.asleep.store(true, std::memory_order_seq_cst);
    post.woken.wait(lock, [&] {
        return !post.asleep.load(std::memory_order_relaxed) ||
               post.state.load(std::memory_order_seq_cst) == PostState::offered ||
               stopping_.load(std::memory_order_seq_cst);
    });
    post.asleep.store(false, std::memory_order_relaxed);
}

void Posts::wake(Post& post) noexcept {
    std::optional<KeptAway> kept_away;
    {
        const std::lock_guard lock(post.mutex);  // a worker between its last look and its sleep is asleep now
        if (post.cpu == ::sched_getcpu()) kept_away.emplace(post.worker.native_handle(), post.cpu);
        post.asleep.store(false, std::memory_order_relaxed);
    }
    post.woken.notify_one();
}

Helpers::Helpers(Posts& posts, std::size_t most, bool lasts) noexcept : posts_(posts), waking_pays_(lasts) {
    std::array<Post*, WorkerOptions::threads_max> sleepers;
    std::size_t sleeping = 0;
    for (auto& post : posts.manned()) {
        if (count_ == most) return;
        fetch_to_write(post);
        if (post.state.load(std::memory_order_relaxed) != PostState::open) continue;  // another caller's
        (post.asleep.load(std::memory_order_relaxed) ? sleepers[sleeping++] : helpers_[count_++]) = &post;
    }
    met_sleeper_ = sleeping != 0;
    if (!met_sleeper_) return;
    waking_pays_ = lasts || follows_closely();
    if (!waking_pays_) return;
    for (std::size_t i = 0; i < sleeping && count_ < most; ++i) helpers_[count_++] = sleepers[i];
}

Helpers::~Helpers() {
    if (met_sleeper_) posts_.last_end_.store(now(), std::memory_order_relaxed);
}

bool Helpers::take(std::size_t i) noexcept {
    if (move_on(*helpers_[i], PostState::open, PostState::taken, std::memory_order_acquire)) return true;
    helpers_[i] = nullptr;
    return false;
}

void Helpers::publish(Post& post) noexcept {
    post.state.store(PostState::offered, std::memory_order_seq_cst);
    if (post.asleep.load(std::memory_order_seq_cst) && waking_pays_) Posts::wake(post);
}

bool Helpers::take_back(std::size_t i) noexcept {
    return helpers_[i] == nullptr ||
           move_on(*helpers_[i], PostState::offered, PostState::open, std::memory_order_relaxed);
}

void Helpers::wait(const Post& post) noexcept {
    spin_until([&] { return post.state.load(std::memory_order_acquire) == PostState::done; });
}

/// On another call that met a sleeper: then a worker, once awake, will have something to do.
bool Helpers::follows_closely() const noexcept {
    return SteadyClock::duration(now() - posts_.last_end_.load(std::memory_order_relaxed)) < posts_.spin_ / 2;
}

}  // namespace weir::checksum
