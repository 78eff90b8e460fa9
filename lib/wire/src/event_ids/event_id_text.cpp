// SPDX-License-Identifier: Apache-2.0
// The text of a set of event ids, docs/formats/event-ids.md: for each chunk the shortest of ranges, gaps and bitmap.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <iterator>
#include <optional>

#include "base64.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::wire {
namespace {

using Id = EventIdChunk::Id;

constexpr std::uint64_t chunk_max = UINT64_MAX / EventIdChunk::size;
constexpr std::uint32_t runs_readable = 16;  // are short enough, and people can read them

void append(const EventIdRange& range, std::string& text) {
    if (!text.empty()) text += ',';
    fmt::format_to(std::back_inserter(text), "{}", number(range.first));
    if (range.first != range.last) fmt::format_to(std::back_inserter(text), "-{}", number(range.last));
}

/// How many ids lie between an id and the one before it, as LEB128: seven bits a byte, the lowest first.
std::vector<std::uint8_t> gaps_of(const EventIdChunk& chunk) {
    std::vector<std::uint8_t> bytes;
    std::uint32_t next = 0;
    chunk.for_each_run([&](Id first, Id last) {
        auto gap = first - next;
        for (; gap >= 0x80; gap >>= 7) bytes.push_back(static_cast<std::uint8_t>(gap | 0x80));
        bytes.push_back(static_cast<std::uint8_t>(gap));
        bytes.insert(bytes.end(), std::size_t{last} - first, 0);
        next = std::uint32_t{last} + 1;
        return true;
    });
    return bytes;
}

std::vector<std::uint8_t> bitmap_of(const EventIdChunk& chunk) {
    std::vector<std::uint8_t> bytes;
    for (const auto word : chunk.bits()) {
        for (int byte = 0; byte < 8; ++byte) bytes.push_back(static_cast<std::uint8_t>(word >> (8 * byte)));
    }
    while (!bytes.empty() && bytes.back() == 0) bytes.pop_back();
    return bytes;
}

/// Puts the items one behind the other. A range waits for what may continue it.
class Text {
public:
    void add(std::uint64_t number, const EventIdChunk& chunk) {
        const auto base = number * EventIdChunk::size;
        std::uint32_t runs = 0, last_id = 0;
        chunk.for_each_run([&](Id, Id last) {
            ++runs;
            last_id = last;
            return true;
        });
        const auto digits = fmt::formatted_size("{}", base + last_id) + 1;
        const auto as_ranges = digits * (chunk.count() > runs ? 2 * runs : runs);
        const auto as_bitmap = digits + base64_size(last_id / 8 + 1);
        std::vector<std::uint8_t> gaps;
        if (runs > runs_readable && base64_size(chunk.count()) < as_bitmap)
            gaps = gaps_of(chunk);  // each is a byte at least
        const auto as_gaps = gaps.empty() ? SIZE_MAX : digits + base64_size(gaps.size());
        if (runs <= runs_readable || as_ranges <= std::min(as_bitmap, as_gaps)) {
            chunk.for_each_run([&](Id first, Id last) {
                add(EventIdRange{GlobalEventId{base + first}, GlobalEventId{base + last}});
                return true;
            });
        } else if (as_gaps < as_bitmap) {
            add(number, 'g', gaps);
        } else {
            add(number, 'b', bitmap_of(chunk));
        }
    }
    [[nodiscard]] std::string take() {
        finish_range();
        return std::move(text_);
    }

private:
    void add(const EventIdRange& range) {
        if (range_ && weir::number(range_->last) + 1 == weir::number(range.first)) {
            range_->last = range.last;
            return;
        }
        finish_range();
        range_ = range;
    }
    void add(std::uint64_t number, char how, std::span<const std::uint8_t> bytes) {
        finish_range();
        fmt::format_to(std::back_inserter(text_), "{}@{}={}", text_.empty() ? "" : ",", number, how);
        append_base64(bytes, text_);
    }
    void finish_range() {
        if (range_) append(*range_, text_);
        range_.reset();
    }

    std::string text_;
    std::optional<EventIdRange> range_;
};

std::optional<std::uint64_t> read_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || failure != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::optional<EventIdChunk> read_bitmap(std::span<const std::uint8_t> bytes) {
    if (bytes.size() > EventIdChunk::size / 8 || bytes.empty() || bytes.back() == 0) return std::nullopt;
    EventIdChunk::Bits bits{};
    for (std::size_t i = 0; i < bytes.size(); ++i) bits[i / 8] |= std::uint64_t{bytes[i]} << (8 * (i % 8));
    return EventIdChunk::of(bits);
}

std::optional<EventIdChunk> read_gaps(std::span<const std::uint8_t> bytes) {
    EventIdChunk::Bits bits{};
    std::uint32_t next = 0, gap = 0;
    unsigned shift = 0;
    for (const auto byte : bytes) {
        if (shift > 14 || (shift > 0 && byte == 0)) return std::nullopt;
        gap |= std::uint32_t{byte & 0x7fU} << shift;
        shift += 7;
        if ((byte & 0x80) != 0) continue;
        next += gap;
        if (next >= EventIdChunk::size) return std::nullopt;
        bits[next / 64] |= std::uint64_t{1} << (next % 64);
        ++next;
        gap = 0;
        shift = 0;
    }
    if (shift != 0 || bytes.empty()) return std::nullopt;
    return EventIdChunk::of(bits);
}

struct Item {
    std::uint64_t chunk = 0;
    std::optional<EventIdChunk> ids{};  // nothing: the range
    EventIdRange range{};
};

/// "@3=b...", behind the @
std::optional<Item> read_chunk(std::string_view text) {
    const auto sign = text.find('=');
    if (sign == text.npos || sign + 1 == text.size()) return std::nullopt;
    const auto number = read_number(text.substr(0, sign));
    const char how = text[sign + 1];
    const auto bytes = read_base64(text.substr(sign + 2));
    if (!number || *number > chunk_max || !bytes || (how != 'b' && how != 'g')) return std::nullopt;
    auto ids = how == 'b' ? read_bitmap(*bytes) : read_gaps(*bytes);
    if (!ids) return std::nullopt;
    const auto base = *number * EventIdChunk::size;
    Item item{*number, {}, {}};
    ids->for_each_run([&](Id first, Id) {
        item.range.first = GlobalEventId{base + first};
        return false;
    });
    ids->for_each_run([&](Id, Id last) {
        item.range.last = GlobalEventId{base + last};
        return true;
    });
    item.ids = std::move(ids);
    return item;
}

std::optional<Item> read_item(std::string_view text) {
    if (text.starts_with('@')) return read_chunk(text.substr(1));
    const auto dash = text.find('-');
    const auto first = read_number(text.substr(0, dash));
    const auto last = dash == text.npos ? first : read_number(text.substr(dash + 1));
    if (!first || !last || *first > *last) return std::nullopt;
    return Item{0, {}, {GlobalEventId{*first}, GlobalEventId{*last}}};
}

}  // namespace

std::string to_text(const EventIdSet& set) {
    Text text;
    for (const auto& [number, chunk] : set.chunks()) text.add(number, chunk);
    return text.take();
}

std::string to_text(const EventIdSet& set, std::uint64_t chunk) {
    Text text;
    if (const auto* ids = set.chunk(chunk)) text.add(chunk, *ids);
    return text.take();
}

std::string ranges_text(const EventIdSet& set, std::size_t ranges_max) {
    std::string text;
    const auto ranges = set.ranges(ranges_max);
    std::uint64_t shown = 0;
    for (const auto& range : ranges) {
        append(range, text);
        shown += number(range.last) - number(range.first) + 1;
    }
    if (shown < set.count()) text += text.empty() ? "..." : ",...";
    return text;
}

Result<EventIdSet> parse_event_ids(std::string_view text, std::size_t memory_max) {
    EventIdSet set;
    std::optional<GlobalEventId> highest;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto part = text.substr(0, comma);
        const auto item = read_item(part);
        if (!item || (comma != text.npos && comma + 1 == text.size()))
            return fail(Errc::corrupt, fmt::format("\"{}\" is no range of event ids such as 1-40, and no chunk of them",
                                                   part.substr(0, 60)));
        if (highest && item->range.first <= *highest)
            return fail(Errc::corrupt,
                        fmt::format("the event ids \"{}\" do not lie above those before them", part.substr(0, 60)));
        const auto chunks = EventIdSet::chunk_of(item->range.last) - EventIdSet::chunk_of(item->range.first) + 1;
        if (set.memory() > memory_max || chunks > (memory_max - set.memory()) / EventIdSet::chunk_overhead + 1)
            return fail(Errc::limit, fmt::format("a set of event ids takes more than {} bytes", memory_max));
        if (item->ids) set.put(item->chunk, *item->ids);
        else set.insert(item->range);
        highest = item->range.last;
        text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
    }
    if (set.memory() > memory_max)
        return fail(Errc::limit, fmt::format("a set of event ids takes more than {} bytes", memory_max));
    return set;
}

}  // namespace weir::wire
