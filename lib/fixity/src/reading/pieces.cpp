// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/pieces.hpp"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <new>

#include "reading/piece_cursor.hpp"
#include "reading/read_ahead.hpp"

namespace weir::fixity {

AlignedBuffer::AlignedBuffer(std::size_t size)
    : size_((size + InputFile::alignment - 1) / InputFile::alignment * InputFile::alignment) {
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(InputFile::alignment, size_)));
    if (memory_ == nullptr) throw std::bad_alloc();
}

std::expected<std::uint64_t, Failure> PieceReader::read(const InputFile& file, std::uint64_t begin, std::uint64_t end,
                                                        const Consume& consume) {
    try {
        return read_somehow(file, begin, end, consume);
    } catch (const std::bad_alloc&) {
        return std::unexpected(Failure{begin, ENOMEM, "not enough memory to read it"});
    }
}

std::expected<std::uint64_t, Failure> PieceReader::read_somehow(const InputFile& file, std::uint64_t begin,
                                                                std::uint64_t end, const Consume& consume) {
    if (file.is_stream()) end = std::numeric_limits<std::uint64_t>::max();
    // Behind one piece there is nothing to be ahead of.
    const bool worth_it = file.is_stream() || end - begin > how_.piece.count();
    switch (how_.overlap) {
        case Overlap::never: return read_in_place(file, begin, end, false, consume);
        case Overlap::always: return read_ahead(file, begin, end, consume);
        case Overlap::automatic: break;
    }
    if (worth_it && (file.is_stream() || file.is_direct())) return read_ahead(file, begin, end, consume);
    return read_in_place(file, begin, end, worth_it, consume);
}

std::expected<std::uint64_t, Failure> PieceReader::read_in_place(const InputFile& file, std::uint64_t begin,
                                                                 std::uint64_t end, bool warm_only,
                                                                 const Consume& consume) {
    if (buffer_.data().empty()) buffer_ = AlignedBuffer(how_.piece.count());
    PieceCursor cursor(file, begin, end, how_);
    while (!cursor.is_over()) {
        if (warm_only && cursor.is_cold()) {
            const auto rest = WEIR_TRY(read_ahead(file, cursor.at(), end, consume));
            return cursor.at() - begin + rest;
        }
        const auto piece = WEIR_TRY(cursor.next(buffer_.data()));
        if (!piece.empty()) consume(piece);
    }
    return cursor.at() - begin;
}

std::expected<std::uint64_t, Failure> PieceReader::read_ahead(const InputFile& file, std::uint64_t begin,
                                                              std::uint64_t end, const Consume& consume) {
    const auto read = [&](std::uint64_t offset, MutableData to) -> std::expected<std::size_t, Failure> {
        if (!may_read(how_, std::min<std::uint64_t>(to.size(), end - offset)))
            return std::unexpected(stopped_at(offset));
        // In the middle, not at the edge: a large page of the piece before may reach into this one.
        const auto middle = offset + std::min<std::uint64_t>(to.size(), end - offset) / 2;
        const bool cold = file.cache() == Cache::release && !file.is_cached(middle);
        auto got = file.read(offset, to, how_);
        if (got && cold) file.release_cache(offset, *got);
        return got;
    };
    // No more memory than there is to read.
    const auto pieces = std::min<std::uint64_t>(how_.pieces_ahead, (end - begin - 1) / how_.piece_ahead.count() + 1);
    ReadAhead ahead(read, begin, end, how_.piece_ahead.count(),
                    static_cast<unsigned>(std::max<std::uint64_t>(pieces, 1)));
    if (!ahead.has_thread() && how_.thread_refused) how_.thread_refused();
    std::uint64_t done = 0;
    for (auto piece = ahead.next(); !piece.empty(); piece = ahead.next()) {
        consume(piece);
        if (how_.progress) how_.progress(piece.size());
        done += piece.size();
    }
    if (ahead.failure()) return std::unexpected(*ahead.failure());
    return done;
}

}  // namespace weir::fixity
