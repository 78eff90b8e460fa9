// SPDX-License-Identifier: Apache-2.0
// The bytes of a file or of a part of it, piece by piece in order, for summing. Cached data is read
// into a buffer that stays in the second-level cache. Where reading has to wait (a cold file, a direct read,
// a pipe), a thread reads ahead into a few larger buffers while the caller sums.
#pragma once

#include <cstdlib>
#include <expected>
#include <functional>
#include <memory>

#include "weir/fixity/input_file.hpp"

namespace weir::fixity {

/// Memory that direct reads accept. Throws std::bad_alloc.
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(std::size_t size);

    [[nodiscard]] MutableData data() const noexcept { return {memory_.get(), size_}; }

private:
    struct Free {
        void operator()(std::byte* memory) const noexcept { std::free(memory); }
    };
    std::unique_ptr<std::byte, Free> memory_;
    std::size_t size_ = 0;
};

/// Reads for one thread; keeps its buffer from file to file.
class PieceReader {
public:
    using Consume = std::function<void(ConstData)>;

    explicit PieceReader(const Reading& how) : how_(how) {}

    /// The bytes [begin, end), or all of a stream. How many there were: fewer when the file ended before. ENOMEM when
    /// there is no memory to read into, or `consume` had none.
    [[nodiscard]] std::expected<std::uint64_t, Failure> read(const InputFile& file, std::uint64_t begin,
                                                             std::uint64_t end, const Consume& consume);

private:
    [[nodiscard]] std::expected<std::uint64_t, Failure> read_somehow(const InputFile& file, std::uint64_t begin,
                                                                     std::uint64_t end, const Consume& consume);
    /// From `at` until `end`, the file's end, or (`warm_only`) the first byte that is not in the page cache.
    [[nodiscard]] std::expected<std::uint64_t, Failure> read_in_place(const InputFile& file, std::uint64_t at,
                                                                      std::uint64_t end, bool warm_only,
                                                                      const Consume& consume);
    [[nodiscard]] std::expected<std::uint64_t, Failure> read_ahead(const InputFile& file, std::uint64_t at,
                                                                   std::uint64_t end, const Consume& consume);

    const Reading& how_;
    AlignedBuffer buffer_;
};

}  // namespace weir::fixity
