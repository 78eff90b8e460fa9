// SPDX-License-Identifier: Apache-2.0
// Which level-1 id comes next, where ids count up by one: what follows from each that comes. A counter that jumps is
// followed only when the next trigger counts on from there.
#pragma once

#include <cstdint>
#include <optional>

#include "weir/base/ids.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::selection {

class NextTrigger {
public:
    static constexpr std::uint32_t lost_at_once_max = 1000;  // more between two triggers: the counter may have jumped
    static constexpr std::uint32_t jump_max = 1U << 24;      // farther it is never followed

    explicit NextTrigger(Level1Id first) : id_(first) {}

    [[nodiscard]] Level1Id id() const noexcept { return id_; }
    /// The one from which it may have jumped on.
    [[nodiscard]] std::optional<Level1Id> jumped_to() const noexcept { return jumped_to_; }

    /// True: it counts, and the next follows it. False: it is behind, or too far ahead.
    [[nodiscard]] bool take(Level1Id id) {
        const auto ahead = wire::level1_distance(id, id_);
        if (ahead < 0) return false;
        const bool counts_on = jumped_to_ && number(id) == number(*jumped_to_) + 1;
        if (static_cast<std::uint32_t>(ahead) > (counts_on ? jump_max : lost_at_once_max)) {
            jumped_to_ = id;
            return false;
        }
        jumped_to_.reset();
        id_ = Level1Id{number(id) + 1};
        return true;
    }

private:
    Level1Id id_;
    std::optional<Level1Id> jumped_to_{};
};

}  // namespace weir::selection
