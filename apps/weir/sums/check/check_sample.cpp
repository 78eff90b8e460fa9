// SPDX-License-Identifier: Apache-2.0
#include "sums/check/check_sample.hpp"

#include <utility>

namespace weir::app {

Result<> read_value(std::string_view text, Percentage& to) {
    Percentage percentage;
    const bool marked = text.ends_with('%');
    if (marked) text.remove_suffix(1);
    const auto read = weir::app::read_value(text, percentage.value);
    if (!marked || !read || !(percentage.value > 0 && percentage.value <= 100))
        return fail(Errc::usage, fmt::format("\"{}{}\" is not a part of the files; write it as 1% or 0.5%", text,
                                             marked ? "%" : ""));
    return to = percentage, Result<>{};
}

std::string shown_value(const Percentage& percentage) { return fmt::format("{}%", percentage.value); }

CheckSample::CheckSample(fixity::JobSource source, Percentage share, std::uint64_t seed)
    : source_(std::move(source)), random_(seed), share_(share.value / 100) {}

std::optional<fixity::Job> CheckSample::next() {
    while (auto job = source_()) {
        ++seen_;
        constexpr double two_to_53 = 9007199254740992.0;
        if (static_cast<double>(random_() >> 11) / two_to_53 < share_) {
            ++chosen_;
            spare_.reset();
            return job;
        }
        if (chosen_ == 0 && random_() % seen_ == 0) spare_ = std::move(job);
    }
    if (chosen_ == 0 && spare_) ++chosen_;
    return std::exchange(spare_, std::nullopt);
}

}  // namespace weir::app
