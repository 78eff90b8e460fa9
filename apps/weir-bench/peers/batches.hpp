// SPDX-License-Identifier: Apache-2.0
// Threads that do the same work at the same time, in short batches: all wait for each other, look at the clock, work,
// look at the clock. Spare processors are kept busy by further copies of the job, as in the talk that this draws again:
// processes of their own, which share nothing with it but the machine (clock rate, memory, hypervisor).
#pragma once

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "job.hpp"
#include "windows.hpp"

namespace weir::jobs {

struct Visit {
    unsigned threads = 1;
    std::size_t batches = 20;
    double seconds = 0.0003;  // of a batch, about
    std::size_t place = 0;    // in memory
    bool copies = true;       // on the processors without a thread
    std::vector<int> cpus;    // where threads are placed, in this order; the copies behind them
};

inline double seconds_now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline void stay_on(int cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);  // refused: the figures are noisier
}

/// Threads that wait for each other without sleeping; one that has no processor yields.
class Meeting {
public:
    explicit Meeting(unsigned threads) : threads_(threads) {}
    void meet() {
        const auto mine = arrived_.fetch_add(1, std::memory_order_acq_rel);
        const auto wanted = (mine / threads_ + 1) * threads_;
        for (unsigned spins = 0; arrived_.load(std::memory_order_acquire) < wanted; ++spins)
            if (spins % 4096 == 4095) std::this_thread::yield();
    }

private:
    const std::uint64_t threads_;
    alignas(64) std::atomic<std::uint64_t> arrived_{0};  // partner: itself
};

/// Processes that do the job over and over, one for every `threads` remaining processors.
class Copies {
public:
    Copies(const Job& job, unsigned threads, const std::vector<int>& cpus) {
        if (cpus.empty()) return;
        void* const page = ::mmap(nullptr, sizeof *ready_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) return;
        ready_ = new (page) std::atomic<std::uint64_t>(0);
        const auto parent = ::getpid();
        for (std::size_t at = 0; at < cpus.size(); at += threads) {
            const std::vector<int> own(cpus.begin() + static_cast<std::ptrdiff_t>(at),
                                       cpus.begin() + static_cast<std::ptrdiff_t>(std::min(cpus.size(), at + threads)));
            const auto pid = ::fork();
            if (pid == 0) {
                ::prctl(PR_SET_PDEATHSIG, SIGKILL);
                if (::getppid() != parent) ::_exit(0);
                work(job, own);
            }
            if (pid > 0) pids_.push_back(pid);
        }
        const auto late = seconds_now() + 5;
        while (ready_->load(std::memory_order_acquire) < cpus.size() && seconds_now() < late)
            std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    Copies(const Copies&) = delete;
    Copies& operator=(const Copies&) = delete;
    ~Copies() {
        for (const auto pid : pids_) ::kill(pid, SIGKILL);
        for (const auto pid : pids_) ::waitpid(pid, nullptr, 0);
        if (ready_ != nullptr) ::munmap(ready_, sizeof *ready_);
    }

private:
    [[noreturn]] void work(const Job& job, const std::vector<int>& cpus) const {
        std::vector<std::thread> threads;
        for (const int cpu : cpus) {
            threads.emplace_back([this, &job, cpu] {
                stay_on(cpu);
                const auto mine = job.make();
                mine->run(1);
                ready_->fetch_add(1, std::memory_order_release);
                while (true) mine->run(100);
            });
        }
        while (true) ::pause();
    }

    std::vector<pid_t> pids_;
    std::atomic<std::uint64_t>* ready_ = nullptr;  // threads of copies at work; partner: the same page in the copies
};

/// Runs the batches of one visit. The number of operations in a batch is found first: no batch of that counts.
[[nodiscard]] inline Figures measure(const Job& job, const Visit& visit) {
    constexpr std::size_t warming = 4;
    const auto threads = visit.threads;
    const auto placed = std::min<std::size_t>(threads, visit.cpus.size());
    const Copies copies(
        job, threads,
        visit.copies ? std::vector<int>(visit.cpus.begin() + static_cast<std::ptrdiff_t>(placed), visit.cpus.end())
                     : std::vector<int>{});
    Meeting meeting(threads);
    std::size_t times = 1;  // written by thread 0 between two meetings, read by all behind the second
    std::vector<std::vector<Window>> windows(visit.batches, std::vector<Window>(threads));
    const auto one = [&](unsigned thread) {
        if (thread < placed) stay_on(visit.cpus[thread]);
        place() = visit.place;
        const auto work = job.make();
        std::vector<Window> mine(visit.batches);
        for (std::size_t batch = 0; batch < warming + visit.batches; ++batch) {
            meeting.meet();
            const auto runs = times;
            const double begin = seconds_now();
            work->run(runs);
            const double end = seconds_now();
            if (batch >= warming) mine[batch - warming] = {begin, end};
            meeting.meet();
            if (thread == 0 && batch < warming) {
                const double wanted = static_cast<double>(runs) * visit.seconds / std::max(end - begin, 1e-8);
                times = static_cast<std::size_t>(std::clamp(wanted, 1.0, static_cast<double>(runs) * 2000));
            }
        }
        for (std::size_t batch = 0; batch < visit.batches; ++batch) windows[batch][thread] = mine[batch];
    };
    std::vector<std::thread> others;
    for (unsigned thread = 0; thread < threads; ++thread) others.emplace_back(one, thread);
    for (auto& other : others) other.join();
    return figures_of(windows, times);
}

}  // namespace weir::jobs
