// SPDX-License-Identifier: Apache-2.0
// The intervals are ascending and never touch, so that equal sets have equal intervals.
#include "weir/wire/sequence_set.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "weir/base/assert.hpp"

namespace weir::wire {
namespace {

constexpr Sequence before(Sequence sequence) noexcept { return Sequence{number(sequence) - 1}; }
constexpr Sequence after(Sequence sequence) noexcept { return Sequence{number(sequence) + 1}; }

void check(SequenceRange range) { WEIR_ASSERT(valid(range.first) && valid(range.last) && range.first <= range.last); }

}  // namespace

std::uint64_t SequenceSet::insert(SequenceRange range) {
    check(range);
    if (!all_.empty() && all_.back().first <= range.first && range.first <= after(all_.back().last)) {  // in order
        if (range.last <= all_.back().last) return 0;
        const auto added = number(range.last) - number(std::max(before(range.first), all_.back().last));
        all_.back().last = range.last;
        return added;
    }
    // The intervals that overlap or touch the new one become one with it.
    auto begin = std::ranges::lower_bound(all_, before(range.first), {}, &SequenceRange::last);
    auto end = begin;
    auto merged = range;
    std::uint64_t had = 0;
    while (end != all_.end() && end->first <= after(range.last)) {
        merged.first = std::min(merged.first, end->first);
        merged.last = std::max(merged.last, end->last);
        had += end->count();
        ++end;
    }
    const auto added = merged.count() - had;
    if (begin == end) {
        all_.insert(begin, merged);
    } else {
        *begin = merged;
        all_.erase(std::next(begin), end);
    }
    return added;
}

void SequenceSet::merge(const SequenceSet& other) {
    for (const auto& range : other.all_) insert(range);
}

std::uint64_t SequenceSet::erase(SequenceRange range) {
    check(range);
    auto at = std::ranges::lower_bound(all_, range.first, {}, &SequenceRange::last);
    std::uint64_t removed = 0;
    while (at != all_.end() && at->first <= range.last) {
        const auto whole = *at;
        const SequenceRange gone{std::max(whole.first, range.first), std::min(whole.last, range.last)};
        removed += gone.count();
        if (gone == whole) {
            at = all_.erase(at);
        } else if (gone.first == whole.first) {
            (at++)->first = after(gone.last);
        } else {
            at->last = before(gone.first);
            if (gone.last < whole.last) at = all_.insert(std::next(at), {after(gone.last), whole.last});
            else ++at;
        }
    }
    return removed;
}

std::uint64_t SequenceSet::count(SequenceRange range) const noexcept {
    std::uint64_t found = 0;
    for (auto at = std::ranges::lower_bound(all_, range.first, {}, &SequenceRange::last);
         at != all_.end() && at->first <= range.last; ++at) {
        found += SequenceRange{std::max(at->first, range.first), std::min(at->last, range.last)}.count();
    }
    return found;
}

std::uint64_t SequenceSet::count() const noexcept {
    std::uint64_t sum = 0;
    for (const auto& range : all_) sum += range.count();
    return sum;
}

Sequence SequenceSet::cumulative() const noexcept {
    return !all_.empty() && all_.front().first == Sequence{1} ? all_.front().last : Sequence{0};
}

std::span<const SequenceRange> SequenceSet::ranges() const noexcept {
    return std::span(all_).subspan(cumulative() == Sequence{0} ? 0 : 1);
}

std::string to_string(const SequenceSet& set) {
    std::string text;
    for (const auto& [first, last] : set.intervals()) {
        if (!text.empty()) text += ',';
        if (first == last) fmt::format_to(std::back_inserter(text), "{}", number(first));
        else fmt::format_to(std::back_inserter(text), "{}-{}", number(first), number(last));
    }
    return text;
}

Result<SequenceSet> parse_sequence_set(std::string_view text, std::size_t intervals_max) {
    SequenceSet set;
    const auto corrupt = [&] {
        return fail(Errc::corrupt, fmt::format("\"{}\" is no set of sequences such as 1-40,42: each interval must lie "
                                               "above the one before",
                                               text.substr(0, 80)));
    };
    const auto read_number = [&](Sequence& into) {
        std::uint64_t value = 0;
        const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (failure != std::errc{} || !valid(Sequence{value})) return false;
        text.remove_prefix(static_cast<std::size_t>(end - text.data()));
        into = Sequence{value};
        return true;
    };
    while (!text.empty()) {
        SequenceRange range;
        if (!read_number(range.first)) return corrupt();
        range.last = range.first;
        if (text.starts_with('-')) {
            text.remove_prefix(1);
            if (!read_number(range.last)) return corrupt();
        }
        if (range.first > range.last || range.first <= set.highest()) return corrupt();
        if (text.starts_with(',')) {
            text.remove_prefix(1);
            if (text.empty()) return corrupt();
        } else if (!text.empty()) {
            return corrupt();
        }
        set.insert(range);
        if (set.intervals().size() > intervals_max)
            return fail(Errc::limit, fmt::format("a set of sequences has more than {} intervals", intervals_max));
    }
    return set;
}

}  // namespace weir::wire
