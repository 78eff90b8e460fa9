// SPDX-License-Identifier: Apache-2.0
// A change of the catalogue as a value: what a method was called with. It can be kept as bytes and made
// later, in another catalogue. docs/formats/catalogue.md has the bytes.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "weir/catalogue/catalogue.hpp"

namespace weir::catalogue {

// One for each method that changes something, with its parameters.
struct OpenRun {
    RunStart start;
};
struct CloseRun {
    RunNumber run{};
    std::string recorder;
    WallTime at{};
};
struct PutRun {
    RunRow row;
};
struct SetRunParameter {
    RunNumber run{};
    std::string name;
    std::string value;
};
struct CloseBlocks {
    BlocksClosed closed;
};
struct FileOpening {
    FileRow file;
};
struct FileClosing {
    FileClose file;
    std::vector<SessionMark> marks;
    std::vector<LedgerRow> ledgers;
};
struct FileTransferred {
    Guid guid;
};
struct FileDeleted {
    Guid guid;
    std::string volume;
    std::string name;
};
struct SetFileHealth {
    Guid guid;
    FileHealth health{};
};
struct FileMoved {
    Guid guid;
    std::string volume;
    std::string name;
};
struct RemoveOpenedFile {
    Guid guid;
};
struct PutFile {
    FileRow file;
    SharedEvents shared;
};
struct SetTransfer {
    TransferRow row;
};
struct SetMarks {
    std::vector<SessionMark> marks;
};
struct SetLedger {
    LedgerRow row;
};
struct AddToLedger {
    LedgerRow row;
};

/// The order is that of the kinds in the stored bytes: a new one goes to the end.
using CatalogueChange = std::variant<OpenRun, CloseRun, PutRun, SetRunParameter, CloseBlocks, FileOpening, FileClosing,
                                     FileTransferred, FileDeleted, SetFileHealth, FileMoved, RemoveOpenedFile, PutFile,
                                     SetTransfer, SetMarks, SetLedger, AddToLedger>;

/// Makes the change.
[[nodiscard]] Result<> apply_change(const CatalogueChange& change, Catalogue& catalogue);

/// As text: hex digits of its bytes.
[[nodiscard]] std::string encode(const CatalogueChange& change);
/// Errc::corrupt, Errc::unsupported: of another version of this format.
[[nodiscard]] Result<CatalogueChange> decode_change(std::string_view text);

}  // namespace weir::catalogue
