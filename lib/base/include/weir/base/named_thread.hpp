// SPDX-License-Identifier: Apache-2.0
// A thread with a name: debuggers, `top -H` and the thread accounts show it. It enters the accounts of the thread that
// made it, if that has entered any, so that libraries need not know of them.
#pragma once

#include <concepts>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

#include "weir/base/thread_account.hpp"

namespace weir {

/// Shown by the system, which keeps 15 bytes.
void name_this_thread(const std::string& thread_name) noexcept;

template <class Work>
concept ThreadWork = std::invocable<Work&, std::stop_token> || std::invocable<Work&>;

/// A std::jthread that bears a name, in these accounts (nullptr: in none), which outlive it. `work` takes a
/// std::stop_token, or nothing.
template <ThreadWork Work>
[[nodiscard]] std::jthread named_jthread(ThreadAccounts* accounts, std::string thread_name, Work work) {
    return std::jthread(
        [accounts, thread_name = std::move(thread_name), work = std::move(work)](const std::stop_token& stop) mutable {
            name_this_thread(thread_name);
            std::optional<ThreadAccounts::Entry> entry;
            if (accounts != nullptr) entry.emplace(*accounts, std::move(thread_name));
            if constexpr (std::invocable<Work&, std::stop_token>) {
                work(stop);
            } else {
                work();
            }
        });
}

/// The same in the accounts of the calling thread.
template <ThreadWork Work>
[[nodiscard]] std::jthread named_jthread(std::string thread_name, Work work) {
    return named_jthread(ThreadAccounts::of_this_thread(), std::move(thread_name), std::move(work));
}

/// Joins at its end, after it has asked the thread to stop, as std::jthread does.
class NamedThread {
public:
    NamedThread() = default;

    template <ThreadWork Work>
    NamedThread(std::string thread_name, Work work) : thread_(named_jthread(std::move(thread_name), std::move(work))) {}

    template <ThreadWork Work>
    NamedThread(ThreadAccounts* accounts, std::string thread_name, Work work)
        : thread_(named_jthread(accounts, std::move(thread_name), std::move(work))) {}

    [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
    void join() { thread_.join(); }
    void request_stop() noexcept { thread_.request_stop(); }
    [[nodiscard]] std::thread::id get_id() const noexcept { return thread_.get_id(); }

private:
    std::jthread thread_;
};

}  // namespace weir
