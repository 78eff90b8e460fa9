// SPDX-License-Identifier: Apache-2.0
#include "kept_histograms.hpp"

#include <utility>

namespace weir::monitor {

void KeptHistograms::begin(RunNumber run) {
    const std::scoped_lock lock(mutex_);
    run_ = run;
    kept_.clear();
    counters_.clear();
    cells_ = 0;
}

Result<> KeptHistograms::take(Histogram histogram) {
    auto sent = std::make_shared<const Histogram>(std::move(histogram));
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(sent->name);
    const auto had = found == kept_.end() ? 0 : found->second.both->cells();
    if (found == kept_.end() && kept_.size() == HistogramLimits::histograms)
        return fail(Errc::limit, "there are more than 1000 histograms");
    if (cells_ - had + sent->cells() > HistogramLimits::all_cells)
        return fail(Errc::limit, "the histograms have more than 2000000 bins together");
    cells_ += sent->cells() - had;
    auto& kept = kept_[sent->name];
    // A plug-in that books other bins after a restart has nothing that could be added.
    const bool same = kept.before && kept.before->x == sent->x && kept.before->y == sent->y;
    if (!same) kept.before.reset();
    if (same) {
        auto both = std::make_shared<Histogram>(*sent);
        both->add(*kept.before);
        kept.both = std::move(both);
    } else {
        kept.both = std::move(sent);
    }
    return {};
}

void KeptHistograms::take(std::vector<Counter> counters) {
    const std::scoped_lock lock(mutex_);
    for (auto& counter : counters) {
        if (counters_.size() == HistogramLimits::histograms && !counters_.contains(counter.name)) continue;
        counters_[counter.name].sent = counter.value;
    }
}

void KeptHistograms::process_ended() {
    const std::scoped_lock lock(mutex_);
    for (auto& [name, kept] : kept_) {
        kept.before = kept.both;
    }
    for (auto& [name, counter] : counters_) counter.before += std::exchange(counter.sent, 0);
}

KeptHistograms::Picture KeptHistograms::picture() const {
    const std::scoped_lock lock(mutex_);
    Picture picture{.run = run_};
    for (const auto& [name, kept] : kept_) picture.histograms.push_back(kept.both);
    for (const auto& [name, counter] : counters_) picture.counters.push_back({name, counter.before + counter.sent});
    return picture;
}

std::shared_ptr<const Histogram> KeptHistograms::find(const std::string& name) const {
    const std::scoped_lock lock(mutex_);
    const auto found = kept_.find(name);
    return found == kept_.end() ? nullptr : found->second.both;
}

}  // namespace weir::monitor
