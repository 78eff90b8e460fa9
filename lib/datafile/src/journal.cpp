// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::datafile {
namespace {

constexpr auto magic = journal_magic;
constexpr auto header_size = journal_header_size;
constexpr std::size_t body_size_max = 1U << 20;
constexpr std::size_t copy_body_size = 88;
constexpr std::uint16_t flag_adler32 = 1, flag_counts_alone = 2;  // of FileOpened

enum Kind : std::uint16_t {
    kind_opened = 1,
    kind_session = 2,
    kind_copy = 3,
    kind_closed = 4,
    kind_progress = 5,
    kind_continues = 6,
    kind_commit = 7,
    kind_begins = 8,
    kind_rejected = 9
};

class Encoder {
public:
    explicit Encoder(std::vector<std::byte>& to) : to_(to) {}

    template <std::unsigned_integral T>
    void number(T value) {
        const auto at = to_.size();
        to_.resize(at + sizeof(T));
        store_little<T>(to_, at, value);
    }
    void raw(ConstData data) { to_.insert(to_.end(), data.begin(), data.end()); }
    void text(std::string_view text) {
        WEIR_ASSERT(text.size() <= 0xffff);
        number(static_cast<std::uint16_t>(text.size()));
        raw(as_data(text));
    }
    void blob(ConstData data) {
        number(static_cast<std::uint32_t>(data.size()));
        raw(data);
    }

private:
    std::vector<std::byte>& to_;
};

/// Reads a body; a field beyond its end makes `good()` false and reads as zero.
class Decoder {
public:
    explicit Decoder(ConstData body) : rest_(body) {}

    template <std::unsigned_integral T>
    T number() {
        const auto bytes = take(sizeof(T));
        return bytes.empty() ? T{0} : load_little<T>(bytes);
    }
    Guid guid() {
        Guid guid;
        const auto bytes = take(guid.bytes.size());
        if (!bytes.empty()) std::memcpy(guid.bytes.data(), bytes.data(), bytes.size());
        return guid;
    }
    std::string text() { return std::string(as_text(take(number<std::uint16_t>()))); }
    std::vector<std::byte> blob() {
        const auto bytes = take(number<std::uint32_t>());
        return {bytes.begin(), bytes.end()};
    }
    [[nodiscard]] bool good() const noexcept { return good_; }
    [[nodiscard]] bool has_more() const noexcept { return good_ && !rest_.empty(); }

private:
    ConstData take(std::size_t size) {
        if (size > rest_.size()) good_ = false;
        if (!good_) return {};
        const auto bytes = rest_.first(size);
        rest_ = rest_.subspan(size);
        return bytes;
    }

    ConstData rest_;
    bool good_ = true;
};

void encode_body(const FileOpened& r, Encoder& to) {
    to.raw(r.guid.bytes);
    to.number(number(r.run));
    to.number(number(r.lumi_block));
    to.number(r.sequence);
    to.number(static_cast<std::uint8_t>(r.format));
    to.number(r.file_version);
    to.number(
        static_cast<std::uint16_t>((r.has_adler32 ? flag_adler32 : 0) | (r.counts_alone ? flag_counts_alone : 0)));
    to.number(r.blocks_before);
    to.number(r.events_before);
    to.number(r.bytes_before);
    to.text(r.stream_type);
    to.text(r.stream_name);
    to.text(r.name);
    to.blob(r.start);
}

void encode_body(const SessionDeclared& r, Encoder& to) {
    to.number(r.number);
    to.number(r.incarnation);
    to.number(r.connection);
    to.number(number(r.run));
    to.text(r.sender);
}

void encode_body(const StoredCopy& r, Encoder& to) {
    to.raw(r.guid.bytes);
    to.number(r.offset);
    to.number(r.length);
    to.number(r.block_number);
    to.number(r.adler32);
    to.number(r.crc32c);
    to.number(r.placed_crc32c);
    to.number(number(r.event));
    to.number(number(r.level1));
    to.number(r.session);
    to.number(number(r.sequence));
    to.number(r.copy);
    to.number(r.copies);
    to.number(number(r.lumi_block));
    to.number(r.received_ns);
    if (!r.earlier.keys || r.earlier.keys->empty()) return;
    to.number(static_cast<std::uint16_t>(r.earlier.keys->size()));
    for (const auto& key : *r.earlier.keys) to.text(key);
}

void encode_body(const FileClosed& r, Encoder& to) {
    to.raw(r.guid.bytes);
    to.number(r.size);
    to.number(r.adler32);
    to.number(r.crc32c);
    to.number(r.events);
    to.number(r.bytes);
    to.number(static_cast<std::uint16_t>(r.cut ? 1 : 0));
    to.blob(r.end);
}

void encode_body(const FileProgress& r, Encoder& to) {
    to.raw(r.guid.bytes);
    to.number(r.events);
    to.number(r.end);
}

void encode_body(const JournalContinues& r, Encoder& to) { to.number(r.next); }

void encode_body(const JournalCommit& r, Encoder& to) { to.number(r.offset); }

void encode_body(const JournalBegins& r, Encoder& to) {
    to.number(r.number);
    to.number(number(r.run));
    to.raw(r.boot.bytes);
    to.raw(r.volume.bytes);
    to.text(r.recorder);
}

void encode_body(const RejectedCopies& r, Encoder& to) {
    to.number(number(r.run));
    to.text(r.recorder);
    to.text(r.stream_type);
    to.text(r.stream_name);
    to.number(static_cast<std::uint16_t>(r.copies.size()));
    for (const auto& [reason, copies] : r.copies) {
        to.text(reason);
        to.number(copies);
    }
}

JournalRecord decode_opened(Decoder& from) {
    FileOpened r;
    r.guid = from.guid();
    r.run = RunNumber{from.number<std::uint32_t>()};
    r.lumi_block = LumiBlock{from.number<std::uint32_t>()};
    r.sequence = from.number<std::uint32_t>();
    r.format = static_cast<event::Format>(from.number<std::uint8_t>());
    r.file_version = from.number<std::uint8_t>();
    const auto flags = from.number<std::uint16_t>();
    r.has_adler32 = (flags & flag_adler32) != 0;
    r.counts_alone = (flags & flag_counts_alone) != 0;
    r.blocks_before = from.number<std::uint32_t>();
    r.events_before = from.number<std::uint64_t>();
    r.bytes_before = from.number<std::uint64_t>();
    r.stream_type = from.text();
    r.stream_name = from.text();
    r.name = from.text();
    r.start = from.blob();
    return r;
}

JournalRecord decode_session(Decoder& from) {
    SessionDeclared r;
    r.number = from.number<std::uint32_t>();
    r.incarnation = from.number<std::uint64_t>();
    r.connection = from.number<std::uint32_t>();
    r.run = RunNumber{from.number<std::uint32_t>()};
    r.sender = from.text();
    return r;
}

/// `last`: of the copy before; usually it is the same list again.
JournalRecord decode_copy(Decoder& from, EarlierStreams& last) {
    StoredCopy r;
    r.guid = from.guid();
    r.offset = from.number<std::uint64_t>();
    r.length = from.number<std::uint64_t>();
    r.block_number = from.number<std::uint32_t>();
    r.adler32 = from.number<std::uint32_t>();
    r.crc32c = from.number<std::uint32_t>();
    r.placed_crc32c = from.number<std::uint32_t>();
    r.event = GlobalEventId{from.number<std::uint64_t>()};
    r.level1 = Level1Id{from.number<std::uint32_t>()};
    r.session = from.number<std::uint32_t>();
    r.sequence = Sequence{from.number<std::uint64_t>()};
    r.copy = from.number<std::uint16_t>();
    r.copies = from.number<std::uint16_t>();
    r.lumi_block = LumiBlock{from.number<std::uint32_t>()};
    r.received_ns = from.number<std::uint64_t>();
    if (!from.has_more()) return r;
    std::vector<std::string> keys;
    for (auto left = from.number<std::uint16_t>(); left > 0 && from.good(); --left) keys.push_back(from.text());
    if (!last.keys || *last.keys != keys) last.keys = std::make_shared<const std::vector<std::string>>(std::move(keys));
    r.earlier = last;
    return r;
}

JournalRecord decode_closed(Decoder& from) {
    FileClosed r;
    r.guid = from.guid();
    r.size = from.number<std::uint64_t>();
    r.adler32 = from.number<std::uint32_t>();
    r.crc32c = from.number<std::uint32_t>();
    r.events = from.number<std::uint64_t>();
    r.bytes = from.number<std::uint64_t>();
    r.cut = (from.number<std::uint16_t>() & 1) != 0;
    r.end = from.blob();
    return r;
}

JournalRecord decode_progress(Decoder& from) {
    FileProgress r;
    r.guid = from.guid();
    r.events = from.number<std::uint64_t>();
    r.end = from.number<std::uint64_t>();
    return r;
}

JournalRecord decode_continues(Decoder& from) { return JournalContinues{from.number<std::uint32_t>()}; }

JournalRecord decode_commit(Decoder& from) { return JournalCommit{from.number<std::uint64_t>()}; }

JournalRecord decode_begins(Decoder& from) {
    JournalBegins r;
    r.number = from.number<std::uint32_t>();
    r.run = RunNumber{from.number<std::uint32_t>()};
    r.boot = from.guid();
    r.volume = from.guid();
    r.recorder = from.text();
    return r;
}

JournalRecord decode_rejected(Decoder& from) {
    RejectedCopies r;
    r.run = RunNumber{from.number<std::uint32_t>()};
    r.recorder = from.text();
    r.stream_type = from.text();
    r.stream_name = from.text();
    for (auto left = from.number<std::uint16_t>(); left > 0 && from.good(); --left) {
        auto reason = from.text();
        r.copies[std::move(reason)] = from.number<std::uint64_t>();
    }
    return r;
}

std::uint32_t header_and_body_crc(ConstData record) {
    return checksum::crc32c(record.subspan(header_size), checksum::crc32c(record.first(12)));
}

}  // namespace

void encode(const JournalRecord& record, std::vector<std::byte>& to) {
    const auto begin = to.size();
    to.resize(begin + header_size);
    Encoder encoder(to);
    std::visit([&](const auto& r) { encode_body(r, encoder); }, record);
    const auto whole = std::span(to).subspan(begin);
    store_little<std::uint32_t>(whole, 0, magic);
    store_little<std::uint16_t>(whole, 4, static_cast<std::uint16_t>(record.index() + 1));
    store_little<std::uint16_t>(whole, 6, 0);
    store_little<std::uint32_t>(whole, 8, static_cast<std::uint32_t>(whole.size() - header_size));
    store_little<std::uint32_t>(whole, 12, header_and_body_crc(whole));
    static_assert(std::is_same_v<std::variant_alternative_t<kind_copy - 1, JournalRecord>, StoredCopy>);
    WEIR_ASSERT(record.index() + 1 != kind_copy || whole.size() >= header_size + copy_body_size);
}

void FileContent::add(const StoredCopy& copy) {
    first_event = first_event ? std::min(*first_event, copy.event) : copy.event;
    last_event = last_event ? std::max(*last_event, copy.event) : copy.event;
    if (!copy.earlier.keys) return;
    for (const auto& key : *copy.earlier.keys) ++shared[key];
}

std::uint32_t placed_crc32c(const Guid& guid, std::uint64_t offset, std::uint32_t crc32c, std::uint64_t length) {
    std::array<std::byte, 24> place;
    std::memcpy(place.data(), guid.bytes.data(), 16);
    store_little<std::uint64_t>(place, 16, offset);
    return checksum::crc32c_combine(checksum::crc32c(place), crc32c, length);
}

JournalEnd for_each_record(ConstData data, const std::function<bool(const JournalRecord&)>& each) {
    std::uint64_t at = 0;
    EarlierStreams earlier;
    const auto damaged = [&](std::string reason) { return JournalEnd{at, false, std::move(reason)}; };
    while (at < data.size()) {
        const auto rest = data.subspan(at);
        if (rest.size() < header_size) return damaged("ends inside a record header");
        if (load_little<std::uint32_t>(rest, 0) != magic) return damaged("no record begins here (wrong magic)");
        const auto kind = load_little<std::uint16_t>(rest, 4);
        const auto body = load_little<std::uint32_t>(rest, 8);
        if (body > body_size_max) return damaged(fmt::format("record claims {} bytes", body));
        if (rest.size() < header_size + body) return damaged("ends inside a record");
        if (load_little<std::uint32_t>(rest, 12) != header_and_body_crc(rest.first(header_size + body)))
            return damaged("crc32c of the record is wrong");
        Decoder from(rest.subspan(header_size, body));
        bool go_on = true;
        bool known = true;
        JournalRecord record;
        switch (kind) {
            case kind_opened: record = decode_opened(from); break;
            case kind_session: record = decode_session(from); break;
            case kind_copy: record = decode_copy(from, earlier); break;
            case kind_closed: record = decode_closed(from); break;
            case kind_progress: record = decode_progress(from); break;
            case kind_continues: record = decode_continues(from); break;
            case kind_commit: record = decode_commit(from); break;
            case kind_begins: record = decode_begins(from); break;
            case kind_rejected: record = decode_rejected(from); break;
            default: known = false;  // of a later version: checked and passed over
        }
        if (!from.good()) return damaged("record is shorter than its kind");
        if (known) go_on = each(record);
        at += header_size + body;
        if (!go_on) return {at, true, {}};
    }
    return {at, true, {}};
}

}  // namespace weir::datafile
