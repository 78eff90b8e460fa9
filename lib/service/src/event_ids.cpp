// SPDX-License-Identifier: Apache-2.0
#include "weir/service/event_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>
#include <vector>

namespace weir {
namespace {

using wire::SequenceRange;
using wire::SequenceSet;

constexpr std::size_t intervals_read_max = std::size_t{1} << 20;

std::optional<std::uint64_t> id_of(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size() || value >= wire::sequence_max) return std::nullopt;
    return value;
}

}  // namespace

EventIds::EventIds(SequenceSet one_higher) : ids_(std::move(one_higher)) { bound(); }

void EventIds::bound() {
    if (ids_.intervals().size() <= intervals_max) return;
    known_ = false;
    ids_ = {};
}

void EventIds::insert(GlobalEventId id) {
    if (!known_) return;
    if (number(id) >= wire::sequence_max) {
        known_ = false;
        ids_ = {};
        return;
    }
    ids_.insert(Sequence{number(id) + 1});
    bound();
}

std::string EventIds::text() const {
    std::string text;
    for (const auto& range : ids_.intervals()) {
        if (!text.empty()) text += ',';
        fmt::format_to(std::back_inserter(text), "{}", number(range.first) - 1);
        if (range.first != range.last) fmt::format_to(std::back_inserter(text), "-{}", number(range.last) - 1);
    }
    return text;
}

Result<EventIds> EventIds::parse(std::string_view text) {
    // Id 0 is no sequence: the text is read as it stands, with its own numbers, and moved by one.
    SequenceSet ids;
    std::size_t count = 0;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto part = text.substr(0, comma);
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
        const auto dash = part.find('-');
        const auto first = id_of(part.substr(0, dash));
        const auto last = dash == part.npos ? first : id_of(part.substr(dash + 1));
        if (!first || !last || *first > *last)
            return fail(Errc::corrupt, fmt::format("\"{}\" is no interval of event ids", part.substr(0, 60)));
        if (++count > intervals_read_max) return fail(Errc::limit, fmt::format("more than {} intervals of event ids", intervals_read_max));
        if (!ids.empty() && number(ids.highest()) > *first) return fail(Errc::corrupt, "intervals of event ids that do not ascend");
        ids.insert(SequenceRange{Sequence{*first + 1}, Sequence{*last + 1}});
    }
    return EventIds(std::move(ids));
}

EventIds EventIds::operator|(const EventIds& other) const {
    std::vector<SequenceRange> all;
    std::ranges::merge(ids_.intervals(), other.ids_.intervals(), std::back_inserter(all));
    SequenceSet set;
    for (const auto& range : all) set.insert(range);  // ascending: each at the end
    EventIds result(std::move(set));
    result.known_ = result.known_ && known_ && other.known_;
    return result;
}

EventIds EventIds::operator&(const EventIds& other) const {
    SequenceSet set;
    const auto a = ids_.intervals(), b = other.ids_.intervals();
    for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
        const auto first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
        if (first <= last) set.insert(SequenceRange{first, last});
        (a[i].last < b[j].last ? i : j)++;
    }
    EventIds result(std::move(set));
    result.known_ = result.known_ && known_ && other.known_;
    return result;
}

EventIds EventIds::operator-(const EventIds& other) const {
    SequenceSet set;
    const auto b = other.ids_.intervals();
    std::size_t j = 0;
    for (const auto& range : ids_.intervals()) {
        auto first = number(range.first);
        while (j < b.size() && number(b[j].last) < first) ++j;
        for (auto k = j; k < b.size() && b[k].first <= range.last; ++k) {
            if (number(b[k].first) > first) set.insert(SequenceRange{Sequence{first}, Sequence{number(b[k].first) - 1}});
            first = number(b[k].last) + 1;
        }
        if (first <= number(range.last)) set.insert(SequenceRange{Sequence{first}, range.last});
    }
    EventIds result(std::move(set));
    result.known_ = result.known_ && known_ && other.known_;
    return result;
}

}  // namespace weir
