// SPDX-License-Identifier: Apache-2.0
#include "sums/check/check_files.hpp"

#include <limits>

namespace weir::app {
namespace {

std::optional<fixity::Trust> trust_of(const CheckChoice& choice, WallTime now) {
    constexpr auto ever = std::numeric_limits<std::int64_t>::max();
    if (!choice.only_changed && !choice.age_max) return std::nullopt;
    if (!choice.age_max) return fixity::Trust{-ever, ever};
    const auto now_s = std::chrono::floor<std::chrono::seconds>(now.time_since_epoch());
    return fixity::Trust{(now_s - *choice.age_max).count(),
                         now_s.count()};  // one of the future proves nothing about its age
}

}  // namespace

CheckFiles::CheckFiles(const CheckSettings& settings, const CheckChoice& choice, std::uint64_t seed, WallTime now,
                       CheckManifests::Complain complain)
    : manifests_(settings, std::move(complain)), trust_(trust_of(choice, now)) {
    if (choice.extra) extra_.emplace(manifests_.base());
    if (choice.sample) sample_.emplace([this] { return next_named(); }, *choice.sample, seed);
}

std::optional<fixity::Job> CheckFiles::next() { return sample_ ? sample_->next() : next_named(); }

std::optional<fixity::Job> CheckFiles::next_named() {
    auto job = manifests_.next();
    if (!job) return std::nullopt;
    if (extra_ && !job->settled) extra_->add_named(job->expected->name, manifests_.number());
    job->trust = trust_;
    return job;
}

}  // namespace weir::app
