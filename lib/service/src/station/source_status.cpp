// SPDX-License-Identifier: Apache-2.0
#include "weir/service/source_status.hpp"

namespace weir::service {

void add(SourceStatus& sum, const SourceStatus& more) noexcept {
    sum.outside = sum.outside || more.outside;
    sum.arrived += more.arrived;
    sum.bytes += more.bytes;
    sum.late += more.late;
    sum.lost += more.lost;
    sum.duplicated += more.duplicated;
    sum.disordered += more.disordered;
    sum.jumps += more.jumps;
    sum.refused += more.refused;
    if (more.last_seen && (!sum.last_seen || *sum.last_seen < *more.last_seen)) sum.last_seen = more.last_seen;
    sum.expected += more.expected;
    sum.missing += more.missing;
    sum.masked += more.masked;
}

void SourceTable::add(const std::vector<SourceStatus>& sources) {
    for (const auto& source : sources) {
        auto& sum = by_source_[source.source];
        sum.source = source.source;
        service::add(sum, source);
    }
}

std::vector<SourceStatus> SourceTable::list() const {
    std::vector<SourceStatus> all;
    all.reserve(by_source_.size());
    for (const auto& [id, source] : by_source_) all.push_back(source);
    return all;
}

}  // namespace weir::service
