// SPDX-License-Identifier: Apache-2.0
// A raw file that is held in memory as a whole, and where its events lie.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"
#include "weir/base/result.hpp"
#include "weir/event/raw_file_index.hpp"

namespace weir::workload {

struct RawFileContents {
    std::shared_ptr<const std::vector<std::byte>> bytes;  // shared with the views of its events
    event::RawFileIndex index;

    [[nodiscard]] ConstData event(std::size_t number) const;  // from 0
};

/// Errors name the file. Errc::limit, with `too_large` as the reason: it is larger than `size_max`.
[[nodiscard]] Result<RawFileContents> read_raw_file(const std::filesystem::path& path, Bytes size_max,
                                                    std::string_view too_large, FileSystem& system);

/// The error with the file that it was found in.
[[nodiscard]] std::unexpected<Error> in_file(const std::filesystem::path& path, Error error);
/// The error with the event of the file that it was found in; `number` from 1.
[[nodiscard]] Error in_event(std::size_t number, Error error);

}  // namespace weir::workload
