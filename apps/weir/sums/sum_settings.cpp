// SPDX-License-Identifier: Apache-2.0
#include "sums/sum_settings.hpp"

#include <linux/ioprio.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "weir/checksum/kernels.hpp"
#include "weir/digest/self_test.hpp"

namespace weir::app {
namespace {

constexpr unsigned threads_max = 256;

}  // namespace

Result<> read_value(std::string_view text, AlgorithmList& to) {
    to.values.clear();
    std::vector<std::string> known{"all"};
    for (const auto algorithm : digest::algorithms) known.emplace_back(digest::name(algorithm));
    while (true) {
        const auto word = text.substr(0, text.find(','));
        if (word == "all") {
            to.values.assign(digest::algorithms.begin(), digest::algorithms.end());
        } else {
            const auto algorithm = digest::parse_algorithm(word);
            if (!algorithm)
                return fail(Errc::usage, fmt::format("\"{}\" is not one of {}, all{}", word, digest::algorithm_names(),
                                                     did_you_mean(word, known)));
            if (std::ranges::find(to.values, *algorithm) == to.values.end()) to.values.push_back(*algorithm);
        }
        if (word.size() == text.size()) return {};
        text.remove_prefix(word.size() + 1);
    }
}

std::string shown_value(const AlgorithmList& list) {
    std::string text;
    for (const auto algorithm : list.values) text += (text.empty() ? "" : ",") + std::string(digest::name(algorithm));
    return text;
}

void add_read_options(CLI::App& command, ReadSettings& settings) {
    add_value(command, "-j,--jobs", settings.threads, "N",
              "threads (default: 1 on a spinning disk, else as many as cores)");
    add_flag(command, "--direct", settings.direct, "read the medium, not the page cache").group(more_options);
    add_flag(command, "--nocache", settings.no_cache, "what was not cached before is not afterwards")
        .group(more_options);
    add_flag(command, "--paranoid", settings.paranoid, "every sum is also made by portable code, and must be the same")
        .group(more_options);
    add_flag(command, "--idle", settings.idle, "use processors and disks only when no other program does")
        .group(more_options);
    add_value(command, "--bwlimit", settings.per_second, "SIZE", "read at most this much a second: 500MB")
        .group(more_options);
}

Result<> ReadPlan::check(const ReadSettings& settings) {
    if (settings.threads && (*settings.threads == 0 || *settings.threads > threads_max))
        return fail(Errc::usage, fmt::format("--jobs: choose 1 to {}", threads_max));
    if (settings.per_second && settings.per_second->count() == 0)
        return fail(Errc::usage, "--bwlimit 0 reads nothing; omit it for no limit");
    if (settings.direct && settings.no_cache)
        return fail(Errc::usage, "--direct and --nocache cannot be used together");
    return {};
}

ReadPlan::ReadPlan(const ReadSettings& settings, const Clock& clock) {
    if (settings.per_second) limit_.emplace(clock, *settings.per_second);
    reading_.limit = limit_ ? &*limit_ : nullptr;
    reading_.cache = settings.direct     ? fixity::Cache::direct
                     : settings.no_cache ? fixity::Cache::release
                                         : fixity::Cache::keep;
    reading_.cross_check = settings.paranoid;
    reading_.stop = stop_is_pending;
    reading_.thread_refused = [this] { thread_refused_.store(true, std::memory_order_relaxed); };
    parallel_.threads = settings.threads.value_or(0);
}

void ReadPlan::warn_of_threads(std::string_view command) const {
    if (thread_refused_.load(std::memory_order_relaxed))
        complain(command,
                 "warning: the system gave no more threads (a limit of processes or of memory); the work was done with "
                 "fewer");
}

void become_idle(std::string_view command, const ReadSettings& settings) {
    if (!settings.idle) return;
    const auto report = [&](const char* what) {
        complain(command,
                 fmt::format("warning: --idle: cannot {}: {}; --bwlimit helps too", what, std::strerror(errno)));
    };
    const struct sched_param none{};
    if (::sched_setscheduler(0, SCHED_IDLE, &none) != 0) report("give way to others on the processors");
    // Threads inherit both. The C library has no function for this one.
    if (::syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_PRIO_VALUE(IOPRIO_CLASS_IDLE, 0)) != 0)
        report("give way to others on the disks");
}

Result<> sums_are_right(std::span<const digest::Algorithm> of) {
    for (const auto algorithm : of) {
        if (!digest::combinable(algorithm)) continue;  // these are lib/checksum's
        WEIR_TRY(checksum::self_test_of(digest::name(algorithm)));
    }
    return digest::self_test(of);
}

bool stop_is_pending(std::chrono::nanoseconds at_most) noexcept { return Signals::pending(at_most); }

}  // namespace weir::app
