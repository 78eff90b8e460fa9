// SPDX-License-Identifier: Apache-2.0
// Something to read: a regular file, whose size and times are known before, or a stream (stdin, a FIFO, a
// device, a file of /proc), which ends when it ends. Opening never waits.
#pragma once

#include <expected>
#include <string>

#include "weir/fixity/file_stamp.hpp"
#include "weir/fixity/reading.hpp"

namespace weir::fixity {

enum class Origin {
    named,   // by the user: "-" is stdin, and FIFOs and devices are read
    listed,  // in a manifest: regular files only, symbolic links are followed
    found,   // by recursion: regular files only, a symbolic link in the last place is not followed
};

class InputFile {
public:
    [[nodiscard]] static std::expected<InputFile, Failure> open(const std::string& path, Origin origin,
                                                                const Reading& how);

    InputFile(InputFile&& other) noexcept;
    InputFile& operator=(InputFile&&) = delete;
    ~InputFile();

    [[nodiscard]] int fd() const noexcept { return fd_; }
    [[nodiscard]] bool is_stream() const noexcept { return stream_; }
    /// When it was opened.
    [[nodiscard]] const FileStamp& stamp() const noexcept { return stamp_; }
    /// The stamp means something: a regular file, also one that is stdin.
    [[nodiscard]] bool has_stamp() const noexcept { return has_stamp_; }

    /// Fills `to` from `offset` (which a stream ignores) as far as the file goes; fewer bytes are its end.
    /// With O_DIRECT offset, address and size are multiples of 4096. Short reads, EINTR and EAGAIN are
    /// waited out; stop is asked while waiting for a stream. Any thread, of a regular file.
    [[nodiscard]] std::expected<std::size_t, Failure> read(std::uint64_t offset, MutableData to,
                                                           const Reading& how) const;

    /// Whether the byte at `offset` is in the page cache. Unknown counts as yes.
    [[nodiscard]] bool is_cached(std::uint64_t offset) const noexcept;

    /// How it is read; the medium may refuse O_DIRECT.
    [[nodiscard]] Cache cache() const noexcept { return cache_; }
    [[nodiscard]] bool is_direct() const noexcept { return cache_ == Cache::direct; }
    /// Reads [begin, begin + length) are over, and the pages are not needed.
    void release_cache(std::uint64_t begin, std::uint64_t length) const noexcept;

    static constexpr std::size_t alignment = 4096;

private:
    InputFile(FileSystem& system, int fd) noexcept : system_(&system), fd_(fd) {}
    [[nodiscard]] std::expected<std::size_t, Failure> read_stream(std::uint64_t done, MutableData to,
                                                                  const Reading& how) const;

    FileSystem* system_;
    int fd_;
    bool stream_ = false;
    bool has_stamp_ = false;
    FileStamp stamp_;
    Cache cache_ = Cache::keep;
};

}  // namespace weir::fixity
