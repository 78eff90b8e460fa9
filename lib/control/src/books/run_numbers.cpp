// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_numbers.hpp"

#include <fmt/format.h>
#include <sys/file.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>

namespace weir::control {
namespace {

constexpr const char* file_name = "run-number";
constexpr const char* lock_name = "run-control.lock";

/// 0: none was given out.
Result<std::uint32_t> read_last(const std::filesystem::path& directory) {
    std::uint32_t last = 0;
    const auto path = directory / file_name;
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown) || unknown) {
        const auto text = WEIR_TRY(read_text(path, 64_B));
        const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), last);
        if (ec != std::errc{} || std::string_view(end, text.data() + text.size()) != "\n")
            return fail(Errc::corrupt,
                        fmt::format("{} holds no run number; write the last one that was used into it, or remove it "
                                    "if the recorders' catalogues are whole",
                                    path.native()));
    }
    return last;
}

}  // namespace

Result<RunNumbers> RunNumbers::open(const std::filesystem::path& directory) {
    auto lock = WEIR_TRY(File::open(directory / lock_name, File::Mode::open_or_create));
    if (::flock(lock.fd(), LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) return fail_errno(errno, fmt::format("cannot lock {}", lock.path().native()));
        return fail(
            Errc::refused,
            fmt::format("another weir run works in {}; see weir run status --dir {}, or choose another directory",
                        directory.native(), directory.native()));
    }
    const auto last = WEIR_TRY(read_last(directory));
    return RunNumbers(directory, std::move(lock), last);
}

Result<> RunNumbers::read_again() {
    last_ = std::max(last_, WEIR_TRY(read_last(directory_)));
    return {};
}

Result<RunNumber> RunNumbers::take(RunNumber free) {
    if (last_ == std::numeric_limits<std::uint32_t>::max()) return fail(Errc::limit, "no run number is left");
    const auto next = std::max(last_ + 1, std::max(number(free), 1U));
    WEIR_TRY(replace_text(directory_ / file_name, fmt::format("{}\n", next), Synced::yes));
    last_ = next;
    return RunNumber{next};
}

}  // namespace weir::control
