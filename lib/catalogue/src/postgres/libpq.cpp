// SPDX-License-Identifier: Apache-2.0
#include "postgres/libpq.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

namespace weir::catalogue::sql {
namespace {

constexpr const char* library = "libpq.so.5";  // its ABI since PostgreSQL 8.0

/// Why not; empty: everything is there.
std::string load() {
    const auto reason = [] {
        const char* text = ::dlerror();
        return std::string(text != nullptr ? text : "no reason given");
    };
    void* const handle =
        ::dlopen(library, RTLD_NOW | RTLD_LOCAL);  // for good: its own threads and handlers may outlast a catalogue
    if (handle == nullptr) return reason();
    std::string missing;
    const auto get = [&]<class Function>(Function*& to, const char* name) {
        to = reinterpret_cast<Function*>(::dlsym(handle, name));
        if (to == nullptr && missing.empty()) missing = reason();
    };
    get(PQcmdStatus, "PQcmdStatus");
    get(PQcmdTuples, "PQcmdTuples");
    get(PQclear, "PQclear");
    get(PQconnectdbParams, "PQconnectdbParams");
    get(PQconninfoFree, "PQconninfoFree");
    get(PQconninfoParse, "PQconninfoParse");
    get(PQconsumeInput, "PQconsumeInput");
    get(PQerrorMessage, "PQerrorMessage");
    get(PQfinish, "PQfinish");
    get(PQflush, "PQflush");
    get(PQfname, "PQfname");
    get(PQfreemem, "PQfreemem");
    get(PQftype, "PQftype");
    get(PQgetisnull, "PQgetisnull");
    get(PQgetlength, "PQgetlength");
    get(PQgetResult, "PQgetResult");
    get(PQgetvalue, "PQgetvalue");
    get(PQisBusy, "PQisBusy");
    get(PQntuples, "PQntuples");
    get(PQresultErrorField, "PQresultErrorField");
    get(PQresultErrorMessage, "PQresultErrorMessage");
    get(PQresultStatus, "PQresultStatus");
    get(PQsendQuery, "PQsendQuery");
    get(PQsendQueryParams, "PQsendQueryParams");
    get(PQsetnonblocking, "PQsetnonblocking");
    get(PQsetNoticeProcessor, "PQsetNoticeProcessor");
    get(PQsocket, "PQsocket");
    get(PQstatus, "PQstatus");
    get(PQtransactionStatus, "PQtransactionStatus");
    return missing;
}

}  // namespace

Result<> load_libpq() {
    static std::once_flag once;
    static std::string why_not;
    std::call_once(once, [] { why_not = load(); });
    if (why_not.empty()) return {};
    return fail(Errc::unsupported,
                fmt::format("a catalogue in PostgreSQL needs its client library, which cannot be loaded ({}); "
                            "install the package libpq5",
                            why_not));
}

}  // namespace weir::catalogue::sql
