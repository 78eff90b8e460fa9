// SPDX-License-Identifier: Apache-2.0
// The notifications for a service manager (sd_notify(3), Type=notify): started, alive, stopping. Without one (no
// NOTIFY_SOCKET in the environment) every call does nothing. The protocol is one datagram of text, so no library is
// needed.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/descriptor.hpp"
#include "weir/recorder/recorder_summary.hpp"

namespace weir::app {

class ServiceManager {
public:
    /// Reads NOTIFY_SOCKET. A socket that cannot be used is the same as none: a recorder records without being watched
    /// too.
    [[nodiscard]] static ServiceManager from_environment();

    void ready() const { notify("READY=1"); }
    void stopping() const { notify("STOPPING=1"); }
    void alive() const { notify("WATCHDOG=1"); }
    void status(std::string_view line) const { notify("STATUS=" + std::string(line)); }
    /// The stop takes at least this much longer.
    void extend(std::chrono::microseconds time) const { notify("EXTEND_TIMEOUT_USEC=" + std::to_string(time.count())); }

private:
    explicit ServiceManager(Descriptor socket) noexcept : socket_(std::move(socket)) {}
    void notify(const std::string& text) const;
    Descriptor socket_;  // none: there is no service manager
};

/// Whether the write path lives: each of its duties has nothing to do, or has done something since it was asked last. A
/// slow disk is alive, a hung one is not; nor is a recorder that still receives and closes no file any more.
class WritePathWatch {
public:
    [[nodiscard]] bool alive(const recorder::RecorderSummary& now);

private:
    std::vector<std::uint64_t> before_;  // what each duty had done
};

}  // namespace weir::app
