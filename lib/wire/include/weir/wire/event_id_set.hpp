// SPDX-License-Identifier: Apache-2.0
// A set of global event ids that stays small for long runs of ids and for ids of which some were rejected at random: an
// ordered map of chunks of 65,536 ids (EventIdChunk). 10^8 ids out of 2 x 10^8 are 25 MB; no id costs more than some
// 130 bytes, and that only when no other id is near. docs/formats/event-ids.md has its text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/event_id_chunk.hpp"

namespace weir::wire {

struct EventIdRange {  // both ends belong to it
    GlobalEventId first{};
    GlobalEventId last{};

    bool operator==(const EventIdRange&) const = default;
};

class EventIdSet {
public:
    /// Of each chunk, besides what it has on the heap.
    static constexpr std::size_t chunk_overhead = 112;

    [[nodiscard]] static constexpr std::uint64_t chunk_of(GlobalEventId id) noexcept {
        return number(id) / EventIdChunk::size;
    }

    bool insert(GlobalEventId id);  // true: it was not there before
    void insert(EventIdRange range);
    bool erase(GlobalEventId id);  // true: it was there
    /// Adds the ids of a chunk.
    void put(std::uint64_t number, const EventIdChunk& ids);
    [[nodiscard]] bool contains(GlobalEventId id) const noexcept;

    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    /// Bytes that it takes.
    [[nodiscard]] std::size_t memory() const noexcept { return memory_ + chunks_.size() * chunk_overhead; }

    EventIdSet& operator|=(const EventIdSet& other);
    EventIdSet& operator&=(const EventIdSet& other);
    EventIdSet& operator-=(const EventIdSet& other);
    bool operator==(const EventIdSet& other) const { return chunks_ == other.chunks_; }

    /// By their numbers, ascending: chunk n has the ids from n * 65,536 on. None is empty. Valid until the next change.
    [[nodiscard]] const std::map<std::uint64_t, EventIdChunk>& chunks() const noexcept { return chunks_; }
    [[nodiscard]] const EventIdChunk* chunk(std::uint64_t number) const noexcept;

    /// The first runs of ids, ascending; they never touch.
    [[nodiscard]] std::vector<EventIdRange> ranges(std::size_t at_most = SIZE_MAX) const;

private:
    EventIdChunk& chunk_for(std::uint64_t number);
    template <class Change>
    auto change(EventIdChunk& chunk, Change work);

    std::map<std::uint64_t, EventIdChunk> chunks_;
    std::uint64_t count_ = 0;
    std::size_t memory_ = 0;  // of the chunks on the heap
};

/// The short form: "1-40,42,@3=b..."; "" when empty.
[[nodiscard]] std::string to_text(const EventIdSet& set);
/// Of one of its chunks.
[[nodiscard]] std::string to_text(const EventIdSet& set, std::uint64_t chunk);
/// For people: "1-40,42", with ",..." behind so many ranges.
[[nodiscard]] std::string ranges_text(const EventIdSet& set, std::size_t ranges_max);
/// Reads either. Errc::corrupt; Errc::limit: the set would take more memory than `memory_max` bytes.
[[nodiscard]] Result<EventIdSet> parse_event_ids(std::string_view text, std::size_t memory_max);

}  // namespace weir::wire
