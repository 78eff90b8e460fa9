// SPDX-License-Identifier: Apache-2.0
// Which files a check reads: those of its manifests, all or a sample of them, but for those that did not change
// since their sum was made when that is enough. And what lies beside them that no manifest names.
#pragma once

#include <chrono>
#include <optional>

#include "sums/check/check_extra.hpp"
#include "sums/check/check_manifests.hpp"
#include "sums/check/check_sample.hpp"

namespace weir::app {

struct CheckChoice {
    bool extra = false;
    bool audit = false;  // extra, and these are read
    bool only_changed = false;
    std::optional<std::chrono::seconds> age_max;  // of the attributes of files that are not read
    std::optional<Percentage> sample;
    std::optional<std::uint64_t> seed;
};

class CheckFiles {
public:
    /// `complain` as for CheckManifests. `seed`: of the sample. `now`: what ages are counted from.
    CheckFiles(const CheckSettings& settings, const CheckChoice& choice, std::uint64_t seed, WallTime now,
               CheckManifests::Complain complain);
    CheckFiles(const CheckFiles&) = delete;
    CheckFiles& operator=(const CheckFiles&) = delete;

    [[nodiscard]] std::optional<fixity::Job> next();

    [[nodiscard]] const CheckManifests& manifests() const noexcept { return manifests_; }
    [[nodiscard]] const CheckSample* sample() const noexcept { return sample_ ? &*sample_ : nullptr; }
    /// Once next() gave nothing.
    [[nodiscard]] ExtraFiles* extra() noexcept { return extra_ ? &*extra_ : nullptr; }

private:
    [[nodiscard]] std::optional<fixity::Job> next_named();

    CheckManifests manifests_;
    std::optional<ExtraFiles> extra_;
    std::optional<CheckSample> sample_;
    std::optional<fixity::Trust> trust_;
};

}  // namespace weir::app
