// SPDX-License-Identifier: Apache-2.0
#include "plan/source.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/stoppable_sleep.hpp"
#include "weir/digest/summer.hpp"
#include "weir/fixity/pieces.hpp"
#include "weir/fixity/rate_limit.hpp"

namespace weir::handoff {
namespace {

std::unexpected<ReadFailure> failed(Error error, bool of_source) {
    return std::unexpected(ReadFailure{std::move(error), of_source});
}

std::unexpected<ReadFailure> unreadable(const fixity::Failure& failure, const std::filesystem::path& path) {
    auto what = fmt::format("cannot read {}", path.native());
    if (failure.offset) what += fmt::format(" at offset {}", *failure.offset);
    if (failure.os_errno == 0) what += ": " + failure.text;
    return failed({Errc::io, failure.os_errno, std::move(what)}, true);
}

constexpr std::size_t piece_size = 512 << 10;  // summed while it is in the cache

}  // namespace

Result<digest::Digest> known_sum(const catalogue::FileRow& file, digest::Algorithm algorithm) {
    const auto known = std::ranges::find(file.sums, digest::name(algorithm), &weir::catalogue::FileSum::algorithm);
    auto sum = known == file.sums.end() ? fail(Errc::refused, "") : digest::Digest::parse(algorithm, known->value);
    if (sum) return sum;
    return fail(Errc::refused, fmt::format("the catalogue has no {} of {}; nothing to verify a copy against",
                                           digest::name(algorithm), path_of(file).native()));
}

std::expected<SourceSum, ReadFailure> read_source(const std::filesystem::path& path, Upload* upload,
                                                  const TransferOptions& options, const std::stop_token& stop) {
    fixity::Reading how;
    how.cache = options.read;
    const auto file = fixity::InputFile::open(path.native(), fixity::Origin::listed, how);
    if (!file) return unreadable(file.error(), path);
    digest::Summer summer(options.algorithm);
    fixity::AlignedBuffer own(upload == nullptr ? 4 * piece_size : 0);
    for (std::uint64_t at = 0;;) {
        if (stop.stop_requested()) return failed({Errc::refused, 0, "stopped"}, false);
        MutableData space = own.data();
        if (upload != nullptr) {
            auto taken = upload->space();
            if (!taken) return failed(taken.error(), false);
            space = *taken;
        }
        std::size_t size = 0;
        bool end = false;
        while (size < space.size() && !end) {
            const auto piece = space.subspan(size, std::min(piece_size, space.size() - size));
            const auto got = file->read(at + size, piece, how);
            if (!got) return unreadable(got.error(), path);
            summer.add(piece.first(*got));
            size += *got;
            end = *got < piece.size();
        }
        if (upload != nullptr && size > 0) {
            if (options.limit != nullptr && !stoppable_sleep(options.limit->take(size), stop))
                return failed({Errc::refused, 0, "stopped"}, false);
            if (auto put = upload->put(size); !put) return failed(put.error(), false);
            if (options.progress) options.progress(size);
        }
        at += size;
        if (end) return SourceSum{summer.value(), at};
    }
}

}  // namespace weir::handoff
