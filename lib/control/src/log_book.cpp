// SPDX-License-Identifier: Apache-2.0
#include "weir/control/log_book.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "weir/base/file.hpp"

namespace weir::control {
namespace {

constexpr std::size_t line_max = 2000;
constexpr int pieces_max = 16;

}  // namespace

void LogBook::add(WallTime when, std::string_view station, std::string_view text) {
    const std::scoped_lock lock(mutex_);
    lines_.push_back({++last_, when, std::string(station), std::string(text.substr(0, line_max))});
    if (lines_.size() > lines_max_) lines_.pop_front();
}

std::vector<LogLine> LogBook::after(std::uint64_t after, std::size_t at_most) const {
    std::vector<LogLine> result;
    const std::scoped_lock lock(mutex_);
    const auto first = std::ranges::upper_bound(lines_, after, {}, &LogLine::number);
    for (auto line = first; line != lines_.end() && result.size() < at_most; ++line) result.push_back(*line);
    return result;
}

std::uint64_t LogBook::last() const {
    const std::scoped_lock lock(mutex_);
    return last_;
}

LogTail::LogTail(std::filesystem::path path, Bytes size_max) : path_(std::move(path)), size_max_(size_max) {
    std::error_code absent;  // what an earlier run control has read is not shown again
    const auto size = std::filesystem::file_size(path_, absent);
    if (!absent) offset_ = size;
}

void LogTail::read(const std::function<void(std::string_view line)>& line) {
    const auto file = File::open(path_, File::Mode::read);
    if (!file) return;
    const auto size = file->size();
    if (!size) return;
    if (*size < offset_) offset_ = 0;
    std::array<std::byte, 16 * 1024> piece{};
    for (int i = 0; i < pieces_max && offset_ < *size; ++i) {
        const auto got = file->read_some_at(offset_, piece);
        if (!got || *got == 0) return;
        offset_ += *got;
        for (const auto byte : std::span(piece).first(*got)) {
            const char c = static_cast<char>(byte);
            if (c != '\n') {
                if (rest_.size() < line_max) rest_ += c;
            } else {
                if (!rest_.empty()) line(rest_);
                rest_.clear();
            }
        }
    }
    if (offset_ == *size && *size > size_max_.count()) shorten(*size);
}

void LogTail::shorten(std::uint64_t size) {
    // A line that comes between the two calls is lost. It is a log; events are not kept here.
    std::error_code failed;
    auto older = path_;
    older += ".1";
    std::filesystem::copy_file(path_, older, std::filesystem::copy_options::overwrite_existing, failed);
    if (failed) return;
    auto file = File::open(path_, File::Mode::read_write);
    if (file && file->size().value_or(0) == size && file->truncate(0)) offset_ = 0;
}

}  // namespace weir::control
