// SPDX-License-Identifier: Apache-2.0
// The position of a reader that takes a file piece by piece: shared by PieceReader and FileBatch.
#pragma once

#include <expected>

#include "weir/fixity/input_file.hpp"

namespace weir::fixity {

/// Waits until the bytes may be read (Reading::limit); false: stopped meanwhile.
[[nodiscard]] bool may_read(const Reading& how, std::uint64_t bytes);
[[nodiscard]] Failure stopped_at(std::uint64_t offset);

class PieceCursor {
public:
    static constexpr std::uint64_t window = 4U << 20;  // how far one look at the page cache holds

    /// Reads [begin, end), or less when the file ends before. The file stays where it is.
    PieceCursor(const InputFile& file, std::uint64_t begin, std::uint64_t end, const Reading& how) noexcept
        : file_(&file), how_(&how), at_(begin), end_(end), looked_until_(begin) {}

    [[nodiscard]] std::uint64_t at() const noexcept { return at_; }
    [[nodiscard]] bool is_over() const noexcept { return at_ >= end_; }
    /// The next bytes are not in the page cache; a guess from one page in its midst. Never of a stream.
    [[nodiscard]] bool is_cold();
    /// The next bytes, read into `to` and as many as it holds; empty at the end.
    [[nodiscard]] std::expected<ConstData, Failure> next(MutableData to);

private:
    const InputFile* file_;
    const Reading* how_;
    std::uint64_t at_, end_;
    std::uint64_t looked_until_;
    bool cold_ = false;
};

}  // namespace weir::fixity
