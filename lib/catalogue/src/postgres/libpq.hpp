// SPDX-License-Identifier: Apache-2.0
// PostgreSQL's client library, opened when a catalogue in PostgreSQL is. It brings two dozen libraries along (Kerberos,
// LDAP, TLS): a program that opens no such catalogue does not load them. The functions have libpq's own names, here in
// weir::sql; each is set once, by load_libpq().
#pragma once

#include <libpq-fe.h>

#include "weir/base/result.hpp"

namespace weir::catalogue::sql {

/// Before any of the functions below. Any thread; once it has succeeded it costs nothing. Errc::unsupported: the
/// library cannot be loaded; the text names its package.
[[nodiscard]] Result<> load_libpq();

inline decltype(&::PQcmdStatus) PQcmdStatus;
inline decltype(&::PQcmdTuples) PQcmdTuples;
inline decltype(&::PQclear) PQclear;
inline decltype(&::PQconnectdbParams) PQconnectdbParams;
inline decltype(&::PQconninfoFree) PQconninfoFree;
inline decltype(&::PQconninfoParse) PQconninfoParse;
inline decltype(&::PQconsumeInput) PQconsumeInput;
inline decltype(&::PQerrorMessage) PQerrorMessage;
inline decltype(&::PQfinish) PQfinish;
inline decltype(&::PQflush) PQflush;
inline decltype(&::PQfname) PQfname;
inline decltype(&::PQfreemem) PQfreemem;
inline decltype(&::PQftype) PQftype;
inline decltype(&::PQgetisnull) PQgetisnull;
inline decltype(&::PQgetlength) PQgetlength;
inline decltype(&::PQgetResult) PQgetResult;
inline decltype(&::PQgetvalue) PQgetvalue;
inline decltype(&::PQisBusy) PQisBusy;
inline decltype(&::PQntuples) PQntuples;
inline decltype(&::PQresultErrorField) PQresultErrorField;
inline decltype(&::PQresultErrorMessage) PQresultErrorMessage;
inline decltype(&::PQresultStatus) PQresultStatus;
inline decltype(&::PQsendQuery) PQsendQuery;
inline decltype(&::PQsendQueryParams) PQsendQueryParams;
inline decltype(&::PQsetnonblocking) PQsetnonblocking;
inline decltype(&::PQsetNoticeProcessor) PQsetNoticeProcessor;
inline decltype(&::PQsocket) PQsocket;
inline decltype(&::PQstatus) PQstatus;
inline decltype(&::PQtransactionStatus) PQtransactionStatus;

}  // namespace weir::catalogue::sql
