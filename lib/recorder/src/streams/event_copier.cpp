// SPDX-License-Identifier: Apache-2.0
#include "streams/event_copier.hpp"

#include <zlib.h>

#include <algorithm>

#include "weir/base/assert.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::recorder {
namespace {

/// Walks the pieces of a place from its beginning.
class PlaceCursor {
public:
    explicit PlaceCursor(const Place& place) : place_(place) {}

    /// Calls `put(target, part)` for the parts of `data`, one for each piece that it touches.
    template <class Put>
    void put(ConstData data, Put&& put) {
        while (!data.empty()) {
            WEIR_ASSERT(piece_ < place_.pieces.size());
            const auto room = place_.pieces[piece_].subspan(at_);
            const auto part = data.first(std::min(room.size(), data.size()));
            put(room.first(part.size()), part);
            data = data.subspan(part.size());
            at_ += part.size();
            if (part.size() == room.size()) {
                ++piece_;
                at_ = 0;
            }
        }
    }

private:
    const Place& place_;
    std::size_t piece_ = 0;
    std::size_t at_ = 0;
};

}  // namespace

EventCopier::EventCopier(const RecorderOptions& options, checksum::Stores stores)
    : mode_(options.mode), stores_(stores) {
    if (mode_ == Mode::parallel) parallel_ = std::make_unique<checksum::ParallelAdler32>(options.parallel);
}

EventCopier::~EventCopier() = default;

std::uint32_t EventCopier::sum(ConstData data, std::uint32_t value) const {
    if (parallel_) return (*parallel_)(data, value);
    return static_cast<std::uint32_t>(
        ::adler32_z(value, reinterpret_cast<const unsigned char*>(data.data()), data.size()));
}

EventSums EventCopier::copy(ConstData event, std::uint32_t crc32c, const Place& place) const {
    EventSums sums{checksum::adler32_start, crc32c};
    PlaceCursor cursor(place);
    if (mode_ == Mode::receipt) {
        cursor.put(event, [&](MutableData to, ConstData from) {
            sums.adler32 = checksum::copy_adler32(to, from, sums.adler32, stores_);
        });
        return sums;
    }
    if (mode_ != Mode::off) sums.adler32 = sum(event, sums.adler32);
    cursor.put(event, [&](MutableData to, ConstData from) { checksum::copy_only(to, from, stores_); });
    return sums;
}

EventSums EventCopier::copy(const event::EventPieces& event, const Place& place) const {
    EventSums sums{checksum::adler32_start, 0};
    PlaceCursor cursor(place);
    for (std::size_t i = 0; i < event.count(); ++i) {
        const auto piece = event.piece(i);
        sums.crc32c = checksum::crc32c(piece, sums.crc32c);
        if (mode_ == Mode::original || mode_ == Mode::parallel) sums.adler32 = sum(piece, sums.adler32);
        cursor.put(piece, [&](MutableData to, ConstData from) {
            if (mode_ == Mode::receipt) {
                sums.adler32 = checksum::copy_adler32(to, from, sums.adler32, stores_);
            } else {
                checksum::copy_only(to, from, stores_);
            }
        });
    }
    return sums;
}

}  // namespace weir::recorder
