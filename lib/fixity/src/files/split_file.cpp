// SPDX-License-Identifier: Apache-2.0
#include "files/split_file.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/digest/summer.hpp"

namespace weir::fixity {
namespace {

std::uint64_t rounded(std::uint64_t range, std::uint64_t block) {
    return block == 0 ? range : (range + block - 1) / block * block;
}

}  // namespace

bool SplitFile::fits(const FileWork& work, std::uint64_t size_min, std::uint64_t range) {
    return work.file && !work.cross_check && !work.file->is_stream() &&
           work.file->stamp().size >= std::max<std::uint64_t>(size_min, 1) && work.block % InputFile::alignment == 0 &&
           std::ranges::all_of(work.algorithms, [&](digest::Algorithm algorithm) {
               return digest::SplitSum::possible(algorithm, rounded(range, work.block));
           });
}

SplitFile::SplitFile(FileWork work, std::uint64_t range)
    : work_(std::move(work)),
      size_(work_.file->stamp().size),
      range_(rounded(range, work_.block)),
      ranges_((size_ + range_ - 1) / range_),
      end_(size_) {
    for (const auto algorithm : work_.algorithms) sums_.emplace_back(algorithm, size_, range_);
    if (work_.block > 0) block_sums_.resize((size_ + work_.block - 1) / work_.block);
}

bool SplitFile::help(PieceReader& reader) {
    bool last = false;
    while (true) {
        const auto index = next_.fetch_add(1, std::memory_order_relaxed);
        if (index >= ranges_) return last;
        if (!failed_.load(std::memory_order_relaxed)) read_range(index, reader);
        const std::scoped_lock lock(mutex_);
        last = ++finished_ == ranges_;
    }
}

void SplitFile::read_range(std::uint64_t index, PieceReader& reader) {
    const auto begin = index * range_, end = std::min(begin + range_, size_);
    std::vector<std::unique_ptr<digest::Engine>> engines;
    for (const auto& sum : sums_) engines.push_back(sum.begin(index));  // asks what never changes, so without the lock
    digest::SumSet sums(std::move(engines));
    std::optional<BlockSummer> blocks;
    if (work_.block > 0) blocks.emplace(work_.block);
    const auto bytes = reader.read(*work_.file, begin, end, [&](ConstData data) {
        sums.add(data);
        if (blocks) blocks->add(data);
    });
    const auto values = sums.values();
    const auto block_sums = blocks ? blocks->finish() : std::vector<std::uint32_t>{};
    const std::scoped_lock lock(mutex_);
    if (!bytes) {
        if (!failure_ || bytes.error().offset < failure_->offset) failure_ = bytes.error();
        failed_.store(true, std::memory_order_relaxed);
        return;
    }
    bytes_ += *bytes;
    if (*bytes < end - begin) {  // it shrank; finish_file finds that too
        failed_.store(true, std::memory_order_relaxed);
        end_ = std::min(end_, begin + *bytes);
        return;
    }
    for (std::size_t i = 0; i < values.size(); ++i) sums_[i].add(index, values[i]);
    if (work_.block > 0)
        std::ranges::copy(block_sums, block_sums_.begin() + static_cast<std::ptrdiff_t>(begin / work_.block));
}

ReadOutcome SplitFile::take_outcome() {
    const std::scoped_lock lock(mutex_);
    if (failure_) return {std::unexpected(*failure_), {}, {}};
    if (end_ < size_) {
        // Sums of nothing, one each: the file counts as changed, and they are not used.
        std::vector<digest::Digest> none;
        for (const auto algorithm : work_.algorithms) none.push_back(digest::sum(algorithm, {}));
        return {end_, std::move(none), {}};
    }
    std::vector<digest::Digest> values;
    for (const auto& sum : sums_) {
        const auto value = sum.value();
        WEIR_ASSERT(value.has_value());
        values.push_back(*value);
    }
    return {bytes_, std::move(values), std::move(block_sums_)};
}

}  // namespace weir::fixity
