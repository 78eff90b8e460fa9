// SPDX-License-Identifier: Apache-2.0
// The headers and trailer that make a ROB of data which stay where they are: the ROB is head, data and tail one behind
// the other, so that its maker copies the data once, to their place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/data.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::event {

struct RobShell {
    static constexpr std::size_t status_words_max = 72;  // of the ROD
    static constexpr std::size_t head_max = (rob_header_words + rod_header_words) * word_bytes;
    static constexpr std::size_t tail_max = word_bytes + (status_words_max + rod_trailer_words) * word_bytes;

    [[nodiscard]] ConstData head() const noexcept { return ConstData(head_bytes).first(head_size); }
    [[nodiscard]] ConstData tail() const noexcept { return ConstData(tail_bytes).first(tail_size); }

    // Only as far as the sizes say; to set them all to zero would take as long as the shell of a small fragment.
    std::array<std::byte, head_max> head_bytes;
    std::size_t head_size = 0;
    std::array<std::byte, tail_max> tail_bytes;
    std::size_t tail_size = 0;
};

/// Around `data_size` bytes, which tail() fills up to whole words: a ROD with these status words behind the data
/// (instead of rod.status), and a ROB around it. Errc::limit: too many status words, or no size word holds it. Without
/// checksum.
[[nodiscard]] Result<> make_shell(RobShell& shell, const RodFields& rod, std::span<const std::uint32_t> status_words,
                                  std::size_t data_size, const RobOptions& options = {});

/// Around a ROD fragment of `rod_size` bytes that was made elsewhere: the head is the ROB's, and there is no tail.
[[nodiscard]] Result<> make_shell_around(RobShell& shell, SourceId source, std::size_t rod_size,
                                         const RobOptions& options = {});

}  // namespace weir::event
