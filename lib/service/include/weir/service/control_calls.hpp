// SPDX-License-Identifier: Apache-2.0
// Asks many control ports at once, from one thread, over connections that stay: who polls a thousand stations connects,
// and shakes hands, once.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/service/control_client.hpp"

namespace weir::service {

/// Any thread.
class ControlCalls {
public:
    /// On the thread of the calls: must not wait. Errors are those of ControlClient.
    using Done = std::function<void(Result<ControlAnswer>)>;

    /// `tls` and `answer_max` as of ControlClient. Errc::limit: no thread, no descriptors.
    [[nodiscard]] static Result<std::unique_ptr<ControlCalls>> start(std::optional<ControlTls> tls = {},
                                                                     Bytes answer_max = Bytes{1U << 30});
    /// What is under way is abandoned: its `done` is not called any more once this has returned.
    ~ControlCalls();
    ControlCalls(const ControlCalls&) = delete;
    ControlCalls& operator=(const ControlCalls&) = delete;

    void get(const std::string& address, const std::string& path, std::chrono::milliseconds deadline, Done done);
    void post(const std::string& address, const std::string& path, const std::string& json,
              std::chrono::milliseconds deadline, Done done);

private:
    class Thread;
    explicit ControlCalls(std::unique_ptr<Thread> thread);
    std::unique_ptr<Thread> thread_;
};

}  // namespace weir::service
