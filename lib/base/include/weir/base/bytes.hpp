// SPDX-License-Identifier: Apache-2.0
// An amount of bytes, as a type, so that it cannot be swapped with a count of events or words.
// Text form: "4GiB", "500MB", "64 KiB", "1048576" (powers of 1024 with an i, of 1000 without).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir {

class Bytes {
public:
    constexpr Bytes() = default;
    constexpr explicit Bytes(std::uint64_t count) noexcept : count_(count) {}

    [[nodiscard]] constexpr std::uint64_t count() const noexcept { return count_; }

    constexpr auto operator<=>(const Bytes&) const noexcept = default;
    constexpr Bytes& operator+=(Bytes other) noexcept { return count_ += other.count_, *this; }
    constexpr Bytes& operator-=(Bytes other) noexcept { return count_ -= other.count_, *this; }
    friend constexpr Bytes operator+(Bytes a, Bytes b) noexcept { return Bytes{a.count_ + b.count_}; }
    friend constexpr Bytes operator-(Bytes a, Bytes b) noexcept { return Bytes{a.count_ - b.count_}; }
    friend constexpr Bytes operator*(Bytes a, std::uint64_t n) noexcept { return Bytes{a.count_ * n}; }
    friend constexpr Bytes operator/(Bytes a, std::uint64_t n) noexcept { return Bytes{a.count_ / n}; }

private:
    std::uint64_t count_ = 0;
};

inline namespace literals {
constexpr Bytes operator""_B(unsigned long long n) noexcept { return Bytes{n}; }
constexpr Bytes operator""_KiB(unsigned long long n) noexcept { return Bytes{n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) noexcept { return Bytes{n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) noexcept { return Bytes{n << 30}; }
}  // namespace literals

/// Reads an amount; an error (Errc::usage) quotes the text and lists the units.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);

/// The exact amount in the largest unit that keeps it whole: "4GiB", "1500B". parse_bytes reads it back.
[[nodiscard]] std::string to_string(Bytes amount);

/// For people, rounded, powers of 1000: "1.43 GB", "17 kB".
[[nodiscard]] std::string human(Bytes amount);

}  // namespace weir
