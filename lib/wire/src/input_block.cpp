// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/input_block.hpp"

#include <algorithm>
#include <type_traits>

#include "field_reader.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"

namespace weir::wire {
namespace {

constexpr std::uint16_t has_level1_id = 1, has_time = 2, is_rod = 4, is_rob = 8;

constexpr std::size_t padded(std::size_t size) noexcept { return (size + 3) / 4 * 4; }

class Record {
public:
    Record(std::vector<std::byte>& block, std::size_t size) : block_(block), at_(block.size()) {
        block_.resize(at_ + size);
    }
    template <std::unsigned_integral T>
    void put(T value) {
        store_little(block_, at_, value);
        at_ += sizeof(T);
    }
    void put(std::span<const std::uint32_t> words) {
        for (const auto word : words) put(word);
    }

private:
    std::vector<std::byte>& block_;
    std::size_t at_;
};

void read_words(ConstData from, std::vector<std::uint32_t>& words) {
    words.resize(from.size() / 4);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = load_little<std::uint32_t>(from, 4 * i);
}

/// Nothing is wrong, or the fault. `record` is the whole record, of at least a header.
const char* read(ConstData record, InputFragment& fragment) {
    FieldReader in(record.subspan(4));
    fragment.source = SourceId{in.take<std::uint32_t>()};
    const Level1Id level1_id{in.take<std::uint32_t>()};
    const auto flags = in.take<std::uint16_t>();
    const std::size_t status_words = in.take<std::uint16_t>();
    const auto time = static_cast<std::int64_t>(in.take<std::uint64_t>());
    const std::size_t size = in.take<std::uint32_t>();
    in.take<std::uint32_t>();
    if (status_words > input_status_words_max) return "too many status words";
    const auto words = in.take_bytes(4 * status_words);
    fragment.payload = in.take_bytes(size);
    if (!in.ok()) return "longer than its record";
    if (in.rest().size() >= 4) return "shorter than its record";
    if ((flags & is_rod) != 0 && (flags & is_rob) != 0) return "both a ROD and a ROB";
    fragment.kind = (flags & is_rob) != 0   ? PayloadKind::rob
                    : (flags & is_rod) != 0 ? PayloadKind::rod
                                            : PayloadKind::raw;
    fragment.level1_id = (flags & has_level1_id) != 0 ? std::optional(level1_id) : std::nullopt;
    fragment.time_ns = (flags & has_time) != 0 ? std::optional(time) : std::nullopt;
    read_words(words, fragment.status_words);
    return nullptr;
}

const char* read(ConstData record, InputTrigger& trigger) {
    FieldReader in(record.subspan(4));
    trigger.level1_id = Level1Id{in.take<std::uint32_t>()};
    trigger.time_ns = static_cast<std::int64_t>(in.take<std::uint64_t>());
    trigger.type = in.take<std::uint32_t>();
    trigger.bunch_crossing_id = in.take<std::uint32_t>();
    in.take<std::uint16_t>();
    const std::size_t words = in.take<std::uint16_t>();
    in.take<std::uint32_t>();
    if (words > input_trigger_words_max) return "too many words";
    const auto bytes = in.take_bytes(4 * words);
    if (!in.ok()) return "longer than its record";
    if (!in.rest().empty()) return "shorter than its record";
    read_words(bytes, trigger.words);
    return nullptr;
}

}  // namespace

bool InputFragment::operator==(const InputFragment& other) const {
    return source == other.source && level1_id == other.level1_id && time_ns == other.time_ns && kind == other.kind &&
           status_words == other.status_words && std::ranges::equal(payload, other.payload);
}

std::size_t encoded_size(const InputFragment& fragment) noexcept {
    return input_record_header_size + 4 * fragment.status_words.size() + padded(fragment.payload.size());
}

std::size_t encoded_size(const InputTrigger& trigger) noexcept {
    return input_record_header_size + 4 * trigger.words.size();
}

void encode_head(const InputFragment& fragment, std::vector<std::byte>& block) {
    WEIR_ASSERT(fragment.status_words.size() <= input_status_words_max);
    WEIR_ASSERT(fragment.payload.size() <= std::uint64_t{1} << 30U);
    Record out(block, input_record_header_size + 4 * fragment.status_words.size());
    out.put(static_cast<std::uint32_t>(encoded_size(fragment)));
    out.put(number(fragment.source));
    out.put(number(fragment.level1_id.value_or(Level1Id{})));
    out.put(static_cast<std::uint16_t>((fragment.level1_id ? has_level1_id : 0) | (fragment.time_ns ? has_time : 0) |
                                       (fragment.kind == PayloadKind::rod ? is_rod : 0) |
                                       (fragment.kind == PayloadKind::rob ? is_rob : 0)));
    out.put(static_cast<std::uint16_t>(fragment.status_words.size()));
    out.put(static_cast<std::uint64_t>(fragment.time_ns.value_or(0)));
    out.put(static_cast<std::uint32_t>(fragment.payload.size()));
    out.put(std::uint32_t{0});
    out.put(fragment.status_words);
}

void encode(const InputFragment& fragment, std::vector<std::byte>& block) {
    encode_head(fragment, block);
    const auto& payload = fragment.payload;
    block.insert(block.end(), payload.begin(), payload.end());
    block.resize(block.size() + padded(payload.size()) - payload.size());
}

void encode(const InputTrigger& trigger, std::vector<std::byte>& block) {
    WEIR_ASSERT(trigger.words.size() <= input_trigger_words_max);
    Record out(block, encoded_size(trigger));
    out.put(static_cast<std::uint32_t>(encoded_size(trigger)));
    out.put(number(trigger.level1_id));
    out.put(static_cast<std::uint64_t>(trigger.time_ns));
    out.put(trigger.type);
    out.put(trigger.bunch_crossing_id);
    out.put(std::uint16_t{0});
    out.put(static_cast<std::uint16_t>(trigger.words.size()));
    out.put(std::uint32_t{0});
    out.put(trigger.words);
}

template <class Record>
typename BlockReader<Record>::Next BlockReader<Record>::next() {
    if (rest_.empty()) return Next::end;
    ++count_;
    if (count_ > block_records_max) return fail(Next::broken, "the block has too many records");
    if (rest_.size() < input_record_header_size) return fail(Next::broken, "the block ends within a record");
    const std::size_t size = load_little<std::uint32_t>(rest_, 0);
    if (size < input_record_header_size || size % 4 != 0 || size > rest_.size())
        return fail(Next::broken, "a record has a length that cannot be");
    const auto record = rest_.first(size);
    rest_ = rest_.subspan(size);
    if (const char* fault = read(record, record_)) return fail(Next::bad, fault);
    return Next::record;
}

template class BlockReader<InputFragment>;
template class BlockReader<InputTrigger>;

}  // namespace weir::wire
