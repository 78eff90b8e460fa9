// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/event_id_chunk.hpp"

#include <algorithm>
#include <iterator>

#include "weir/base/assert.hpp"

namespace weir::wire {
namespace {

// A chunk changes its kind only when it has grown or shrunk by more than a change costs.
constexpr std::size_t runs_words_min = 64;        // so many words of runs are kept in any case
constexpr std::uint32_t bitmap_count_min = 1024;  // a bitmap that has fewer becomes a list
constexpr int short_range = 64;                   // is taken id by id

std::uint32_t runs_in(const EventIdChunk::Bits& bits) {
    std::uint32_t runs = 0;
    std::uint64_t before = 0;
    for (const auto word : bits) {
        runs += static_cast<std::uint32_t>(std::popcount(word & ~(word << 1 | before)));
        before = word >> 63;
    }
    return runs;
}

}  // namespace

EventIdChunk EventIdChunk::of(const Bits& bits) {
    EventIdChunk chunk;
    for (const auto word : bits) chunk.count_ += static_cast<std::uint32_t>(std::popcount(word));
    const std::size_t as_runs = std::size_t{2} * runs_in(bits);
    chunk.kind_ = Kind::bitmap;
    chunk.words_.resize(words_max);
    for (std::size_t i = 0; i < words_max; ++i) chunk.words_[i] = static_cast<Id>(bits[i / 4] >> (16 * (i % 4)));
    if (as_runs <= std::min<std::size_t>(chunk.count_, words_max)) {
        std::vector<Id> runs;
        runs.reserve(as_runs);
        chunk.for_each_run([&](Id first, Id last) {
            runs.push_back(first);
            runs.push_back(last);
            return true;
        });
        chunk.words_ = std::move(runs);
        chunk.kind_ = Kind::runs;
    } else if (chunk.count_ < words_max) {
        chunk.make_list();
    }
    return chunk;
}

EventIdChunk::Bits EventIdChunk::bits() const {
    Bits all{};
    if (kind_ == Kind::bitmap) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            for (std::size_t part = 0; part < 4; ++part) all[i] |= std::uint64_t{words_[4 * i + part]} << (16 * part);
        }
        return all;
    }
    for_each_run([&](Id first, Id last) {
        for (std::uint32_t id = first; id <= last;) {
            const auto behind = std::min((id / 64 + 1) * 64, std::uint32_t{last} + 1);  // in this word
            all[id / 64] |= (~std::uint64_t{0} >> (64 - (behind - id))) << (id % 64);
            id = behind;
        }
        return true;
    });
    return all;
}

/// Doubling would waste half of what a large set may have.
void EventIdChunk::room_for(std::size_t more) {
    const auto wanted = words_.size() + more;
    if (wanted > words_.capacity())
        words_.reserve(std::max(wanted, std::min(words_max, words_.size() + words_.size() / 4 + 4)));
}

void EventIdChunk::make_list() {
    std::vector<Id> list;
    list.reserve(std::min<std::size_t>(count_ + std::size_t{4}, words_max));
    for_each_run([&](Id first, Id last) {
        for (std::uint32_t id = first; id <= last; ++id) list.push_back(static_cast<Id>(id));
        return true;
    });
    words_ = std::move(list);
    kind_ = Kind::list;
}

void EventIdChunk::make_bitmap() {
    const auto all = bits();
    std::vector<Id> words(words_max);
    for (std::size_t i = 0; i < words_max; ++i) words[i] = static_cast<Id>(all[i / 4] >> (16 * (i % 4)));
    words_ = std::move(words);
    kind_ = Kind::bitmap;
}

void EventIdChunk::make_full() {
    words_ = std::vector<Id>{0, size - 1};
    kind_ = Kind::runs;
}

bool EventIdChunk::insert(Id id) {
    switch (kind_) {
        case Kind::runs: {
            if (!insert_into_runs(id)) return false;
            ++count_;
            const bool few =
                words_.size() <= runs_words_min || words_.size() <= std::min<std::size_t>(count_, words_max - 2);
            if (!few) count_ < words_max / 2 ? make_list() : make_bitmap();
            return true;
        }
        case Kind::list:
            if (!insert_into_list(id)) return false;
            if (++count_ >= words_max) make_bitmap();
            return true;
        case Kind::bitmap: {
            auto& word = words_[id / 16];
            const auto bit = static_cast<Id>(1U << (id % 16));
            if ((word & bit) != 0) return false;
            word = static_cast<Id>(word | bit);
            if (++count_ == size) make_full();
            return true;
        }
    }
    return false;
}

/// Where the first run that ends at `id` or above it begins in words_.
std::size_t EventIdChunk::run_behind(Id id) const noexcept {
    std::size_t low = 0, high = words_.size() / 2;
    if (high > 0 && words_.back() < id) return words_.size();  // ids come nearly in order
    while (low < high) {
        const auto middle = (low + high) / 2;
        if (words_[2 * middle + 1] < id) low = middle + 1;
        else high = middle;
    }
    return 2 * low;
}

bool EventIdChunk::insert_into_runs(Id id) {
    const auto at = run_behind(id);
    const bool has_next = at < words_.size();
    if (has_next && words_[at] <= id) return false;
    const bool joins_before = at > 0 && words_[at - 1] + 1 == id;
    const bool joins_next = has_next && id + 1 == words_[at];
    const auto place = std::next(words_.begin(), static_cast<std::ptrdiff_t>(at));
    if (joins_before && joins_next) {
        words_.erase(std::prev(place), std::next(place));
    } else if (joins_before) {
        words_[at - 1] = id;
    } else if (joins_next) {
        words_[at] = id;
    } else {
        room_for(2);
        words_.insert(std::next(words_.begin(), static_cast<std::ptrdiff_t>(at)), {id, id});
    }
    return true;
}

bool EventIdChunk::insert_into_list(Id id) {
    auto place = words_.end();
    if (!words_.empty() && words_.back() >= id) {
        place = std::ranges::lower_bound(words_, id);
        if (*place == id) return false;
    }
    const auto at = std::distance(words_.begin(), place);
    room_for(1);
    words_.insert(std::next(words_.begin(), at), id);
    return true;
}

void EventIdChunk::insert(Id first, Id last) {
    WEIR_ASSERT(first <= last);
    if (first == last) {
        insert(first);
    } else if (first == 0 && last == size - 1) {
        count_ = size;
        make_full();
    } else if (kind_ == Kind::runs && (words_.empty() || words_.back() + 1 < first) && words_.size() + 2 <= words_max) {
        room_for(2);
        words_.push_back(first);
        words_.push_back(last);
        count_ += std::uint32_t{last} - first + 1;
    } else if (last - first < short_range) {
        for (std::uint32_t id = first; id <= last; ++id) insert(static_cast<Id>(id));
    } else {
        EventIdChunk more;
        more.insert(first, last);
        auto all = bits();
        const auto with = more.bits();
        for (std::size_t i = 0; i < all.size(); ++i) all[i] |= with[i];
        *this = of(all);
    }
}

bool EventIdChunk::erase(Id id) {
    switch (kind_) {
        case Kind::runs:
            if (!erase_from_runs(id)) return false;
            --count_;
            if (words_.size() > words_max) make_bitmap();
            return true;
        case Kind::list: {
            const auto place = std::ranges::lower_bound(words_, id);
            if (place == words_.end() || *place != id) return false;
            words_.erase(place);
            --count_;
            return true;
        }
        case Kind::bitmap: {
            auto& word = words_[id / 16];
            const auto bit = static_cast<Id>(1U << (id % 16));
            if ((word & bit) == 0) return false;
            word = static_cast<Id>(word & ~bit);
            if (--count_ < bitmap_count_min) make_list();
            return true;
        }
    }
    return false;
}

bool EventIdChunk::erase_from_runs(Id id) {
    const auto at = run_behind(id);
    if (at == words_.size() || words_[at] > id) return false;
    const auto first = words_[at], last = words_[at + 1];
    const auto place = std::next(words_.begin(), static_cast<std::ptrdiff_t>(at));
    if (first == last) {
        words_.erase(place, std::next(place, 2));
    } else if (first == id) {
        words_[at] = static_cast<Id>(id + 1);
    } else if (last == id) {
        words_[at + 1] = static_cast<Id>(id - 1);
    } else {
        room_for(2);
        words_[at + 1] = static_cast<Id>(id - 1);
        words_.insert(std::next(words_.begin(), static_cast<std::ptrdiff_t>(at + 2)), {static_cast<Id>(id + 1), last});
    }
    return true;
}

bool EventIdChunk::contains(Id id) const noexcept {
    switch (kind_) {
        case Kind::runs: {
            const auto at = run_behind(id);
            return at < words_.size() && words_[at] <= id;
        }
        case Kind::list: return std::ranges::binary_search(words_, id);
        case Kind::bitmap: return (words_[id / 16] >> (id % 16) & 1) != 0;
    }
    return false;
}

bool EventIdChunk::operator==(const EventIdChunk& other) const {
    if (count_ != other.count_) return false;
    if (kind_ == other.kind_) return words_ == other.words_;
    return bits() == other.bits();
}

}  // namespace weir::wire
