// SPDX-License-Identifier: Apache-2.0
// A file of objects in ROOT's bytes, one after the other: what a control port answered to GET /sample/object, a result
// that was taken out of an event. Distinguished from a raw file by its first bytes.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

/// It begins as an object does. False also when it cannot be read.
[[nodiscard]] bool holds_objects(const std::filesystem::path& path);

struct ObjectFile {
    static constexpr Bytes size_max = 128_MiB;

    /// Errc::limit: it is larger than size_max.
    [[nodiscard]] static Result<ObjectFile> read(const std::filesystem::path& path);

    std::vector<std::byte> bytes{};
};

}  // namespace weir::app
