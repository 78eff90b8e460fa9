// SPDX-License-Identifier: Apache-2.0
#include "cli/process/signals.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace weir::app {
namespace {

sigset_t stopping_signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

/// The number of the signal that came; less than 1: none.
int take(std::chrono::nanoseconds at_most) noexcept {
    const auto set = stopping_signals();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec time{seconds.count(), (at_most - seconds).count()};
    return sigtimedwait(&set, nullptr, &time);
}

}  // namespace

Signals::Signals() {
    const auto set = stopping_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::~Signals() {
    const auto set = stopping_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Signals::wait(std::chrono::nanoseconds at_most) { return take(at_most) > 0; }

bool Signals::pending(std::chrono::nanoseconds at_most) noexcept {
    sigset_t now;
    if (sigpending(&now) == 0 && (sigismember(&now, SIGINT) == 1 || sigismember(&now, SIGTERM) == 1)) return true;
    if (at_most.count() <= 0) return false;
    const int number = take(at_most);
    if (number > 0) ::kill(::getpid(), number);  // it is for whoever else waits
    return number > 0;
}

}  // namespace weir::app
