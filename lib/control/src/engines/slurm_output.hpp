// SPDX-License-Identifier: Apache-2.0
// What commands of Slurm print, read with care: names and addresses go into other commands, and to where run control
// connects.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace weir::control {

[[nodiscard]] std::string without_line_end(std::string text);
[[nodiscard]] bool is_job_number(std::string_view text) noexcept;
/// Letters, digits, '.', '-' and '_', beginning with a letter or digit, 255 at most: one node, and no list of them.
[[nodiscard]] bool is_node_name(std::string_view text) noexcept;

/// "%T %N (%r)" of squeue.
struct JobState {
    std::string node{};  // empty: it has none yet
    std::string text{};  // "PENDING (Resources)"
    [[nodiscard]] bool runs() const { return text.starts_with("RUNNING"); }
    /// For good. One that completes has a node that is not free yet.
    [[nodiscard]] bool has_ended() const;
};
[[nodiscard]] JobState parse_job_state(std::string_view line);

/// NodeAddr of `scontrol --oneliner show node`: a numeric address, or a name of at most 255 letters, digits, '.', '-'
/// and '_'.
[[nodiscard]] std::optional<std::string> parse_node_address(std::string_view printed);
/// "10.77.0.13", "fd00:77::13", but no address that only its own machine can use.
[[nodiscard]] bool is_address_for_others(const std::string& text);
/// The first such address of what `getent ahosts` prints.
[[nodiscard]] std::optional<std::string> parse_resolved(std::string_view printed);
/// "10.77.0.13:7400", "[fd00:77::13]:7400"; `port`: ":7400".
[[nodiscard]] std::string with_port(const std::string& address, std::string_view port);

}  // namespace weir::control
