// SPDX-License-Identifier: Apache-2.0
// A part of the files of a check, chosen at random. The same seed chooses the same files of the same manifests.
#pragma once

#include <cstdint>
#include <optional>
#include <random>

#include "cli/command_line.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::app {

/// "1%", "0.5%"
struct Percentage {
    double value = 100;
};
[[nodiscard]] Result<> read_value(std::string_view text, Percentage& to);
[[nodiscard]] std::string shown_value(const Percentage& percentage);

class CheckSample {
public:
    CheckSample(fixity::JobSource source, Percentage share, std::uint64_t seed);

    /// The next file that was chosen. When chance chooses none, one of them all is, so that a sample is never empty.
    [[nodiscard]] std::optional<fixity::Job> next();

    [[nodiscard]] std::uint64_t chosen() const noexcept { return chosen_; }
    [[nodiscard]] std::uint64_t of() const noexcept { return seen_; }  // so far

private:
    fixity::JobSource source_;
    std::mt19937_64 random_;  // its numbers are the same everywhere, those of std::bernoulli_distribution are not
    double share_;            // 0 to 1
    std::uint64_t chosen_ = 0, seen_ = 0;
    std::optional<fixity::Job> spare_;  // one of those that were passed over, each as likely
};

}  // namespace weir::app
