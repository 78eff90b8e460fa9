// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/rows.hpp"

#include <array>

namespace weir::catalogue {
namespace {

// The words of each enumeration, in its order.
constexpr std::array<std::string_view, 2> open_states{"OPENED", "CLOSED"};
constexpr std::array<std::string_view, 3> file_states{"OPENED", "CLOSED", "DELETED"};
constexpr std::array<std::string_view, 2> transfer_states{"ONDISK", "TRANSFERRED"};
constexpr std::array<std::string_view, 3> file_healths{"SANE", "TRUNCATED", "QUARANTINED"};
constexpr std::array<std::string_view, 3> progresses{"OPENED", "COMPLETE", "TRANSFERRED"};

template <class Enum, std::size_t n>
std::optional<Enum> find(const std::array<std::string_view, n>& words, std::string_view text) noexcept {
    for (std::size_t i = 0; i < n; ++i) {
        if (words[i] == text) return static_cast<Enum>(i);
    }
    return std::nullopt;
}

}  // namespace

std::string_view name(OpenState state) noexcept { return open_states.at(static_cast<std::size_t>(state)); }
std::string_view name(FileState state) noexcept { return file_states.at(static_cast<std::size_t>(state)); }
std::string_view name(TransferState state) noexcept { return transfer_states.at(static_cast<std::size_t>(state)); }
std::string_view name(FileHealth health) noexcept { return file_healths.at(static_cast<std::size_t>(health)); }
std::string_view name(Progress progress) noexcept { return progresses.at(static_cast<std::size_t>(progress)); }

std::optional<OpenState> parse_open_state(std::string_view text) noexcept { return find<OpenState>(open_states, text); }
std::optional<FileState> parse_file_state(std::string_view text) noexcept { return find<FileState>(file_states, text); }
std::optional<TransferState> parse_transfer_state(std::string_view text) noexcept {
    return find<TransferState>(transfer_states, text);
}
std::optional<FileHealth> parse_file_health(std::string_view text) noexcept {
    return find<FileHealth>(file_healths, text);
}
std::optional<Progress> parse_progress(std::string_view text) noexcept { return find<Progress>(progresses, text); }

}  // namespace weir::catalogue
