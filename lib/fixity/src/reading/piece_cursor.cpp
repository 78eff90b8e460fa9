// SPDX-License-Identifier: Apache-2.0
#include "reading/piece_cursor.hpp"

#include <algorithm>

#include "weir/base/stoppable_sleep.hpp"
#include "weir/fixity/rate_limit.hpp"

namespace weir::fixity {
namespace {

bool stopped(const Reading& how, std::chrono::nanoseconds at_most = {}) {
    return how.stop ? how.stop(at_most) : !stoppable_sleep(at_most, {});
}

}  // namespace

Failure stopped_at(std::uint64_t offset) { return {offset, 0, "stopped", true}; }

bool may_read(const Reading& how, std::uint64_t bytes) {
    if (stopped(how)) return false;
    if (how.limit == nullptr) return true;
    return !stopped(how, how.limit->take(bytes));
}

bool PieceCursor::is_cold() {
    if (at_ >= looked_until_ && !is_over() && !file_->is_stream()) {
        looked_until_ = std::min(at_ + window, end_);
        cold_ = !file_->is_cached(at_ + (looked_until_ - at_) / 2);
    }
    return cold_;
}

std::expected<ConstData, Failure> PieceCursor::next(MutableData to) {
    if (is_over()) return ConstData{};
    const bool release = file_->cache() == Cache::release && is_cold();
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(end_ - at_, to.size()));
    if (!may_read(*how_, wanted)) return std::unexpected(stopped_at(at_));
    // A direct read wants its grid, so it asks for whole pieces; bytes behind the end are ignored.
    const auto got = WEIR_TRY(file_->read(at_, file_->is_direct() ? to : to.first(wanted), *how_));
    const auto size = std::min(got, wanted);
    if (release) file_->release_cache(at_, size);
    if (how_->progress) how_->progress(size);
    at_ += size;
    if (size < wanted) end_ = at_;
    return ConstData(to).first(size);
}

}  // namespace weir::fixity
