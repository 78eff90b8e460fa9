// SPDX-License-Identifier: Apache-2.0
#include "files/file_batch.hpp"

#include <fcntl.h>

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::fixity {
namespace {

// The blocks of all files together stay in the second-level cache. They do not begin at the same place of a page: those
// would compete for the same lines of the first-level cache.
constexpr std::size_t block = 32U << 10, apart = block + 320;

bool contains(const std::vector<digest::Algorithm>& list, digest::Algorithm algorithm) {
    return std::ranges::find(list, algorithm) != list.end();
}

bool wants(const Job& job, digest::Algorithm algorithm) {
    const auto is_it = [&](const digest::Digest& sum) { return sum.algorithm() == algorithm; };
    return contains(job.algorithms, algorithm) || (job.expected && (std::ranges::any_of(job.expected->sums, is_it) ||
                                                                    std::ranges::any_of(job.expected->one_of, is_it)));
}

std::size_t useful_streams(const std::vector<digest::Algorithm>& lanes) {
    std::size_t most = 1;
    for (const auto algorithm : lanes) most = std::max(most, digest::ManySums::useful_streams(algorithm));
    return most;
}

}  // namespace

std::vector<digest::Algorithm> FileBatch::lanes_of(const Job& job, const Reading& how) {
    std::vector<digest::Algorithm> lanes;
    const bool is_stdin = job.origin == Origin::named && job.path == "-";
    if (job.settled || is_stdin || how.cross_check || how.cache == Cache::direct || how.overlap == Overlap::always)
        return lanes;
    for (const auto algorithm : digest::algorithms) {
        if (wants(job, algorithm) && digest::ManySums::useful_streams(algorithm) > 1) lanes.push_back(algorithm);
    }
    return lanes;
}

bool FileBatch::takes(const FileWork& work, const Reading& how) {
    const auto& file = *work.file;
    if (file.is_stream()) return false;
    const auto size = file.stamp().size;
    const bool can_wait_long = file.cache() == Cache::release ? size > 0 : size > how.piece.count();
    return how.overlap == Overlap::never || !can_wait_long || !PieceCursor(file, 0, size, how).is_cold();
}

FileBatch::FileBatch(std::vector<digest::Algorithm> lanes, std::size_t files_max, const Reading& how)
    : lanes_(std::move(lanes)), how_(how) {
    const auto count = std::clamp<std::size_t>(useful_streams(lanes_), 1, files_max);
    for (const auto algorithm : lanes_) sums_.emplace_back(algorithm, count);
    files_.resize(count);
    for (auto place = count; place > 0; --place) free_.push_back(place - 1);
    buffers_ = std::make_unique_for_overwrite<std::byte[]>(count * apart);
}

std::size_t FileBatch::add(FileWork work) {
    WEIR_ASSERT(!free_.empty());
    const auto place = free_.back();
    free_.pop_back();
    used_.push_back(place);
    std::vector<digest::Algorithm> others;
    for (const auto algorithm : work.algorithms) {
        if (!contains(lanes_, algorithm)) others.push_back(algorithm);
    }
    files_[place] = std::make_unique<File>(std::move(work), others, how_);
    return place;
}

void FileBatch::step(const Ended& ended) {
    parts_.clear();
    for (const auto place : used_) read_block(place);
    for (auto& sum : sums_) sum.add(parts_);
    std::erase_if(used_, [&](std::size_t place) {
        const auto& file = *files_[place];
        if (!file.failure && !file.cursor.is_over()) return false;
        auto outcome = outcome_of(place);
        const auto over = std::move(files_[place]);
        for (auto& sum : sums_) sum.reset(place);
        free_.push_back(place);
        ended(place, std::move(over->work), std::move(outcome));
        return true;
    });
}

void FileBatch::read_block(std::size_t place) {
    auto& file = *files_[place];
    auto& cursor = file.cursor;
    const auto& input = *file.work.file;
    if (cursor.at() >= file.look_again_at) {
        file.look_again_at = cursor.at() + PieceCursor::window;
        // The file began in the page cache and does not go on there: the kernel fetches what comes while the others are
        // summed. Advice; may fail.
        if (input.cache() == Cache::keep && cursor.is_cold())
            ::posix_fadvise(input.fd(), static_cast<off_t>(cursor.at()), 2 * PieceCursor::window, POSIX_FADV_WILLNEED);
    }
    const auto data = cursor.next({buffers_.get() + place * apart, block});
    if (!data) {
        file.failure = data.error();
        return;
    }
    file.others.add(*data);
    if (file.blocks) file.blocks->add(*data);
    parts_.push_back({place, *data, cursor.is_over()});
}

ReadOutcome FileBatch::outcome_of(std::size_t place) {
    auto& file = *files_[place];
    if (file.failure) return {std::unexpected(*file.failure), {}, {}};
    ReadOutcome outcome{file.cursor.at(), {}, {}};
    const auto others = file.others.values();
    auto other = others.begin();
    for (const auto algorithm : file.work.algorithms) {
        const auto lane = std::ranges::find(lanes_, algorithm);
        outcome.sums.push_back(
            lane == lanes_.end() ? *other++ : sums_[static_cast<std::size_t>(lane - lanes_.begin())].value(place));
    }
    if (file.blocks) outcome.block_sums = file.blocks->finish();
    return outcome;
}

}  // namespace weir::fixity
