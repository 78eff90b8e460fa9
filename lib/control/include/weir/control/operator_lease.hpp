// SPDX-License-Identifier: Apache-2.0
// The operator's lease: who commands the partition from its page. One person has it, from taking it to releasing it, or
// until another one takes it by force. The name alone proves nothing, so that a taker is given a secret, which goes
// with each command. It lives as long as run control does.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

/// Any thread.
class OperatorLease {
public:
    struct Holder {
        std::string person{};
        WallTime since{};
    };

    /// Who takes it by force is reported with both names. The clock outlives it.
    OperatorLease(const Clock& clock, Reporter report) : clock_(clock), report_(std::move(report)) {}

    /// Its secret. Errc::refused: somebody else has it; Errc::usage: no name.
    [[nodiscard]] Result<std::string> take(const std::string& person, bool by_force);
    /// Errc::refused: it is not the secret of who has it.
    [[nodiscard]] Result<> release(std::string_view secret);

    /// Whether a command is obeyed. One from the page (`of_page`) needs the lease; any other is obeyed also when nobody
    /// has it. Errc::refused names who has it.
    [[nodiscard]] Result<> allows(std::string_view secret, bool of_page) const;

    [[nodiscard]] std::optional<Holder> holder() const;

private:
    [[nodiscard]] bool fits(std::string_view secret) const;  // with mutex_ held

    const Clock& clock_;
    const Reporter report_;
    mutable std::mutex mutex_;
    std::optional<Holder> holder_;
    std::string secret_;
};

}  // namespace weir::control
