// SPDX-License-Identifier: Apache-2.0
// Changes as transactions, and the reading of everything.
#include "sql/sql_catalogue.hpp"

#include <fmt/format.h>

#include <cerrno>

namespace weir::catalogue {
namespace {

constexpr int attempts_max = 3;  // of one change: a lost connection, then one that was lost again

}  // namespace

Result<> check_text(std::string_view what, std::string_view text, std::size_t size_max) {
    const char* wrong = text.empty()             ? "is empty"
                        : text.size() > size_max ? "is too long"
                        : text.contains('\0')    ? "holds a zero byte"
                                                 : nullptr;
    if (wrong == nullptr) return {};
    return fail(Errc::usage, fmt::format("{} {}; the catalogue keeps up to {} bytes of text", what, wrong, size_max));
}

SqlCatalogue::~SqlCatalogue() {
    if (changes_ == 0 || !database_.commit_may_be_unknown() || !database_.connected()) return;
    // What the row was for is over. When it cannot be taken out, it is a row too many and nothing else.
    static_cast<void>(database_.execute("DELETE FROM writers WHERE writer = ?", {writer_}));
}

Result<> SqlCatalogue::change(const Change& body) {
    const std::lock_guard lock(mutex_);
    if (in_change_) return body();  // a step of a larger change
    if (!database_.commit_may_be_unknown()) return transact(nullptr, body);
    const ChangeId id{writer_, ++changes_};
    return transact(&id, body);
}

Result<> SqlCatalogue::once(const ChangeId& id, const Change& body) {
    const std::lock_guard lock(mutex_);
    return transact(&id, body);
}

Result<> SqlCatalogue::look(const Change& body) {
    const std::lock_guard lock(mutex_);
    return body();
}

Result<bool> SqlCatalogue::restore_name() {
    const std::lock_guard lock(mutex_);
    if (in_change_) return false;
    return database_.restore_name();
}

Result<> SqlCatalogue::transact(const ChangeId* id, const Change& body) {
    Result<> done;
    for (int attempt = 1; attempt <= attempts_max; ++attempt) {
        in_change_ = true;
        done = attempt_change(id, body);
        in_change_ = false;
        if (done) break;
        const bool has_room_now = done.error().os_errno == ENOSPC && make_room_ && make_room_();
        if (!has_room_now && !database_.worth_repeating()) break;
    }
    return done;
}

Result<> SqlCatalogue::attempt_change(const ChangeId* id, const Change& body) {
    auto transaction = WEIR_TRY(sql::Transaction::begin(database_));
    if (id != nullptr) {
        // No other connection writes now: a commit of this change whose answer was lost has either happened or never
        // will.
        const auto last = WEIR_TRY(database_.number_of("SELECT change FROM writers WHERE writer = ?", {id->writer}));
        if (last.value_or(0) >= id->number) return {};
    }
    WEIR_TRY(body());
    if (id != nullptr) {
        WEIR_TRY(
            database_.execute("INSERT INTO writers (writer, change, at_us) VALUES (?, ?, ?) ON CONFLICT (writer) DO "
                              "UPDATE SET change = excluded.change, at_us = excluded.at_us",
                              {id->writer, id->number, clock_.wall()}));
    }
    return transaction.commit();
}

Result<> SqlCatalogue::check() {
    const std::lock_guard lock(mutex_);
    WEIR_TRY(database_.check());
    // Every run and file is decoded, one run at a time so that memory stays bounded.
    const auto all = WEIR_TRY(runs_in_lock(std::nullopt));
    for (const auto& row : all) {
        const std::vector<sql::Value> values{row.run, row.recorder};
        WEIR_TRY(files_in_lock("f.run = ? AND f.recorder = ?", values));
    }
    return {};
}

}  // namespace weir::catalogue
