// SPDX-License-Identifier: Apache-2.0
// Bytes of a source one by one and as lines, with a look ahead.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weir/fixity/manifest_reader.hpp"

namespace weir::fixity {

class ByteStream {
public:
    explicit ByteStream(ByteSource source) : source_(std::move(source)), buffer_(64U << 10) {}

    /// The next byte, which stays; -1 at the end or after an error.
    [[nodiscard]] int peek() {
        if (at_ == end_ && !fill()) return -1;
        return std::to_integer<int>(buffer_[at_]);
    }
    int get() {
        const int byte = peek();
        if (byte >= 0) ++at_;
        return byte;
    }
    /// As many of the next bytes as are there, up to `size` (a few): they stay.
    [[nodiscard]] std::string_view front(std::size_t size);

    /// The bytes that were read and not taken; reads more when there are none. Empty at the end or after an error. They
    /// stay.
    [[nodiscard]] std::string_view piece();
    /// Takes the front of a piece.
    void skip(std::size_t size) noexcept { at_ += size; }

    enum class Line { whole, too_long, none };
    /// Up to `end`, which is taken and not returned; the part of a line beyond the limit is discarded.
    Line get_line(std::string& to, char end, std::size_t limit);

    /// Why there are no more bytes, when that is not the end.
    [[nodiscard]] const std::optional<Error>& error() const noexcept { return error_; }

private:
    bool fill();

    ByteSource source_;
    std::vector<std::byte> buffer_;
    std::size_t at_ = 0, end_ = 0;
    bool over_ = false;
    std::optional<Error> error_;
};

}  // namespace weir::fixity
