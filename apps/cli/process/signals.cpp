// SPDX-License-Identifier: Apache-2.0
#include "cli/process/signals.hpp"

#include <pthread.h>
#include <signal.h>

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

}  // namespace

Signals::Signals() {
    const auto set = stopping_signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

Signals::~Signals() {
    const auto set = stopping_signals();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool Signals::wait(std::chrono::nanoseconds at_most) {
    const auto set = stopping_signals();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec time{seconds.count(), (at_most - seconds).count()};
    return sigtimedwait(&set, nullptr, &time) > 0;
}

}  // namespace weir::app
