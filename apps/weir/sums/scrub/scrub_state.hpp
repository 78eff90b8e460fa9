// SPDX-License-Identifier: Apache-2.0
// The file in which a scrub keeps how far it has come. It is replaced as a whole, never half written, and locked by the
// scrub that has it: two with one state would skip what the other one did.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "weir/base/descriptor.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class ScrubState {
public:
    /// Makes an empty file where there is none. Errc::refused: another process has it. One thread.
    [[nodiscard]] static Result<ScrubState> open(const std::filesystem::path& path);

    /// Empty for a file that was just made. Errc::limit: it is too large for a state.
    [[nodiscard]] Result<std::string> read() const;
    /// The new text is on the disk, and locked, when it returns.
    [[nodiscard]] Result<> write(std::string_view text);
    /// At the end of a pass.
    [[nodiscard]] Result<> remove();

private:
    ScrubState(std::filesystem::path path, int fd) noexcept : path_(std::move(path)), fd_(fd) {}

    std::filesystem::path path_;
    Descriptor fd_;  // of the file that has the name, locked
};

}  // namespace weir::app
