// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/checksum_attribute.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "weir/base/endian.hpp"

namespace weir::datafile {
namespace {

constexpr const char* attribute_name = "user.XrdCks.adler32";
constexpr std::size_t attribute_size = 96;
constexpr std::size_t time_at = 16, delta_at = 24, length_at = 31, value_at = 32;

Result<std::uint64_t> modified_seconds(const File& file) {
    struct stat status{};
    if (::fstat(file.fd(), &status) != 0) return fail_errno(errno, fmt::format("cannot stat {}", file.path().native()));
    return static_cast<std::uint64_t>(status.st_mtim.tv_sec);
}

}  // namespace

Result<> write_adler32_attribute(const File& file, std::uint32_t adler32, WallTime now) {
    const auto modified = WEIR_TRY(modified_seconds(file));
    std::array<std::byte, attribute_size> bytes{};
    std::memcpy(bytes.data(), "adler32", 7);
    store_big<std::uint64_t>(bytes, time_at, modified);
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch()).count();
    store_big<std::uint32_t>(
        bytes, delta_at,
        static_cast<std::uint32_t>(std::max<std::int64_t>(0, seconds - static_cast<std::int64_t>(modified))));
    bytes[length_at] = std::byte{4};
    store_big<std::uint32_t>(bytes, value_at, adler32);
    if (::fsetxattr(file.fd(), attribute_name, bytes.data(), bytes.size(), 0) == 0) return {};
    const int why = errno;
    auto error = Error{why == ENOTSUP ? Errc::unsupported : Errc::io, why,
                       fmt::format("cannot set {} of {}", attribute_name, file.path().native())};
    return std::unexpected(std::move(error));
}

Result<std::optional<ChecksumAttribute>> read_adler32_attribute(const File& file) {
    std::array<std::byte, attribute_size> bytes{};
    const auto got = ::fgetxattr(file.fd(), attribute_name, bytes.data(), bytes.size());
    if (got < 0 && (errno == ENODATA || errno == ENOTSUP)) return std::nullopt;
    if (got < 0 && errno != ERANGE)
        return fail_errno(errno, fmt::format("cannot read {} of {}", attribute_name, file.path().native()));
    if (got != static_cast<ssize_t>(attribute_size) || std::memcmp(bytes.data(), "adler32", 8) != 0 ||
        bytes[length_at] != std::byte{4})
        return fail(Errc::corrupt,
                    fmt::format("{} of {} is not an XRootD checksum", attribute_name, file.path().native()));
    const auto modified = WEIR_TRY(modified_seconds(file));
    return ChecksumAttribute{load_big<std::uint32_t>(bytes, value_at),
                             load_big<std::uint64_t>(bytes, time_at) == modified};
}

}  // namespace weir::datafile
