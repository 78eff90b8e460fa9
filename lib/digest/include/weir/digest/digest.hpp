// SPDX-License-Identifier: Apache-2.0
// The value of a sum, as it is printed, compared and stored. Values are compared as bytes, never as text,
// so a missing leading zero is no mismatch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/digest/algorithm.hpp"

namespace weir::digest {

class Digest {
public:
    static constexpr std::size_t size_max = 64;

    /// Of an algorithm whose value is a number of 32 or 64 bits.
    [[nodiscard]] static Digest of_number(Algorithm algorithm, std::uint64_t value) noexcept;
    /// `bytes` has digest_size(algorithm) bytes, the most significant first.
    [[nodiscard]] static Digest of_bytes(Algorithm algorithm, ConstData bytes) noexcept;
    /// Hexadecimal digits in either case. Leading zeros of numbers may be missing, as old tools left them
    /// out; the cksum is also taken in decimal when `decimal` is set. Error (Errc::corrupt): not a value.
    [[nodiscard]] static Result<Digest> parse(Algorithm algorithm, std::string_view text, bool decimal = false);

    [[nodiscard]] Algorithm algorithm() const noexcept { return algorithm_; }
    [[nodiscard]] ConstData bytes() const noexcept { return ConstData(bytes_).first(digest_size(algorithm_)); }
    /// The last 8 bytes at most: the whole value where it is a number.
    [[nodiscard]] std::uint64_t number() const noexcept;
    /// Lower case with leading zeros.
    [[nodiscard]] std::string hex() const;

    bool operator==(const Digest&) const = default;

private:
    explicit Digest(Algorithm algorithm) noexcept : algorithm_(algorithm) {}

    Algorithm algorithm_;
    std::array<std::byte, size_max> bytes_{};  // zero behind the value
};

/// The sum of a followed by b. `length_of_a` is only used by cksum, which has it in its value.
/// Errc::usage: different algorithms, or one that cannot be combined.
[[nodiscard]] Result<Digest> combine(const Digest& a, const Digest& b, std::uint64_t length_of_b,
                                     std::uint64_t length_of_a);

}  // namespace weir::digest
