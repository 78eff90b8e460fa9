// SPDX-License-Identifier: Apache-2.0
// Sampled events of one run as a raw file of their own, which all readers of raw files read. It is no recorded data: no
// catalogue knows it, and it is not synced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/file.hpp"
#include "weir/base/ids.hpp"
#include "weir/event/event_view.hpp"

namespace weir::app {

class TapFile {
public:
    /// Errc::io: also when it is there already; nothing is overwritten.
    [[nodiscard]] static Result<TapFile> create(const std::filesystem::path& path);

    /// The first event that can be read decides the run; damaged ones are written as they came. Errc::refused: one of
    /// another run or format, which is not written;
    /// Errc::limit: larger than a raw file can hold.
    [[nodiscard]] Result<> write(ConstData event, WallTime now);
    /// The end record. Without it, readers see a file that is cut short.
    [[nodiscard]] Result<> finish(WallTime now);

    [[nodiscard]] std::uint32_t events() const noexcept { return events_; }
    [[nodiscard]] std::uint64_t bytes() const noexcept { return event_bytes_; }

private:
    explicit TapFile(File file) : file_(std::move(file)) {}
    [[nodiscard]] Result<> append(ConstData bytes);

    File file_;
    std::uint64_t at_ = 0;
    std::uint64_t event_bytes_ = 0;
    std::uint32_t events_ = 0;
    std::optional<event::Format> format_;
    RunNumber run_{};
};

}  // namespace weir::app
