// SPDX-License-Identifier: Apache-2.0
#include "postgres/postgres_database.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "weir/base/assert.hpp"

namespace weir::catalogue::sql {

using namespace std::chrono_literals;

namespace {

constexpr Oid type_int8 = 20, type_int2 = 21, type_int4 = 23, type_text = 25;  // pg_type.dat of PostgreSQL
constexpr auto grace = 2s;  // by which the server's own limit comes first

/// "a = ? AND b = ?" becomes "a = $1 AND b = $2". Our statements have no question mark inside a text.
std::string numbered(std::string_view statement) {
    std::string text;
    int number = 0;
    for (const char c : statement) {
        if (c == '?') {
            text += fmt::format("${}", ++number);
        } else {
            text += c;
        }
    }
    return text;
}

/// The server's reason, in one line.
std::string one_line(const char* text) {
    std::string line = text == nullptr ? "" : text;
    while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) line.pop_back();
    for (auto& c : line) {
        if (c == '\n' || c == '\t') c = ' ';
    }
    return line.empty() ? "no reason given" : line;
}

}  // namespace

class PostgresCursor final : public Cursor {
public:
    explicit PostgresCursor(PostgresDatabase::Answer answer) : answer_(std::move(answer)) {}

    Result<bool> next() override { return ++row_ < PQntuples(answer_.get()); }
    bool is_null(int column) const override { return PQgetisnull(answer_.get(), row_, column) != 0; }

    std::optional<std::int64_t> integer(int column) const override {
        const auto type = PQftype(answer_.get(), column);
        if ((type != type_int8 && type != type_int4 && type != type_int2) || is_null(column)) return std::nullopt;
        const char* digits = PQgetvalue(answer_.get(), row_, column);
        const char* end = digits + PQgetlength(answer_.get(), row_, column);
        std::int64_t value = 0;
        if (const auto read = std::from_chars(digits, end, value); read.ec != std::errc{} || read.ptr != end)
            return std::nullopt;
        return value;
    }

    std::optional<std::string> text(int column) const override {
        if (PQftype(answer_.get(), column) != type_text || is_null(column)) return std::nullopt;
        return std::string(PQgetvalue(answer_.get(), row_, column),
                           static_cast<std::size_t>(PQgetlength(answer_.get(), row_, column)));
    }

    std::string column_name(int column) const override {
        const char* found = PQfname(answer_.get(), column);
        return found != nullptr ? found : "?";
    }

private:
    PostgresDatabase::Answer answer_;
    int row_ = -1;
};

Result<std::unique_ptr<PostgresDatabase>> PostgresDatabase::open(const std::string& uri,
                                                                 const PostgresCatalogueOptions& options) {
    WEIR_TRY(load_libpq());
    char* reason = nullptr;  // may repeat a password: not for messages
    PQconninfoOption* parsed = is_postgres_uri(uri) ? PQconninfoParse(uri.c_str(), &reason) : nullptr;
    PQfreemem(reason);
    if (parsed == nullptr)
        return fail(Errc::usage, fmt::format("{} is no place of a PostgreSQL database; write it as "
                                             "postgresql://USER@HOST:PORT/DATABASE",
                                             printable_postgres_uri(uri)));
    std::vector<std::pair<std::string, std::string>> parameters;
    for (const auto* option = parsed; option->keyword != nullptr; ++option) {
        if (option->val != nullptr) parameters.emplace_back(option->keyword, option->val);
    }
    PQconninfoFree(parsed);
    const auto by_default = [&](const char* keyword, const std::string& value) {
        for (const auto& [name, given] : parameters) {
            if (name == keyword) return;
        }
        parameters.emplace_back(keyword, value);
    };
    by_default("connect_timeout", fmt::to_string(options.connect_timeout.count()));
    by_default("application_name", "weir");
    by_default("client_encoding", "UTF8");
    // A machine that has vanished is noticed without a word from it.
    by_default("keepalives_idle", "5");
    by_default("keepalives_interval", "2");
    by_default("keepalives_count", "3");
    by_default("tcp_user_timeout", fmt::to_string(options.answer_timeout.count()));
    std::unique_ptr<PostgresDatabase> database(
        new PostgresDatabase(std::move(parameters), printable_postgres_uri(uri), options));
    WEIR_TRY(database->connect());
    return database;
}

Result<> PostgresDatabase::connect() {
    std::vector<const char*> keywords, values;
    for (const auto& [keyword, value] : parameters_) {
        keywords.push_back(keyword.c_str());
        values.push_back(value.c_str());
    }
    keywords.push_back(nullptr);
    values.push_back(nullptr);
    in_transaction_ = false;
    connection_.reset(PQconnectdbParams(keywords.data(), values.data(), 0));
    if (PQstatus(connection_.get()) != CONNECTION_OK || PQsetnonblocking(connection_.get(), 1) != 0)
        return std::unexpected(lost(one_line(PQerrorMessage(connection_.get()))));
    PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);  // a library prints nothing
    const auto limit_ms = options_.answer_timeout.count();
    // A commit that is answered is on stable storage; a transaction that waits for a stopped process is rolled back.
    const auto settings = fmt::format(
        "SET statement_timeout = {0}; SET lock_timeout = {0}; SET idle_in_transaction_session_timeout = {0}; "
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
        limit_ms);
    auto set = answer_of([&](PGconn* connection) { return PQsendQuery(connection, settings.c_str()); });
    if (!set) return std::unexpected(std::move(set.error()));
    return {};
}

Result<> PostgresDatabase::await(bool writing, SteadyTime deadline) {
    pollfd entry{PQsocket(connection_.get()), static_cast<short>(writing ? POLLIN | POLLOUT : POLLIN), 0};
    while (true) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - options_.clock->now());
        if (left <= 0ms)
            return std::unexpected(lost(fmt::format("no answer in {}", to_string(options_.answer_timeout + grace))));
        const int ready = ::poll(&entry, 1, static_cast<int>(left.count()));
        if (ready > 0) return {};
        if (ready < 0 && errno != EINTR) return std::unexpected(lost(std::strerror(errno)));
    }
}

/// Sends, and reads until the server is ready for the next; an error of any of several statements is the answer.
Result<PostgresDatabase::Answer> PostgresDatabase::answer_of(const std::function<int(PGconn*)>& send) {
    auto* connection = connection_.get();
    const auto deadline = options_.clock->now() + options_.answer_timeout + grace;
    if (send(connection) == 0) return std::unexpected(lost(one_line(PQerrorMessage(connection))));
    while (true) {
        const int flushed = PQflush(connection);
        if (flushed < 0) return std::unexpected(lost(one_line(PQerrorMessage(connection))));
        if (flushed == 0) break;
        WEIR_TRY(await(true, deadline));
        if (PQconsumeInput(connection) == 0) return std::unexpected(lost(one_line(PQerrorMessage(connection))));
    }
    Answer answer;
    while (true) {
        while (PQisBusy(connection) != 0) {
            WEIR_TRY(await(false, deadline));
            if (PQconsumeInput(connection) == 0) return std::unexpected(lost(one_line(PQerrorMessage(connection))));
        }
        Answer next(PQgetResult(connection));
        if (next == nullptr) break;
        const bool bad = answer != nullptr && PQresultStatus(answer.get()) == PGRES_FATAL_ERROR;
        if (!bad) answer = std::move(next);
    }
    if (answer == nullptr) return std::unexpected(lost("an empty answer"));
    const auto status = PQresultStatus(answer.get());
    if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) return answer;
    return std::unexpected(failure(answer.get()));
}

Result<PostgresDatabase::Answer> PostgresDatabase::ask_once(const std::function<int(PGconn*)>& send) {
    worth_repeating_ = false;
    if (connection_ == nullptr) {
        if (in_transaction_) return std::unexpected(lost("the transaction went with the connection"));
        WEIR_TRY(connect());
    }
    return answer_of(send);
}

Result<PostgresDatabase::Answer> PostgresDatabase::ask(std::string_view statement, std::span<const Value> values) {
    const auto text = numbered(statement);
    std::vector<Oid> types;
    std::vector<std::string> integers;
    std::vector<const char*> parameters;
    integers.reserve(values.size());  // the pointers stay good
    for (const auto& value : values) {
        types.push_back(value.integer() ? type_int8 : value.text() ? type_text : 0);
        if (value.integer()) {
            parameters.push_back(integers.emplace_back(fmt::to_string(*value.integer())).c_str());
        } else {
            parameters.push_back(value.text() ? value.text()->c_str() : nullptr);
        }
    }
    const auto send = [&](PGconn* connection) {
        return PQsendQueryParams(connection, text.c_str(), static_cast<int>(parameters.size()), types.data(),
                                 parameters.data(), nullptr, nullptr, 0);
    };
    auto answer = ask_once(send);
    // Outside a transaction it is a question: a connection that was lost since the last one is made anew.
    if (!answer && connection_ == nullptr && !in_transaction_) answer = ask_once(send);
    return answer;
}

Result<Rows> PostgresDatabase::query(std::string_view statement, std::span<const Value> values) {
    auto answer = WEIR_TRY(ask(statement, values));
    return Rows(*this, std::make_unique<PostgresCursor>(std::move(answer)));
}

Result<std::int64_t> PostgresDatabase::execute(std::string_view statement, std::span<const Value> values) {
    auto answer = WEIR_TRY(ask(statement, values));
    const std::string_view count = PQcmdTuples(answer.get());
    std::int64_t rows = 0;
    std::from_chars(count.data(), count.data() + count.size(), rows);  // empty for a statement that counts nothing
    return rows;
}

Result<> PostgresDatabase::script(const char* statements) {
    auto answer = ask_once([&](PGconn* connection) { return PQsendQuery(connection, statements); });
    if (!answer) return std::unexpected(std::move(answer.error()));
    return {};
}

Result<> PostgresDatabase::begin_with(const char* statements) {
    WEIR_ASSERT(!in_transaction_);
    auto begun = script(statements);
    if (!begun && connection_ == nullptr) begun = script(statements);  // nothing was begun
    if (begun) {
        in_transaction_ = true;
    } else if (connection_ != nullptr) {
        rollback();
    }
    return begun;
}

Result<> PostgresDatabase::begin() { return begin_with("BEGIN; LOCK TABLE weir_catalogue IN EXCLUSIVE MODE"); }

Result<> PostgresDatabase::begin_creating() {
    return begin_with("BEGIN; SELECT pg_advisory_xact_lock(2003134834)");  // our application id, as good as any
}

Result<> PostgresDatabase::commit() {
    auto answer = WEIR_TRY(ask("COMMIT", {}));
    in_transaction_ = false;
    // PostgreSQL answers a COMMIT of a transaction that had failed with success and the word ROLLBACK.
    if (std::string_view(PQcmdStatus(answer.get())) == "COMMIT") return {};
    return fail(Errc::io, fmt::format("catalogue {} took a change back at its commit", name_));
}

void PostgresDatabase::rollback() noexcept {
    const bool repeat = worth_repeating_;
    if (connection_ != nullptr && PQtransactionStatus(connection_.get()) != PQTRANS_IDLE)
        static_cast<void>(script("ROLLBACK"));  // should it fail, the connection is lost, and the transaction with it
    in_transaction_ = false;
    worth_repeating_ = repeat;
}

Error PostgresDatabase::lost(std::string_view why) {
    Error error{Errc::io, 0,
                fmt::format("catalogue {} cannot be reached ({}); look at the server and the way to it", name_, why)};
    connection_.reset();
    worth_repeating_ = true;
    return error;
}

Error PostgresDatabase::failure(const PGresult* result) {
    const char* code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
    const std::string_view state = code == nullptr ? "" : code;
    const auto reason = one_line(PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY));
    // 57P: the server is being stopped or has not started yet; without a code the connection broke.
    if (PQstatus(connection_.get()) != CONNECTION_OK || state.empty() || state.starts_with("57P") ||
        state.starts_with("08"))
        return lost(one_line(PQresultErrorMessage(result)));
    if (state == "40001" || state == "40P01") {
        worth_repeating_ = true;
        return {Errc::io, 0,
                fmt::format("catalogue {} had to give way to another process ({}); try again", name_, reason)};
    }
    if (state == "23503")
        return {Errc::refused, 0,
                fmt::format("catalogue {} has no such run at this recorder; open the run first", name_)};
    if (state.starts_with("23"))
        return {Errc::refused, 0, fmt::format("catalogue {} refused a row ({})", name_, reason)};
    if (state == "55P03" || state == "57014")
        return {Errc::io, EBUSY,
                fmt::format("catalogue {} is locked by another process for longer than {}; find the one "
                            "that hangs",
                            name_, to_string(options_.answer_timeout))};
    if (state == "22003" || state.starts_with("54"))
        return {Errc::limit, 0, fmt::format("a value is larger than catalogue {} can keep ({})", name_, reason)};
    if (state == "22021" || state == "22P05")
        return {Errc::usage, 0,
                fmt::format("a text is not UTF-8, which is all that catalogue {} can keep ({})", name_, reason)};
    if (state == "53100") return {Errc::io, ENOSPC, fmt::format("cannot write catalogue {}", name_)};
    return {Errc::io, 0, fmt::format("catalogue {} failed: {} (SQLSTATE {})", name_, reason, state)};
}

}  // namespace weir::catalogue::sql
