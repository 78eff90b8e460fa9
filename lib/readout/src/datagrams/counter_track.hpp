// SPDX-License-Identifier: Apache-2.0
// What one source's counter says about its fragments: which are new, here already, or lost. A short counter that wraps
// is extended to 32 bits. A value further ahead than what is remembered is refused until a second one goes on from
// there (as RFC 3550, A.1, does with sequence numbers): one damaged datagram must not make all that follow it too old.
// Then it was a long loss, or, far beyond or behind, a counter that jumped, which is no loss of thousands.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

namespace weir::readout {

enum class CounterStep : std::uint8_t {
    fresh,   // not seen before
    seen,    // before
    old,     // older than what is remembered
    jumped,  // far ahead or behind, and no other value has confirmed it yet
};

class CounterTrack {
public:
    /// `bits`: 8 to 32, of the counter. `first`: its value in the first event of the run, extended.
    CounterTrack(std::uint32_t bits, std::uint32_t first) noexcept;

    /// To 32 bits: the value nearest to the newest.
    [[nodiscard]] std::uint32_t extended(std::uint32_t counter) const noexcept;
    [[nodiscard]] CounterStep take(std::uint32_t value) noexcept;  // extended
    /// Events up to here are done with, and this source has been silent: when that was longer than its counter lasts,
    /// it is extended from here. A counter of 32 bits is left where it is.
    void reach(std::uint32_t value) noexcept;

    /// Values that were passed over and have not come. Those before a confirmed jump are not among them, nor is the
    /// first of a leap, which came and was refused.
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }
    [[nodiscard]] std::uint64_t jumps() const noexcept { return jumps_; }
    [[nodiscard]] std::uint64_t disordered() const noexcept { return disordered_; }
    [[nodiscard]] std::uint32_t newest() const noexcept { return newest_; }
    /// The first that counts: of the run, or where the last jump led to.
    [[nodiscard]] std::uint32_t first() const noexcept { return base_; }

private:
    static constexpr std::uint32_t remembered = 1024;
    static constexpr std::uint32_t confirmed_within = 64;

    [[nodiscard]] CounterStep leap(std::uint32_t value) noexcept;
    void advance(std::uint32_t by) noexcept;

    std::uint32_t mask_;
    std::int32_t jump_least_;
    std::uint32_t newest_;
    std::uint32_t base_;                     // values before it are none of this count: never lost, and old
    std::bitset<remembered> seen_;           // by value modulo its size: of the newest ones
    std::optional<std::uint32_t> target_{};  // of a leap that nothing has confirmed yet
    std::uint64_t lost_ = 0, jumps_ = 0, disordered_ = 0;
};

}  // namespace weir::readout
