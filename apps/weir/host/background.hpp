// SPDX-License-Identifier: Apache-2.0
// A program goes on behind the command that started it, in a session of its own: the command ends with it when it fails
// to begin, and with code 0 when it has begun. For ssh, whose client and connection then no longer matter to it.
#pragma once

#include <filesystem>

#include "weir/base/descriptor.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class Background {
public:
    /// Before any thread is there. Returns in the process that goes on; the one before waits for it, and ends.
    [[nodiscard]] static Result<Background> begin();

    /// It has begun: what it prints is appended to `log` from now on, and the command ends.
    [[nodiscard]] Result<> leave(const std::filesystem::path& log);

private:
    explicit Background(Descriptor begun) : begun_(std::move(begun)) {}
    Descriptor begun_;
};

}  // namespace weir::app
