// SPDX-License-Identifier: Apache-2.0
#include "sql/sql.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace weir::catalogue::sql {
namespace {

std::int64_t microseconds(WallTime time) {
    return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace

Value::Value(WallTime time) : integer_(microseconds(time)) {}

Value::Value(const std::optional<WallTime>& time) {
    if (time) integer_ = microseconds(*time);
}

Value::Value(const std::optional<GlobalEventId>& id) {
    if (id) text_ = fmt::format("{:016x}", number(*id));
}

Result<bool> Rows::next() {
    bad_column_.clear();
    return cursor_->next();
}

std::string Rows::text(int column) {
    auto value = cursor_->text(column);
    if (!value) return spoil(column), std::string{};
    return std::move(*value);
}

std::int64_t Rows::i64(int column) {
    const auto value = cursor_->integer(column);
    if (!value) return spoil(column), 0;
    return *value;
}

std::uint64_t Rows::u64(int column) {
    const auto value = i64(column);
    if (value < 0) return spoil(column), 0;
    return static_cast<std::uint64_t>(value);
}

std::uint32_t Rows::u32(int column) {
    const auto value = u64(column);
    if (value > std::numeric_limits<std::uint32_t>::max()) return spoil(column), 0;
    return static_cast<std::uint32_t>(value);
}

WallTime Rows::time(int column) {
    constexpr std::int64_t microseconds_max = std::numeric_limits<std::int64_t>::max() / 1000;  // WallTime counts ns
    const auto value = i64(column);
    if (value > microseconds_max || value < -microseconds_max) return spoil(column), WallTime{};
    return WallTime{std::chrono::microseconds{value}};
}

std::optional<WallTime> Rows::optional_time(int column) {
    if (is_null(column)) return std::nullopt;
    return time(column);
}

std::optional<GlobalEventId> Rows::optional_event(int column) {
    if (is_null(column)) return std::nullopt;
    const auto digits = text(column);
    std::uint64_t value = 0;
    const auto [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (ec != std::errc{} || end != digits.data() + digits.size() || digits.size() != 16) spoil(column);
    return GlobalEventId{value};
}

Guid Rows::guid(int column) {
    const auto parsed = parse_guid(text(column));
    if (!parsed) spoil(column);
    return parsed.value_or(Guid{});
}

Result<> Rows::row_ok() const {
    if (bad_column_.empty()) return {};
    return std::unexpected(database_->damaged(fmt::format("column {} holds a value that it cannot have", bad_column_)));
}

Result<std::optional<std::uint64_t>> Database::number_of(std::string_view statement,
                                                         std::initializer_list<Value> values) {
    auto rows = WEIR_TRY(query(statement, values));
    const auto more = WEIR_TRY(rows.next());
    if (!more || rows.is_null(0)) return std::nullopt;
    const auto value = rows.u64(0);
    WEIR_TRY(rows.row_ok());
    return value;
}

Error Database::damaged(std::string_view what) const {
    return {Errc::corrupt, 0,
            fmt::format("catalogue {} is damaged ({}); it can be rebuilt from the files, a recorder's own by "
                        "weir recover --rebuild",
                        name(), what)};
}

Result<Transaction> Transaction::begin(Database& database) {
    WEIR_TRY(database.begin());
    return Transaction(database);
}

Transaction::~Transaction() {
    if (database_ != nullptr) database_->rollback();
}

Result<> Transaction::commit() {
    WEIR_TRY(database_->commit());
    database_ = nullptr;
    return {};
}

}  // namespace weir::catalogue::sql
