// SPDX-License-Identifier: Apache-2.0
// Where a manifest goes: stdout, or a file that appears under its name only when it is complete.
#pragma once

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/fixity/file_stamp.hpp"

namespace weir::app {

class SumOutput {
public:
    /// An empty path is stdout. What is there and no regular file (/dev/stdout, a FIFO) is written to as it is.
    [[nodiscard]] static Result<SumOutput> open(const std::filesystem::path& path);
    SumOutput(SumOutput&&) noexcept = default;
    ~SumOutput();

    void write(std::string_view text);
    /// Something did not arrive; errno of the first failure is kept for finish().
    [[nodiscard]] bool failed() const noexcept;
    /// It is the file that is written here, or the one that it will replace: no file to be summed. Any thread.
    [[nodiscard]] bool is_own(const fixity::FileStamp& stamp) const noexcept;
    /// The first of these, so not a name that was not given.
    [[nodiscard]] bool has_own_name(const fixity::FileStamp& stamp) const noexcept;
    /// Everything on the disk and under its name; with `complete` false under the name with .partial behind.
    [[nodiscard]] Result<> finish(bool complete);

private:
    struct Close {
        void operator()(std::FILE* file) const noexcept {
            if (file != stdout) std::fclose(file);
        }
    };
    SumOutput(std::FILE* file, std::filesystem::path path, std::filesystem::path temporary);

    std::unique_ptr<std::FILE, Close> file_;
    std::filesystem::path path_, temporary_;               // empty: not renamed
    std::optional<fixity::FileStamp> written_, replaced_;  // when it was opened; regular files only
    int error_ = 0;
};

/// Replaces a small file by a complete new one.
[[nodiscard]] Result<> write_whole(const std::filesystem::path& path, std::string_view text);

}  // namespace weir::app
