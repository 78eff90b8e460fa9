// SPDX-License-Identifier: Apache-2.0
// Events without a raw file around them, one after the other: what a control port answered to GET /sample, or what
// `weir cat --payload` wrote. Distinguished from a raw file by the marker of its first event.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "files/events/file_walk.hpp"
#include "weir/base/file.hpp"
#include "weir/event/format.hpp"

namespace weir::app {

/// It begins as an event does. False also when it cannot be read.
[[nodiscard]] bool holds_bare_events(const std::filesystem::path& path);

class BareEvents {
public:
    [[nodiscard]] static Result<BareEvents> open(const std::filesystem::path& path);

    /// Reads the next event into `bytes`. Nothing at the end of the file. Errc::corrupt, Errc::truncated, Errc::limit
    /// name file and offset.
    [[nodiscard]] Result<std::optional<FileWalk::Block>> next(std::vector<std::byte>& bytes);

    /// Of the event that next() read: the first that its header agrees with.
    [[nodiscard]] static event::Format format_of(ConstData event);

private:
    BareEvents(File file, std::uint64_t size) : file_(std::move(file)), size_(size) {}

    File file_;
    std::uint64_t size_;
    std::uint64_t at_ = 0;
    std::uint64_t events_ = 0;
};

}  // namespace weir::app
