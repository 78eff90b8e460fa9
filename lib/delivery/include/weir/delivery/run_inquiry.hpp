// SPDX-License-Identifier: Apache-2.0
// Asks recorders which run is being recorded, all at once: the first that says it is believed.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/delivery/sender.hpp"

namespace weir::delivery {

/// One thread makes all calls.
class RunInquiry {
public:
    /// `options` of a sender to each of `hosts`; `host` and `join_run` are this one's. Error: Errc::usage.
    [[nodiscard]] static Result<RunInquiry> begin(const SenderOptions& options, const std::vector<std::string>& hosts);

    /// Nothing: the time is over. Error: every sender has failed; why the first did.
    [[nodiscard]] Result<std::optional<RunNumber>> wait(std::chrono::milliseconds timeout);
    /// Of a connection; empty when there was none.
    [[nodiscard]] std::string last_problem() const;

private:
    std::vector<std::unique_ptr<Sender>> senders_;
};

}  // namespace weir::delivery
