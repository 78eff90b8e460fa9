// SPDX-License-Identifier: Apache-2.0
// The tables of the catalogue; docs/formats/catalogue.md explains each column. A change of them is a
// new version: an older one that we know how to bring forward is brought forward in one transaction, and
// a reader of any other says so instead of guessing.
#pragma once

#include <cstdint>

namespace weir::catalogue {

inline constexpr std::uint64_t catalogue_application_id = 0x77656972;  // "weir", in the header of the SQLite file
inline constexpr std::uint64_t catalogue_schema_version = 3;

/// Creates the tables and indexes of version 1 in an empty database, and marks it with id and version.
[[nodiscard]] const char* catalogue_schema_1() noexcept;

/// Makes of version 1 version 2: the table of transfers.
[[nodiscard]] const char* catalogue_schema_2() noexcept;

/// Makes of version 2 version 3: when blocks are closed, what the reader has done, which events files share, and the
/// views for readers.
[[nodiscard]] const char* catalogue_schema_3() noexcept;

}  // namespace weir::catalogue
