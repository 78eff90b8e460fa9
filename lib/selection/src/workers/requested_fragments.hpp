// SPDX-License-Identifier: Apache-2.0
// The fragments of one event that its selection has requested. What the event has already is answered from it; only the
// others go to the station, each once. Without a station (in the filter) they are missing.
#pragma once

#include <deque>
#include <span>
#include <stop_token>
#include <unordered_map>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/selection/selection.hpp"

namespace weir::selection {

class RequestedFragments final : public FragmentRequests {
public:
    /// `event` outlives this; its own `requests` are the station, and may be nothing.
    explicit RequestedFragments(const Event& event, std::stop_token stop = {})
        : event_(event), stop_(std::move(stop)) {}
    ~RequestedFragments() = default;
    RequestedFragments(const RequestedFragments&) = delete;
    RequestedFragments& operator=(const RequestedFragments&) = delete;

    /// The event as its selection gets it: its requests come here.
    [[nodiscard]] Event event() noexcept {
        auto with = event_;
        with.requests = this;
        return with;
    }

    [[nodiscard]] std::span<const Fragment> request(std::span<const SourceId> sources) override;
    [[nodiscard]] const Fragment* find(SourceId source) const noexcept override;

    /// Errc::limit: more was requested than is allowed; those fragments were missing.
    [[nodiscard]] Result<> within_limits() const;
    /// The station stopped while the selection waited: its fragments were missing because of that.
    [[nodiscard]] bool interrupted() const noexcept { return interrupted_; }

private:
    [[nodiscard]] const Fragment* known(SourceId source) const noexcept;
    void fetch(const std::vector<SourceId>& sources);

    const Event& event_;
    const std::stop_token stop_;
    std::unordered_map<std::uint32_t, Fragment> requested_;  // by source
    std::deque<std::vector<Fragment>> answers_;              // lie still
    std::vector<Fragment> refused_;                          // the last answer beyond the limits
    std::size_t requests_ = 0;
    bool too_many_ = false, interrupted_ = false;
};

}  // namespace weir::selection
