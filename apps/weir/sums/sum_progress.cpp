// SPDX-License-Identifier: Apache-2.0
#include "sums/sum_progress.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "cli/output.hpp"
#include "weir/base/start_thread.hpp"

namespace weir::app {

SumProgress::SumProgress(const Clock& clock, std::string what, fixity::JobSource names)
    : clock_(clock), what_(std::move(what)), begin_(clock.now()), line_(clock) {
    if (!names || ::isatty(STDERR_FILENO) != 1) return;
    // Without a thread for it the amount stays unknown.
    static_cast<void>(start_thread(counter_, [this, names = std::move(names)](const std::stop_token& stop) {
        while (auto job = stop.stop_requested() ? std::nullopt : names()) {
            struct stat status{};
            if (job->settled || ::stat(job->path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
            bytes_total_.fetch_add(static_cast<std::uint64_t>(status.st_size), std::memory_order_relaxed);
            files_total_.fetch_add(1, std::memory_order_relaxed);
        }
        counted_.store(!stop.stop_requested(), std::memory_order_release);
    }));
}

void SumProgress::show() {
    if (line_.due()) line_.show(text());
}

std::string SumProgress::text() const {
    const auto done = bytes_.load(std::memory_order_relaxed);
    const double seconds = std::chrono::duration<double>(clock_.now() - begin_).count();
    const bool known = counted_.load(std::memory_order_acquire);
    const auto total = bytes_total_.load(std::memory_order_relaxed);
    auto text = fmt::format("{}  {}", what_, human(Bytes{done}));
    if (known) text += fmt::format(" of {}", human(Bytes{total}));
    if (known && total > 0)
        text += fmt::format(" ({} %)",
                            std::min<std::uint64_t>(100, static_cast<std::uint64_t>(100.0 * static_cast<double>(done) /
                                                                                    static_cast<double>(total))));
    text += fmt::format(", {}", counted(files_, "file"));
    if (known) text += fmt::format(" of {}", with_commas(files_total_.load(std::memory_order_relaxed)));
    if (seconds > 0) text += fmt::format(", {:.2f} GB/s", gb_per_s(done, seconds));
    if (known && done > 0 && done < total) {
        const double left = seconds * static_cast<double>(total - done) / static_cast<double>(done);
        text += fmt::format(", {} left", human(std::chrono::seconds(static_cast<std::int64_t>(std::min(left, 1e9)))));
    }
    return text;
}

}  // namespace weir::app
