// SPDX-License-Identifier: Apache-2.0
// How files are read for their sums. Always with pread or read into our own memory, never mapped: a page
// that cannot be read is an error with an offset, not a signal.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"

namespace weir::fixity {

class RateLimit;
struct FileStamp;

enum class Cache {
    keep,     // through the page cache, as most programs
    release,  // the same, but data that were not in the cache do not stay there
    direct,   // O_DIRECT: the medium itself, whatever the cache holds
};
/// "cache", "dropped", "direct": the way of reading, in JSON and in messages.
[[nodiscard]] const char* name(Cache cache) noexcept;

/// Reading while summing, by a thread of its own.
enum class Overlap {
    automatic,  // where reading waits for a device or a pipe; data in the page cache is faster without
    never,
    always,
};

struct Reading {
    Cache cache = Cache::keep;
    Overlap overlap = Overlap::automatic;
    bool cross_check = false;    // every sum is also made by portable code and must be the same; several times slower
    Bytes piece = 256_KiB;       // of one read of cached data: stays in the second-level cache
    Bytes piece_ahead = 1_MiB;   // of one read by the thread ahead
    unsigned pieces_ahead = 4;   // how many of them it may be ahead
    RateLimit* limit = nullptr;  // shared by all readers; outlives them
    std::function<bool(std::chrono::nanoseconds at_most)> stop;  // asked between pieces from any thread; true ends the
                                                                 // read. Waits for a stop, at most so long (0: no time)
    std::function<void(std::uint64_t bytes)> progress;           // from any thread
    std::function<bool(const FileStamp& stamp)> leave_out;  // asked of every file, from any thread; true: it is not
                                                            // read, which is an error of one that was named
    std::function<void()>
        thread_refused;  // the system had no thread for this work, which goes on with fewer; from any thread
    FileSystem* system = &real_file_system();
};

/// Why a file could not be opened or read. No sum exists of such a file.
struct Failure {
    std::optional<std::uint64_t> offset;  // of the first byte that did not come; none: it was not opened
    int os_errno = 0;                     // 0: the operating system had no part in it
    std::string text;                     // the reason
    bool stopped = false;                 // by Reading::stop

    bool operator==(const Failure&) const = default;
};

}  // namespace weir::fixity
