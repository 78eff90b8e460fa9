// SPDX-License-Identifier: Apache-2.0
// The members of a set among 65,536 consecutive ids. Kept as runs, as a sorted list or as a bitmap, whichever is small
// for what came: ids in order cost 4 bytes a run, few ids 2 bytes each, and no ids at all more than 8 KiB.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace weir::wire {

class EventIdChunk {
public:
    static constexpr std::uint32_t size = 65'536;
    using Id = std::uint16_t;                           // within the chunk
    using Bits = std::array<std::uint64_t, size / 64>;  // bit n % 64 of word n / 64 = id n

    EventIdChunk() = default;
    [[nodiscard]] static EventIdChunk of(const Bits& bits);

    bool insert(Id id);  // true: it was not there before
    void insert(Id first, Id last);
    bool erase(Id id);  // true: it was there
    [[nodiscard]] bool contains(Id id) const noexcept;

    [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] bool full() const noexcept { return count_ == size; }
    /// Bytes on the heap.
    [[nodiscard]] std::size_t memory() const noexcept { return words_.capacity() * sizeof(Id); }

    [[nodiscard]] Bits bits() const;
    /// f(first, last) for each run, ascending; they never touch. It goes on while f returns true.
    template <class F>
    bool for_each_run(F&& f) const;

    /// The same members, however they are kept.
    [[nodiscard]] bool operator==(const EventIdChunk& other) const;

private:
    enum class Kind : std::uint8_t { runs, list, bitmap };
    static constexpr std::size_t words_max = size / 16;  // of a bitmap; the other kinds never have more

    bool insert_into_runs(Id id);
    bool insert_into_list(Id id);
    bool erase_from_runs(Id id);
    void make_list();
    void make_bitmap();
    void make_full();
    void room_for(std::size_t more);
    [[nodiscard]] std::size_t run_behind(Id id) const noexcept;

    std::vector<Id>
        words_;  // runs: first and last of each, ascending, never touching; list: ascending; bitmap: 16 ids each
    std::uint32_t count_ = 0;
    Kind kind_ = Kind::runs;
};

template <class F>
bool EventIdChunk::for_each_run(F&& f) const {
    if (kind_ == Kind::runs) {
        for (std::size_t i = 0; i < words_.size(); i += 2) {
            if (!f(words_[i], words_[i + 1])) return false;
        }
        return true;
    }
    if (kind_ == Kind::list) {
        for (std::size_t i = 0; i < words_.size();) {
            std::size_t last = i;
            while (last + 1 < words_.size() && words_[last + 1] == words_[last] + 1) ++last;
            if (!f(words_[i], words_[last])) return false;
            i = last + 1;
        }
        return true;
    }
    const auto all = bits();
    std::uint32_t at = 0;
    const auto next = [&](bool set) {  // the first from `at` on that is, or is not, there; `size`: none
        while (at < size) {
            const auto word = (set ? all[at / 64] : ~all[at / 64]) >> (at % 64);
            if (word != 0) return at += static_cast<std::uint32_t>(std::countr_zero(word));
            at = (at / 64 + 1) * 64;
        }
        return at;
    };
    while (next(true) < size) {
        const auto first = at;
        const auto behind = next(false);
        if (!f(static_cast<Id>(first), static_cast<Id>(behind - 1))) return false;
    }
    return true;
}

}  // namespace weir::wire
