// SPDX-License-Identifier: Apache-2.0
// Puts blocks of memory into files without holding up the caller. Two kinds, chosen at start: io_uring
// with direct I/O, where file system and kernel allow it, and a few threads with pwrite otherwise (the
// kind is printed). Writes of one file may finish in any order; overlapping writes are the caller's to
// keep apart.
#pragma once

#include <memory>
#include <string>

#include "weir/base/data.hpp"
#include "weir/base/file.hpp"
#include "weir/base/result.hpp"

namespace weir::recorder {

/// Is notified of the end of a write, on a thread of the writer; returns quickly.
class WriteListener {
public:
    virtual ~WriteListener() = default;
    virtual void written(std::uint64_t offset, ConstData data, Result<> result) noexcept = 0;
};

class BlockWriter {
public:
    virtual ~BlockWriter() = default;

    /// Takes a write and returns at once; `file`, `data` and `listener` stay valid until the listener was notified.
    /// Any thread, also a listener inside its notification: so it never waits for a place. The segments that there are
    /// bound what is in flight.
    virtual void submit(File& file, std::uint64_t offset, ConstData data, WriteListener& listener) = 0;

    /// "io_uring, direct" or "pwrite, 2 threads".
    [[nodiscard]] virtual std::string description() const = 0;
};

/// io_uring. `arena` is registered as a fixed buffer when the kernel allows; data outside it is written too.
[[nodiscard]] Result<std::unique_ptr<BlockWriter>> make_uring_writer(unsigned queue_depth, MutableData arena);

[[nodiscard]] std::unique_ptr<BlockWriter> make_thread_writer(unsigned threads);

}  // namespace weir::recorder
