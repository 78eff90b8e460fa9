// SPDX-License-Identifier: Apache-2.0
#include "workers/requested_fragments.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace weir::selection {

std::span<const Fragment> RequestedFragments::request(std::span<const SourceId> sources) {
    if (sources.size() > sources_max || requests_ == requests_max) {
        too_many_ = true;
        refused_.clear();
        for (const auto source : sources) refused_.push_back({source, FragmentState::missing, {}});
        return refused_;
    }
    ++requests_;
    std::vector<SourceId> absent;
    for (const auto source : sources) {
        if (known(source) != nullptr) continue;
        requested_.emplace(number(source), Fragment{source, FragmentState::missing, {}});
        absent.push_back(source);
    }
    if (!absent.empty()) fetch(absent);
    auto& answer = answers_.emplace_back();
    answer.reserve(sources.size());
    for (const auto source : sources) answer.push_back(*known(source));
    return answer;
}

void RequestedFragments::fetch(const std::vector<SourceId>& sources) {
    if (event_.requests == nullptr) return;
    for (const auto& fragment : event_.requests->request(sources)) {
        const auto asked = requested_.find(number(fragment.source));
        if (asked != requested_.end()) asked->second = fragment;
    }
    if (stop_.stop_requested()) interrupted_ = true;
}

const Fragment* RequestedFragments::find(SourceId source) const noexcept {
    const auto found = requested_.find(number(source));
    return found == requested_.end() ? nullptr : &found->second;
}

const Fragment* RequestedFragments::known(SourceId source) const noexcept {
    const auto here = std::ranges::find(event_.fragments, source, &Fragment::source);
    return here != event_.fragments.end() ? &*here : find(source);
}

Result<> RequestedFragments::within_limits() const {
    if (!too_many_) return {};
    return fail(Errc::limit, fmt::format("it requested fragments more than {} times, or more than {} at once",
                                         requests_max, sources_max));
}

}  // namespace weir::selection
