// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "cli/output.hpp"

namespace weir::app {
namespace {

constexpr std::chrono::milliseconds interval{200};

std::size_t terminal_columns(std::FILE* terminal) {
    struct winsize size{};
    return ::ioctl(::fileno(terminal), TIOCGWINSZ, &size) == 0 && size.ws_col > 1 ? size.ws_col : 80U;
}

}  // namespace

// The first line waits one interval too: work that is done at once shows none.
ProgressLine::ProgressLine(const Clock& clock, std::FILE* terminal)
    : clock_(clock), terminal_(::isatty(::fileno(terminal)) == 1 ? terminal : nullptr), shown_at_(clock.now()) {}

bool ProgressLine::due() const {
    if (terminal_ == nullptr) return false;
    const std::scoped_lock lock(mutex_);
    return clock_.now() - shown_at_ >= interval;
}

void ProgressLine::show(std::string_view text) {
    if (terminal_ == nullptr) return;
    const std::scoped_lock lock(mutex_);
    shown_at_ = clock_.now();
    visible_ = true;
    fmt::print(terminal_, "\r{}\x1b[K", text.substr(0, terminal_columns(terminal_) - 1));
    std::fflush(terminal_);
}

void ProgressLine::clear() {
    const std::scoped_lock lock(mutex_);
    wipe();
}

void ProgressLine::wipe() {
    if (!std::exchange(visible_, false)) return;
    fmt::print(terminal_, "\r\x1b[K");
    std::fflush(terminal_);
}

ByteProgress::ByteProgress(const Clock& clock, std::string what, Bytes total, std::FILE* terminal)
    : clock_(clock), what_(std::move(what)), total_(total), begin_(clock.now()), line_(clock, terminal) {}

void ByteProgress::add(std::uint64_t bytes) {
    done_.fetch_add(bytes, std::memory_order_relaxed);  // a count; the line is guarded by the mutex
    const std::unique_lock lock(mutex_, std::try_to_lock);
    if (lock && line_.due()) line_.show(text());
}

void ByteProgress::clear() {
    const std::scoped_lock lock(mutex_);
    line_.clear();
}

std::string ByteProgress::text() const {
    const auto done = done_.load(std::memory_order_relaxed);
    const double seconds = std::chrono::duration<double>(clock_.now() - begin_).count();
    auto text = fmt::format("{}  {} of {}", what_, weir::human(Bytes{done}), weir::human(total_));
    if (total_.count() > 0)
        text += fmt::format(" ({} %)", static_cast<std::uint64_t>(100.0 * static_cast<double>(done) /
                                                                  static_cast<double>(total_.count())));
    if (seconds <= 0 || done == 0) return text;
    text += fmt::format(", {:.2f} GB/s", gb_per_s(done, seconds));
    if (done < total_.count()) {
        const double left = seconds * static_cast<double>(total_.count() - done) / static_cast<double>(done);
        text += fmt::format(", {} left", human(std::chrono::seconds(static_cast<std::int64_t>(std::min(left, 1e9)))));
    }
    return text;
}

}  // namespace weir::app
