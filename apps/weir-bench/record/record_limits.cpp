// SPDX-License-Identifier: Apache-2.0
#include "record/record_limits.hpp"

#include <fcntl.h>

#include <algorithm>
#include <utility>

#include "weir/base/stream_tag.hpp"
#include "weir/checksum/copy_and_sum.hpp"

namespace weir::app {

delivery::Taken DiscardSink::take(delivery::IncomingEvent& event) {
    const auto taken = std::move(event);
    const delivery::Answer answer{taken.session, taken.meta.sequence};
    receiver_->acknowledge({&answer, 1});
    return delivery::Taken::yes;
}

Result<std::unique_ptr<PlainFile>> PlainFile::create(const std::filesystem::path& path, bool direct,
                                                     recorder::SegmentPool& pool, recorder::BlockWriter& writer) {
    auto file = WEIR_TRY(File::open(path, File::Mode::create_new, real_file_system(), direct ? O_DIRECT : 0));
    return std::unique_ptr<PlainFile>(new PlainFile(std::move(file), direct, pool, writer));
}

PlainFile::~PlainFile() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return writing_ == 0; });
    for (const auto& [begin, segment] : segments_) pool_.release(segment.memory);
}

bool PlainFile::reserve(std::uint64_t size, std::unique_lock<std::mutex>& lock) {
    while (end_ + size > reserved_) {
        if (failed_) return false;
        std::vector<std::byte*> taken;
        if (!pool_.try_take(1, taken)) {
            lock.unlock();
            pool_.wait_for_freed(std::chrono::milliseconds{5});
            lock.lock();
            continue;
        }
        segments_.emplace(reserved_, Segment{taken.front(), reserved_});
        reserved_ += pool_.segment_size();
        // Space ahead, as the recorder takes it, so that the writes do not extend the file one by one.
        constexpr std::uint64_t ahead = 256ULL << 20;
        if (direct_ && reserved_ + ahead / 2 > allocated_) {
            static_cast<void>(::fallocate(file_.fd(), 0, static_cast<off_t>(allocated_), static_cast<off_t>(ahead)));
            allocated_ += ahead;
        }
    }
    return !failed_;
}

bool PlainFile::append(ConstData bytes) {
    const auto segment_size = pool_.segment_size();
    std::vector<std::pair<Segment*, MutableData>> parts;
    {
        std::unique_lock lock(mutex_);
        if (!reserve(bytes.size(), lock)) return false;
        for (auto at = end_; at < end_ + bytes.size();) {
            auto& segment = segments_.at(at / segment_size * segment_size);
            const auto size = std::min(end_ + bytes.size(), segment.begin + segment_size) - at;
            ++segment.copying;
            parts.emplace_back(&segment, MutableData(segment.memory + (at - segment.begin), size));
            at += size;
        }
        end_ += bytes.size();
    }
    const auto stores = direct_ ? checksum::Stores::non_temporal : checksum::Stores::ordinary;
    for (const auto& [segment, target] : parts) {
        checksum::copy_only(target, bytes.first(target.size()), stores);
        bytes = bytes.subspan(target.size());
    }
    std::vector<Segment> full;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [segment, target] : parts) {
            if (--segment->copying > 0 || segment->begin + segment_size > end_) continue;
            full.push_back(*segment);
            ++writing_;
        }
    }
    for (const auto& segment : full) writer_.submit(file_, segment.begin, {segment.memory, segment_size}, *this);
    return true;
}

void PlainFile::written(std::uint64_t offset, ConstData data, Result<> result) noexcept {
    const std::scoped_lock lock(mutex_);
    if (!result && !failed_) failed_ = result.error();
    const auto segment = segments_.find(offset);
    static_cast<void>(data);
    pool_.release(segment->second.memory);
    segments_.erase(segment);
    --writing_;
    changed_.notify_all();
}

Result<> PlainFile::finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return writing_ == 0; });
    if (failed_) return std::unexpected(*failed_);
    for (auto& [begin, segment] : segments_) {
        const auto used = (end_ - begin + recorder::SegmentPool::alignment - 1) / recorder::SegmentPool::alignment *
                          recorder::SegmentPool::alignment;
        if (end_ <= begin) continue;
        WEIR_TRY(file_.write_at(begin, {segment.memory, used}));
    }
    WEIR_TRY(file_.truncate(end_));
    return file_.sync_data();
}

delivery::Taken CopySink::take(delivery::IncomingEvent& event) {
    const auto taken = std::move(event);
    for (const auto& tag : taken.meta.tags) {
        PlainFile* file = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            auto& place = files_[stream_key(tag)];
            if (!place) {
                auto created = PlainFile::create(directory_ / (stream_key(tag) + ".plain"), direct_, pool_, writer_);
                if (!created) {
                    receiver_->reject({taken.session, taken.meta.sequence}, wire::RejectReason::other,
                                      created.error().message());
                    return delivery::Taken::yes;
                }
                place = std::move(*created);
            }
            file = place.get();
        }
        if (!file->append(taken.payload.data())) {
            receiver_->reject({taken.session, taken.meta.sequence}, wire::RejectReason::other, "a write failed");
            return delivery::Taken::yes;
        }
    }
    const delivery::Answer answer{taken.session, taken.meta.sequence};
    receiver_->acknowledge({&answer, 1});
    return delivery::Taken::yes;
}

Result<> CopySink::finish() {
    Result<> result;
    for (auto& [key, file] : files_) {
        if (auto finished = file->finish(); !finished) result = finished;
    }
    files_.clear();
    return result;
}

}  // namespace weir::app
