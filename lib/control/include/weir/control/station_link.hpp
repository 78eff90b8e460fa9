// SPDX-License-Identifier: Apache-2.0
// Run control's end of a station's control port. Nothing here waits: a call is begun, and its answer is there one day.
#pragma once

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/result.hpp"
#include "weir/service/control_messages.hpp"

namespace weir::control {

/// A station's events are waited for so long: it may have to write 10^8 ids.
inline constexpr std::chrono::seconds events_deadline{60};

struct CallFailure {
    bool answered = false;  // it refused; else there was no answer
    std::string why{};
};
using CallAnswer = std::expected<void, CallFailure>;

/// One thread uses it. Its end abandons what is under way.
class StationLink {
public:
    virtual ~StationLink() = default;
    /// One call at a time.
    virtual void call(const service::StationRequest& request) = 0;
    /// The answer to the call, once.
    [[nodiscard]] virtual std::optional<CallAnswer> answer() = 0;
    /// Asks for a report, beside a call; one at a time. `with_events`: and for its events, which takes longer.
    virtual void ask(bool with_events) = 0;
    /// The answer to ask(), once.
    [[nodiscard]] virtual std::optional<Result<service::StationReport>> report() = 0;
};

class StationLinks {
public:
    virtual ~StationLinks() = default;
    /// `address`: of the control port, "127.0.0.1:41234".
    [[nodiscard]] virtual std::unique_ptr<StationLink> open(const std::string& address) = 0;
};

}  // namespace weir::control
