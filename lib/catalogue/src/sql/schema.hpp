// SPDX-License-Identifier: Apache-2.0
// The tables of the catalogue; docs/formats/catalogue.md explains each column. A change of them is a
// new version; a program refuses any other than its own.
#pragma once

#include <cstdint>

namespace weir::catalogue {

inline constexpr std::uint64_t catalogue_application_id = 0x77656972;  // "weir", in the header of the SQLite file
inline constexpr std::uint64_t catalogue_schema_version = 3;

/// Creates tables, indexes and views in an empty database, and marks it with id and version.
[[nodiscard]] const char* catalogue_schema() noexcept;

}  // namespace weir::catalogue
