// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/sum_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "weir/digest/summer.hpp"
#include "weir/fixity/pieces.hpp"

namespace weir::fixity {

FileSum sum_range(const std::string& path, const ByteRange& range, std::span<const digest::Algorithm> algorithms,
                  const Reading& how) {
    FileSum result;
    result.path = path;
    const auto failed = [&result](Status status, Failure failure) {
        result.status = status;
        result.failure = std::move(failure);
        return std::move(result);
    };
    auto file = InputFile::open(path, Origin::named, how);
    if (!file)
        return failed(
            file.error().os_errno == ENOENT || file.error().os_errno == ENOTDIR ? Status::missing : Status::error,
            std::move(file.error()));
    if (file->is_stream())
        return failed(Status::error, {std::nullopt, 0, "it is no regular file, so it has no ranges"});
    const auto size = file->stamp().size;
    if (range.offset > size || range.length.value_or(0) > size - range.offset)
        return failed(Status::error,
                      {std::nullopt, 0, fmt::format("it has {} bytes, and the range goes beyond them", size)});
    const auto end = range.length ? range.offset + *range.length : size;
    result.stamp = file->stamp();
    result.read_through = file->cache();

    // A direct read begins on its grid; bytes before the range are passed over.
    const auto begin = file->is_direct() ? range.offset / InputFile::alignment * InputFile::alignment : range.offset;
    auto before = range.offset - begin;
    digest::SumSet sums(algorithms);
    PieceReader reader(how);
    auto bytes = reader.read(*file, begin, end, [&](ConstData data) {
        const auto skipped = std::min<std::uint64_t>(before, data.size());
        before -= skipped;
        sums.add(data.subspan(static_cast<std::size_t>(skipped)));
    });
    if (!bytes) return failed(bytes.error().stopped ? Status::stopped : Status::error, std::move(bytes.error()));
    const auto after = stamp_of(file->fd());
    if (!after) return failed(Status::error, {end, after.error().os_errno, after.error().message()});
    if (*after != file->stamp()) return failed(Status::changed, {begin + *bytes, 0, difference(file->stamp(), *after)});
    if (*bytes < end - begin)
        return failed(
            Status::changed,
            {begin + *bytes, 0, fmt::format("it has {} bytes, but only {} could be read", size, begin + *bytes)});
    result.size = end - range.offset;
    result.sums = sums.values();
    return result;
}

}  // namespace weir::fixity
