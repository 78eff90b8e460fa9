// SPDX-License-Identifier: Apache-2.0
#include "queued/catalogue_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "sql/schema.hpp"
#include "weir/base/hex.hpp"

namespace weir::catalogue {
namespace {

constexpr std::uint8_t format_version = 2;

// The fields of each struct, in the order of the bytes. `S` is const or not.
template <class S, class T>
concept Is = std::same_as<std::remove_const_t<S>, T>;

void fields(Is<RunStart> auto& s, auto f) { f(s.run, s.recorder, s.mode, s.relaxations, s.at, s.again); }
void fields(Is<RunRow> auto& s, auto f) { f(s.run, s.recorder, s.state, s.mode, s.relaxations, s.started, s.ended); }
void fields(Is<FileSum> auto& s, auto f) { f(s.algorithm, s.value); }
void fields(Is<FileRow> auto& s, auto f) {
    f(s.guid, s.volume, s.name, s.run, s.recorder, s.stream_type, s.stream_name, s.lumi_block, s.sequence, s.format,
      s.events, s.bytes, s.event_bytes, s.first_event, s.last_event, s.sums, s.file_state, s.transfer_state,
      s.file_health, s.opened, s.closed);
}
void fields(Is<FileClose> auto& s, auto f) {
    f(s.guid, s.volume, s.name, s.events, s.bytes, s.event_bytes, s.first_event, s.last_event, s.sums, s.file_health,
      s.at, s.shared);
}
void fields(Is<SessionMark> auto& s, auto f) { f(s.recorder, s.run, s.sender, s.incarnation, s.connection, s.durable); }
void fields(Is<LedgerRow> auto& s, auto f) {
    f(s.run, s.recorder, s.stream_type, s.stream_name, s.received, s.stored, s.rejected);
}
void fields(Is<BlocksClosed::Block> auto& s, auto f) { f(s.stream_type, s.stream_name, s.lumi_block); }
void fields(Is<BlocksClosed> auto& s, auto f) { f(s.run, s.recorder, s.below, s.blocks, s.at); }
void fields(Is<TransferRow> auto& s, auto f) {
    f(s.guid, s.destination, s.state, s.attempts, s.next_try, s.bytes, s.algorithm, s.checksum, s.url, s.error,
      s.first_try, s.changed, s.verified);
}
void fields(Is<OpenRun> auto& s, auto f) { f(s.start); }
void fields(Is<CloseRun> auto& s, auto f) { f(s.run, s.recorder, s.at); }
void fields(Is<PutRun> auto& s, auto f) { f(s.row); }
void fields(Is<SetRunParameter> auto& s, auto f) { f(s.run, s.name, s.value); }
void fields(Is<CloseBlocks> auto& s, auto f) { f(s.closed); }
void fields(Is<FileOpening> auto& s, auto f) { f(s.file); }
void fields(Is<FileClosing> auto& s, auto f) { f(s.file, s.marks, s.ledgers); }
void fields(Is<FileTransferred> auto& s, auto f) { f(s.guid); }
void fields(Is<FileDeleted> auto& s, auto f) { f(s.guid, s.volume, s.name); }
void fields(Is<SetFileHealth> auto& s, auto f) { f(s.guid, s.health); }
void fields(Is<FileMoved> auto& s, auto f) { f(s.guid, s.volume, s.name); }
void fields(Is<RemoveOpenedFile> auto& s, auto f) { f(s.guid); }
void fields(Is<PutFile> auto& s, auto f) { f(s.file, s.shared); }
void fields(Is<SetTransfer> auto& s, auto f) { f(s.row); }
void fields(Is<SetMarks> auto& s, auto f) { f(s.marks); }
void fields(Is<SetLedger> auto& s, auto f) { f(s.row); }
void fields(Is<AddToLedger> auto& s, auto f) { f(s.row); }

// Words are kept as words, so that a byte that is none is noticed.
template <class Enum>
constexpr std::optional<Enum> (*parse_word)(std::string_view) noexcept = nullptr;
template <>
constexpr auto parse_word<OpenState> = &parse_open_state;
template <>
constexpr auto parse_word<FileState> = &parse_file_state;
template <>
constexpr auto parse_word<TransferState> = &parse_transfer_state;
template <>
constexpr auto parse_word<FileHealth> = &parse_file_health;
template <>
constexpr auto parse_word<CopyState> = &parse_copy_state;

template <class Enum>
concept Word = std::is_enum_v<Enum> && requires(Enum e) { name(e); };

class Writer {
public:
    void number(std::uint64_t value) {
        for (int i = 0; i < 8; ++i) bytes_.push_back(static_cast<char>(value >> (8 * i)));
    }
    void operator()(const auto&... values) { (one(values), ...); }
    [[nodiscard]] const std::string& bytes() const noexcept { return bytes_; }

private:
    void one(std::same_as<bool> auto value) { number(value ? 1 : 0); }
    void one(std::uint64_t value) { number(value); }
    void one(std::uint32_t value) { number(value); }
    void one(const std::string& text) {
        number(text.size());
        bytes_ += text;
    }
    void one(const Guid& guid) { one(to_string(guid)); }
    void one(WallTime time) {
        number(static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count()));
    }
    void one(Word auto word) { one(std::string(name(word))); }
    template <class Id>
        requires(std::is_enum_v<Id> && !Word<Id>)
    void one(Id id) {
        number(static_cast<std::uint64_t>(std::to_underlying(id)));
    }
    template <class T>
    void one(const std::optional<T>& value) {
        number(value ? 1 : 0);
        if (value) one(*value);
    }
    template <class T>
    void one(const std::vector<T>& list) {
        number(list.size());
        for (const auto& element : list) one(element);
    }
    template <class K, class V>
    void one(const std::map<K, V>& map) {
        number(map.size());
        for (const auto& [key, value] : map) (*this)(key, value);
    }
    template <class S>
        requires std::is_aggregate_v<S>
    void one(const S& s) {
        fields(s, [this](const auto&... values) { (*this)(values...); });
    }

    std::string bytes_;
};

/// After the first thing that is wrong everything reads as nothing, and good() is false.
class Reader {
public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}

    std::uint64_t number() {
        if (rest_.size() < 8) return spoil(), 0;
        std::uint64_t value = 0;
        for (std::size_t i = 0; i < 8; ++i) value |= std::uint64_t{static_cast<unsigned char>(rest_[i])} << (8 * i);
        rest_.remove_prefix(8);
        return value;
    }
    void operator()(auto&... values) { (one(values), ...); }
    [[nodiscard]] bool good() const noexcept { return good_ && rest_.empty(); }

private:
    void spoil() {
        good_ = false;
        rest_ = {};
    }
    /// How many elements follow; each is 8 bytes at least.
    std::uint64_t count() {
        const auto value = number();
        if (value > rest_.size() / 8) return spoil(), 0;
        return value;
    }
    void one(bool& value) {
        const auto read = number();
        if (read > 1) spoil();
        value = read == 1;
    }
    void one(std::uint64_t& value) { value = number(); }
    void one(std::uint32_t& value) {
        const auto read = number();
        if (read > UINT32_MAX) spoil();
        value = static_cast<std::uint32_t>(read);
    }
    void one(std::string& text) {
        const auto size = number();
        if (size > rest_.size()) return spoil();
        text = rest_.substr(0, size);
        rest_.remove_prefix(size);
    }
    void one(Guid& guid) {
        std::string text;
        one(text);
        const auto parsed = parse_guid(text);
        if (!parsed) return spoil();
        guid = *parsed;
    }
    void one(WallTime& time) { time = WallTime{std::chrono::nanoseconds{static_cast<std::int64_t>(number())}}; }
    void one(Word auto& word) {
        std::string text;
        one(text);
        const auto parsed = parse_word<std::remove_cvref_t<decltype(word)>>(text);
        if (!parsed) return spoil();
        word = *parsed;
    }
    template <class Id>
        requires(std::is_enum_v<Id> && !Word<Id>)
    void one(Id& id) {
        const auto value = number();
        if (!std::in_range<std::underlying_type_t<Id>>(value)) return spoil();
        id = static_cast<Id>(value);
    }
    template <class T>
    void one(std::optional<T>& value) {
        const auto there = number();
        if (there > 1) return spoil();
        if (there == 1) one(value.emplace());
    }
    template <class T>
    void one(std::vector<T>& list) {
        for (auto left = count(); left > 0 && good_; --left) one(list.emplace_back());
    }
    template <class K, class V>
    void one(std::map<K, V>& map) {
        for (auto left = count(); left > 0 && good_; --left) {
            K key;
            V value;
            (*this)(key, value);
            if (!map.empty() && key <= map.rbegin()->first) return spoil();
            map.insert_or_assign(std::move(key), std::move(value));
        }
    }
    template <class S>
        requires std::is_aggregate_v<S>
    void one(S& s) {
        fields(s, [this](auto&... values) { (*this)(values...); });
    }

    std::string_view rest_;
    bool good_ = true;
};

/// The kind as its number: an empty one of that kind.
template <std::size_t... n>
std::optional<CatalogueChange> empty_change(std::uint64_t kind, std::index_sequence<n...>) {
    std::optional<CatalogueChange> change;
    ((kind == n ? static_cast<void>(change.emplace(std::in_place_index<n>)) : void()), ...);
    return change;
}

struct Applied {
    Catalogue& to;

    Result<> operator()(const OpenRun& c) const {
        WEIR_TRY(to.open_run(c.start));
        return {};
    }
    Result<> operator()(const CloseRun& c) const { return to.close_run(c.run, c.recorder, c.at); }
    Result<> operator()(const PutRun& c) const { return to.put_run(c.row); }
    Result<> operator()(const SetRunParameter& c) const { return to.set_run_parameter(c.run, c.name, c.value); }
    Result<> operator()(const CloseBlocks& c) const { return to.lumi_blocks_closed(c.closed); }
    Result<> operator()(const FileOpening& c) const { return to.file_opened(c.file); }
    Result<> operator()(const FileClosing& c) const { return to.file_closed(c.file, c.marks, c.ledgers); }
    Result<> operator()(const FileTransferred& c) const { return to.file_transferred(c.guid); }
    Result<> operator()(const FileDeleted& c) const { return to.file_deleted(c.guid, c.volume, c.name); }
    Result<> operator()(const SetFileHealth& c) const { return to.set_file_health(c.guid, c.health); }
    Result<> operator()(const FileMoved& c) const { return to.file_moved(c.guid, c.volume, c.name); }
    Result<> operator()(const RemoveOpenedFile& c) const { return to.remove_opened_file(c.guid); }
    Result<> operator()(const PutFile& c) const { return to.put_file(c.file, c.shared); }
    Result<> operator()(const SetTransfer& c) const { return to.set_transfer(c.row); }
    Result<> operator()(const SetMarks& c) const { return to.set_marks(c.marks); }
    Result<> operator()(const SetLedger& c) const { return to.set_ledger(c.row); }
    Result<> operator()(const AddToLedger& c) const { return to.add_to_ledger(c.row); }
};

}  // namespace

Result<> apply_change(const CatalogueChange& change, Catalogue& catalogue) {
    return std::visit(Applied{catalogue}, change);
}

std::string encode(const CatalogueChange& change) {
    Writer writer;
    writer.number(format_version);
    writer.number(change.index());
    std::visit([&](const auto& kind) { writer(kind); }, change);
    return hex_of(as_data(writer.bytes()));
}

Result<CatalogueChange> decode_change(std::string_view text) {
    const auto bytes = bytes_of_hex(text);
    if (!bytes) return fail(Errc::corrupt, "a change that waits to be carried over is not hex");
    Reader reader(*bytes);
    const auto version = reader.number();
    if (version != format_version)
        return fail(Errc::unsupported,
                    fmt::format("a change that waits to be carried over has format {}, this program knows "
                                "format {}; use the program that wrote it",
                                version, format_version));
    const auto kind = reader.number();
    auto change = empty_change(kind, std::make_index_sequence<std::variant_size_v<CatalogueChange>>{});
    if (change) std::visit([&](auto& of_kind) { reader(of_kind); }, *change);
    if (!change || !reader.good())
        return fail(Errc::corrupt, "a change that waits to be carried over contradicts itself");
    return std::move(*change);
}

}  // namespace weir::catalogue
