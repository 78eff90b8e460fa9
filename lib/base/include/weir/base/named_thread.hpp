// SPDX-License-Identifier: Apache-2.0
// A thread with a name: debuggers, `top -H` and the thread accounts show it. It enters the accounts of the thread that
// made it, if that has entered any, so that libraries need not be told of them.
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

/// Joins at its end, after it has asked the thread to stop, as std::jthread does.
class NamedThread {
public:
    NamedThread() = default;

    /// `work` takes a std::stop_token, or nothing.
    template <class Work>
        requires std::invocable<Work&, std::stop_token> || std::invocable<Work&>
    NamedThread(std::string thread_name, Work work)
        : NamedThread(ThreadAccounts::of_this_thread(), std::move(thread_name), std::move(work)) {}

    /// In these accounts; nullptr: in none. They outlive the thread.
    template <class Work>
        requires std::invocable<Work&, std::stop_token> || std::invocable<Work&>
    NamedThread(ThreadAccounts* accounts, std::string thread_name, Work work)
        : thread_([accounts, thread_name = std::move(thread_name), work = std::move(work)](const std::stop_token& stop) mutable {
              name_this_thread(thread_name);
              std::optional<ThreadAccounts::Entry> entry;
              if (accounts != nullptr) entry.emplace(*accounts, std::move(thread_name));
              if constexpr (std::invocable<Work&, std::stop_token>) {
                  work(stop);
              } else {
                  work();
              }
          }) {}

    [[nodiscard]] bool joinable() const noexcept { return thread_.joinable(); }
    void join() { thread_.join(); }
    void request_stop() noexcept { thread_.request_stop(); }
    [[nodiscard]] std::thread::id get_id() const noexcept { return thread_.get_id(); }

private:
    std::jthread thread_;
};

}  // namespace weir
