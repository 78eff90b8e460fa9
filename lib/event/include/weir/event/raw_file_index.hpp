// SPDX-License-Identifier: Apache-2.0
// Where the events of a raw file lie, when the whole file is in memory: for replaying small files and
// for tests. A file without its end (the recorder died) is indexed up to its last whole event.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/event/raw_file.hpp"

namespace weir::event {

struct DataBlock {
    std::uint64_t offset = 0;  // of the event's first byte in the file
    DataSeparator separator{};
};

struct RawFileIndex {
    FileHead head;
    std::uint64_t head_size = 0;
    std::vector<DataBlock> blocks;
    std::optional<FileEnd> end;     // absent: the file is truncated
    std::uint64_t bytes_after = 0;  // behind the last whole event, when the end is absent

    /// Errc::corrupt when something else stands where a separator or the end should be, or the end counts
    /// other events than there are.
    [[nodiscard]] static Result<RawFileIndex> make(ConstData file);
};

}  // namespace weir::event
