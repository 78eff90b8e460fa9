// SPDX-License-Identifier: Apache-2.0
// An event as a list of pieces: some made new (headers, checksums), the others still lying in the
// buffers they came in. So an event is built or cut down without moving its fragments; the writer copies
// each piece once, to its place. Reusable: clear() keeps the memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weir/base/data.hpp"

namespace weir::event {

/// The pieces from outside must outlive the list.
class EventPieces {
public:
    void clear() noexcept;

    /// A piece that stays where it is. Neighbours in memory become one piece.
    void refer(ConstData piece);

    /// Appends made words; they join the made piece before them.
    void make(ConstData bytes);
    void make_word(std::uint32_t word);

    /// Changes a made word; `position` counts in made bytes (see made_size).
    void set_made_word(std::size_t position, std::uint32_t word);
    [[nodiscard]] std::size_t made_size() const noexcept { return made_.size(); }

    [[nodiscard]] std::size_t size() const noexcept { return size_; }  // bytes of the whole event
    [[nodiscard]] std::size_t count() const noexcept { return pieces_.size(); }
    [[nodiscard]] ConstData piece(std::size_t i) const noexcept;

    /// adler32 of the bytes [from, size()).
    [[nodiscard]] std::uint32_t adler32_from(std::size_t from) const noexcept;

    /// `to` has at least size() bytes.
    void copy_to(MutableData to) const noexcept;
    [[nodiscard]] std::vector<std::byte> to_bytes() const;

private:
    struct Piece {
        const std::byte* outside;  // null: made
        std::size_t begin;         // in made_, when made
        std::size_t size;
    };
    std::vector<Piece> pieces_;
    std::vector<std::byte> made_;
    std::size_t size_ = 0;
};

}  // namespace weir::event
