// SPDX-License-Identifier: Apache-2.0
#include "workers/worker_messages.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>

#include "weir/base/endian.hpp"
#include "weir/selection/selector.hpp"

namespace weir::selection {
namespace {

constexpr std::size_t padded(std::size_t size) noexcept { return shared_position(size); }

bool lies_in(ConstData part, ConstData whole) noexcept {
    const std::less_equal<const std::byte*> not_after;
    return !whole.empty() && not_after(whole.data(), part.data()) &&
           not_after(part.data() + part.size(), whole.data() + whole.size());
}

std::size_t words_end(const Event& event) noexcept {
    return padded(shared_event_head + shared_event_fragment * event.fragments.size() +
                  4 * (event.level1_words.size() + event.level2_words.size()));
}

void put(MutableData to, std::size_t at, ConstData bytes) noexcept {
    if (!bytes.empty()) std::memcpy(to.data() + at, bytes.data(), bytes.size());
}

/// Takes values from the front. A value beyond the end is zero; ran_short() is then true.
class Reader {
public:
    explicit Reader(ConstData data) : data_(data) {}
    template <class T>
    T take() {
        if (data_.size() < sizeof(T)) return short_ = true, data_ = {}, T{};
        const auto value = load_little<T>(data_);
        data_ = data_.subspan(sizeof(T));
        return value;
    }
    ConstData take_bytes(std::size_t size) {
        if (data_.size() < size) return short_ = true, data_ = {}, ConstData{};
        const auto bytes = data_.first(size);
        data_ = data_.subspan(size);
        return bytes;
    }
    [[nodiscard]] bool ran_short() const noexcept { return short_; }
    [[nodiscard]] std::size_t left() const noexcept { return data_.size(); }

private:
    ConstData data_;
    bool short_ = false;
};

template <class T>
void append(std::vector<std::byte>& to, T value) {
    to.resize(to.size() + sizeof(T));
    store_little(std::span(to), to.size() - sizeof(T), value);
}
void append_bytes(std::vector<std::byte>& to, ConstData bytes) { to.insert(to.end(), bytes.begin(), bytes.end()); }

}  // namespace

std::size_t shared_event_size(const Event& event) noexcept {
    auto size = words_end(event) + padded(event.payload.size());
    for (const auto& fragment : event.fragments)
        if (!lies_in(fragment.bytes, event.payload)) size += padded(fragment.bytes.size());
    return size;
}

void write_event(const Event& event, MutableData to) noexcept {
    const auto size = shared_event_size(event);
    WEIR_ASSERT(size <= to.size());
    store_little(to, 0, shared_event_magic);
    store_little(to, 4, shared_event_version);
    store_little(to, 8, std::uint64_t{size});
    store_little(to, 16, number(event.global_id));
    const std::uint32_t head[]{number(event.level1_id),
                               number(event.run),
                               number(event.lumi_block),
                               event.bunch_crossing_id,
                               event.trigger_type,
                               event.seconds,
                               event.nanoseconds,
                               static_cast<std::uint32_t>(event.fragments.size()),
                               static_cast<std::uint32_t>(event.level1_words.size()),
                               static_cast<std::uint32_t>(event.level2_words.size())};
    for (std::size_t i = 0; i < std::size(head); ++i) store_little(to, 24 + 4 * i, head[i]);
    auto next = words_end(event);
    const auto payload = next;
    store_little(to, 64, std::uint64_t{payload});
    store_little(to, 72, std::uint64_t{event.payload.size()});
    put(to, payload, event.payload);
    next += padded(event.payload.size());
    auto at = shared_event_head;
    for (const auto& fragment : event.fragments) {
        auto position = next;
        if (lies_in(fragment.bytes, event.payload)) {
            position = payload + static_cast<std::size_t>(fragment.bytes.data() - event.payload.data());
        } else {
            put(to, position, fragment.bytes);
            next += padded(fragment.bytes.size());
        }
        store_little(to, at, number(fragment.source));
        store_little(to, at + 4, static_cast<std::uint32_t>(fragment.state));
        store_little(to, at + 8, std::uint64_t{position});
        store_little(to, at + 16, std::uint64_t{fragment.bytes.size()});
        at += shared_event_fragment;
    }
    for (const auto words : {event.level1_words, event.level2_words}) {
        for (const auto word : words) {
            store_little(to, at, word);
            at += 4;
        }
    }
}

Result<Event> read_event(ConstData memory, EventParts& parts) {
    Reader reader(memory);
    if (reader.take<std::uint32_t>() != shared_event_magic || reader.take<std::uint32_t>() != shared_event_version)
        return fail(Errc::corrupt, "shared memory does not hold an event");
    const auto size = reader.take<std::uint64_t>();
    if (size != memory.size())
        return fail(Errc::corrupt, "the event in shared memory has another size than was announced");
    Event event;
    event.global_id = GlobalEventId{reader.take<std::uint64_t>()};
    event.level1_id = Level1Id{reader.take<std::uint32_t>()};
    event.run = RunNumber{reader.take<std::uint32_t>()};
    event.lumi_block = LumiBlock{reader.take<std::uint32_t>()};
    for (auto* field : {&event.bunch_crossing_id, &event.trigger_type, &event.seconds, &event.nanoseconds})
        *field = reader.take<std::uint32_t>();
    const auto fragments = reader.take<std::uint32_t>();
    const std::uint64_t words[]{reader.take<std::uint32_t>(), reader.take<std::uint32_t>()};
    const auto part = [&](std::uint64_t position, std::uint64_t length) -> std::optional<ConstData> {
        if (position > memory.size() || length > memory.size() - position) return std::nullopt;
        return memory.subspan(position, length);
    };
    const auto position = reader.take<std::uint64_t>();
    const auto payload = part(position, reader.take<std::uint64_t>());
    if (!payload || std::uint64_t{fragments} * shared_event_fragment + 4 * (words[0] + words[1]) > reader.left())
        return fail(Errc::corrupt, "the event in shared memory is longer than the memory");
    event.payload = *payload;
    parts.fragments.clear();
    for (std::uint32_t i = 0; i < fragments; ++i) {
        Fragment fragment;
        fragment.source = SourceId{reader.take<std::uint32_t>()};
        fragment.state = static_cast<FragmentState>(reader.take<std::uint32_t>());
        const auto at = reader.take<std::uint64_t>();
        const auto bytes = part(at, reader.take<std::uint64_t>());
        if (!bytes) return fail(Errc::corrupt, "a fragment in shared memory lies outside of it");
        fragment.bytes = *bytes;
        parts.fragments.push_back(fragment);
    }
    parts.level1_words.resize(words[0]);
    parts.level2_words.resize(words[1]);
    for (auto* list : {&parts.level1_words, &parts.level2_words})
        for (auto& word : *list) word = reader.take<std::uint32_t>();
    if (reader.ran_short()) return fail(Errc::truncated, "the event in shared memory ends early");
    event.fragments = parts.fragments;
    event.level1_words = parts.level1_words;
    event.level2_words = parts.level2_words;
    return event;
}

std::size_t shared_fragments_size(std::span<const Fragment> fragments) noexcept {
    auto size = shared_fragments_head + shared_event_fragment * fragments.size();
    for (const auto& fragment : fragments) size += padded(fragment.bytes.size());
    return size;
}

void write_fragments(std::span<const Fragment> fragments, MutableData to) noexcept {
    const auto size = shared_fragments_size(fragments);
    WEIR_ASSERT(size <= to.size());
    store_little(to, 0, shared_fragments_magic);
    store_little(to, 4, shared_event_version);
    store_little(to, 8, std::uint64_t{size});
    store_little(to, 16, static_cast<std::uint32_t>(fragments.size()));
    store_little(to, 20, std::uint32_t{0});
    auto at = shared_fragments_head;
    auto position = at + shared_event_fragment * fragments.size();
    for (const auto& fragment : fragments) {
        store_little(to, at, number(fragment.source));
        store_little(to, at + 4, static_cast<std::uint32_t>(fragment.state));
        store_little(to, at + 8, std::uint64_t{position});
        store_little(to, at + 16, std::uint64_t{fragment.bytes.size()});
        put(to, position, fragment.bytes);
        at += shared_event_fragment;
        position += padded(fragment.bytes.size());
    }
}

Result<std::vector<Fragment>> read_fragments(ConstData block) {
    Reader reader(block);
    if (reader.take<std::uint32_t>() != shared_fragments_magic || reader.take<std::uint32_t>() != shared_event_version)
        return fail(Errc::corrupt, "shared memory does not hold fragments");
    if (reader.take<std::uint64_t>() != block.size())
        return fail(Errc::corrupt, "the fragments in shared memory have another size than was announced");
    const auto count = reader.take<std::uint32_t>();
    static_cast<void>(reader.take<std::uint32_t>());
    if (std::uint64_t{count} * shared_event_fragment > reader.left())
        return fail(Errc::truncated, "the fragments in shared memory end early");
    std::vector<Fragment> fragments(count);
    for (auto& fragment : fragments) {
        fragment.source = SourceId{reader.take<std::uint32_t>()};
        fragment.state = static_cast<FragmentState>(reader.take<std::uint32_t>());
        const auto position = reader.take<std::uint64_t>();
        const auto size = reader.take<std::uint64_t>();
        if (position > block.size() || size > block.size() - position)
            return fail(Errc::corrupt, "a fragment in shared memory lies outside of it");
        fragment.bytes = block.subspan(position, size);
    }
    return fragments;
}

Result<std::vector<SourceId>> read_request(ConstData body) {
    if (body.size() % sizeof(std::uint32_t) != 0) return fail(Errc::truncated, "the request ends inside a source");
    if (body.size() / sizeof(std::uint32_t) > FragmentRequests::sources_max)
        return fail(Errc::limit, "the request names more sources than is allowed");
    std::vector<SourceId> sources;
    sources.reserve(body.size() / sizeof(std::uint32_t));
    Reader reader(body);
    while (reader.left() > 0) sources.push_back(SourceId{reader.take<std::uint32_t>()});
    return sources;
}

Result<Decision> read_decision(ConstData body) {
    Reader reader(body);
    Decision decision;
    decision.accepted = reader.take<std::uint32_t>() != 0;
    const auto tags = reader.take<std::uint32_t>();
    const auto result = reader.take<std::uint32_t>();
    const auto words = reader.take<std::uint32_t>();
    if (tags > Decision::tags_max || result > Decision::result_max || words > Decision::words_max)
        return fail(Errc::limit, "the decision has more tags, words or result than is allowed");
    for (std::uint32_t i = 0; i < tags; ++i) {
        const auto text_size = reader.take<std::uint16_t>();
        const bool obeys = reader.take<std::uint8_t>() != 0;
        const auto detectors = reader.take<std::uint8_t>();
        const auto robs = reader.take<std::uint32_t>();
        if (robs > tag_robs_max) return fail(Errc::limit, "a stream tag names more ROBs than is allowed");
        auto tag = parse_stream_key(as_text(reader.take_bytes(text_size)));
        if (reader.ran_short()) break;
        if (!tag) return std::unexpected(tag.error());
        tag->obeys_lumi_block = obeys;
        for (std::uint32_t rob = 0; rob < robs && !reader.ran_short(); ++rob)
            tag->robs.push_back(SourceId{reader.take<std::uint32_t>()});
        for (const auto detector : reader.take_bytes(detectors))
            tag->detectors.push_back(std::to_integer<std::uint8_t>(detector));
        decision.tags.push_back(std::move(*tag));
    }
    const auto bytes = reader.take_bytes(result);
    decision.result.assign(bytes.begin(), bytes.end());
    for (std::uint32_t i = 0; i < words; ++i) decision.level2_words.push_back(reader.take<std::uint32_t>());
    if (reader.ran_short()) return fail(Errc::truncated, "the decision ends early");
    if (reader.left() != 0) return fail(Errc::corrupt, "bytes stand behind the decision");
    WEIR_TRY(check_decision(decision));
    return decision;
}

void write_answer(AnswerKind kind, std::string_view text, std::vector<std::byte>& to) {
    plugin::write_message(static_cast<std::uint32_t>(kind), as_data(text.substr(0, 4096)), to);
}

void write_decision(const Decision& decision, std::vector<std::byte>& to) {
    const auto begin = plugin::begin_message(static_cast<std::uint32_t>(AnswerKind::decision), to);
    append(to, std::uint32_t{decision.accepted});
    append(to, static_cast<std::uint32_t>(decision.tags.size()));
    append(to, static_cast<std::uint32_t>(decision.result.size()));
    append(to, static_cast<std::uint32_t>(decision.level2_words.size()));
    for (const auto& tag : decision.tags) {
        const auto text = stream_key(tag);
        append(to, static_cast<std::uint16_t>(text.size()));
        append(to, std::uint8_t{tag.obeys_lumi_block});
        append(to, static_cast<std::uint8_t>(tag.detectors.size()));
        append(to, static_cast<std::uint32_t>(tag.robs.size()));
        append_bytes(to, as_data(text));
        for (const auto rob : tag.robs) append(to, number(rob));
        for (const auto detector : tag.detectors) append(to, detector);
    }
    append_bytes(to, decision.result);
    for (const auto word : decision.level2_words) append(to, word);
    plugin::end_message(begin, to);
}

void write_request(std::span<const SourceId> sources, std::vector<std::byte>& to) {
    const auto begin = plugin::begin_message(static_cast<std::uint32_t>(AnswerKind::request), to);
    for (const auto source : sources) append(to, number(source));
    plugin::end_message(begin, to);
}

}  // namespace weir::selection
