// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/attributes.hpp"

#include <fmt/format.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "weir/base/endian.hpp"

namespace weir::fixity {
namespace {

using digest::Algorithm;
using digest::Digest;

constexpr std::string_view prefix = "user.XrdCks.";
constexpr const char* weir_attribute = "user.weir.sum";
constexpr std::size_t xrootd_size = 96, name_size = 16, time_at = 16, delta_at = 24, length_at = 31, value_at = 32;
constexpr std::size_t weir_size_max = 4096;

// A ctime is of a moment that the system chooses: up to a tick before, or when it came round to it. Where it took
// longer, the attribute is set again.
constexpr std::int64_t untouched_slack_ns = 50'000'000;
constexpr int set_tries = 5;

// Not zcrc32 (zlib's crc32): servers store its bytes as they lie in memory or not, so a value is ambiguous.
constexpr std::array<std::pair<Algorithm, std::string_view>, 6> xrootd_names{{
    {Algorithm::adler32, "adler32"},
    {Algorithm::cksum, "crc32"},
    {Algorithm::crc32c, "crc32c"},
    {Algorithm::md5, "md5"},
    {Algorithm::sha1, "sha1"},
    {Algorithm::sha256, "sha256"},
}};

std::int64_t seconds_of(std::int64_t ns) noexcept {
    return ns >= 0 ? ns / 1'000'000'000 : (ns - 999'999'999) / 1'000'000'000;
}

std::int64_t seconds_of(WallTime time) noexcept {
    return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

/// Distinguishes an inode from a later one of the same number; 0 where the file system has no generation.
std::uint64_t generation_of(int fd) {
    long generation = 0;  // the kernel writes an int, whatever the request's declaration is
    return ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0 ? static_cast<std::uint32_t>(generation) : 0;
}

/// Nothing when there is no such attribute; errno of other failures in `why`.
std::optional<std::string> get(int fd, const char* name, std::size_t size_max, int& why) {
    std::string value(size_max, '\0');
    const auto got = ::fgetxattr(fd, name, value.data(), value.size());
    why = got < 0 && errno != ENODATA && errno != ENOTSUP ? errno : 0;
    if (got < 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(got));
    return value;
}

bool is_current(const WeirSums& sums, int fd, const FileStamp& stamp) {
    return sums.size == stamp.size && sums.mtime_ns == stamp.mtime_ns && sums.inode == stamp.inode &&
           sums.generation == generation_of(fd);
}

template <class T>
bool take_number(std::string_view text, T& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::optional<std::string_view> xrootd_name(Algorithm algorithm) noexcept {
    const auto found = std::ranges::find(xrootd_names, algorithm, &std::pair<Algorithm, std::string_view>::first);
    return found == xrootd_names.end() ? std::nullopt : std::optional(found->second);
}

std::string encode_xrootd(const Digest& sum, const FileStamp& stamp, WallTime now) {
    std::array<std::byte, xrootd_size> bytes{};
    const auto name = xrootd_name(sum.algorithm()).value_or(digest::name(sum.algorithm()));
    std::memcpy(bytes.data(), name.data(), std::min(name.size(), name_size - 1));
    const auto modified = seconds_of(stamp.mtime_ns);
    store_big<std::uint64_t>(bytes, time_at, static_cast<std::uint64_t>(modified));
    store_big<std::uint32_t>(
        bytes, delta_at,
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(seconds_of(now) - modified, 0, INT32_MAX)));
    bytes[length_at] = static_cast<std::byte>(sum.bytes().size());
    std::ranges::copy(sum.bytes(), bytes.begin() + value_at);
    return std::string(as_text(bytes));
}

Result<XrootdSum> decode_xrootd(std::string_view text, Algorithm algorithm) {
    const auto bytes = as_data(text);
    const auto name = xrootd_name(algorithm).value_or("");
    const auto size = digest::digest_size(algorithm);
    const bool named =
        text.size() == xrootd_size && text.substr(0, name_size).substr(0, text.substr(0, name_size).find('\0')) == name;
    if (!named || std::to_integer<std::size_t>(bytes[length_at]) != size)
        return fail(Errc::corrupt, fmt::format("{}{} is not an XRootD checksum", prefix, name));
    return XrootdSum{Digest::of_bytes(algorithm, bytes.subspan(value_at, size)),
                     static_cast<std::int64_t>(load_big<std::uint64_t>(bytes, time_at))};
}

std::string encode_weir(std::span<const Digest> sums, const FileStamp& stamp, std::uint64_t generation, WallTime now) {
    auto text = fmt::format("v1 size={} mtime_ns={} ino-gen={}-{} at={} at_ns={}", stamp.size, stamp.mtime_ns,
                            stamp.inode, generation, seconds_of(now),
                            std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count());
    for (const auto& sum : sums) text += fmt::format(" {}={}", digest::name(sum.algorithm()), sum.hex());
    return text;
}

Result<WeirSums> decode_weir(std::string_view text) {
    const auto corrupt = [] { return fail(Errc::corrupt, fmt::format("{} is not understood", weir_attribute)); };
    const auto word = [&text] {
        const auto found = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), found.size() + 1));
        return found;
    };
    const auto version = word();
    if (version != "v1") {
        if (version.starts_with('v'))
            return fail(Errc::unsupported,
                        fmt::format("{} is of version {}; this weir reads v1", weir_attribute, version));
        return corrupt();
    }
    WeirSums sums;
    bool has_size = false, has_time = false;
    while (!text.empty()) {
        const auto field = word();
        const auto equals = field.find('=');
        if (equals == std::string_view::npos) return corrupt();
        const auto key = field.substr(0, equals), value = field.substr(equals + 1);
        bool good = true;
        if (key == "size") {
            good = has_size = take_number(value, sums.size);
        } else if (key == "mtime_ns") {
            good = has_time = take_number(value, sums.mtime_ns);
        } else if (key == "ino-gen") {
            const auto dash = value.find('-');
            good = dash != std::string_view::npos && take_number(value.substr(0, dash), sums.inode) &&
                   take_number(value.substr(dash + 1), sums.generation);
        } else if (key == "at") {
            good = take_number(value, sums.at_s);
        } else if (key == "at_ns") {
            good = take_number(value, sums.at_ns);
        } else if (const auto algorithm = digest::parse_algorithm(key)) {
            const auto sum = Digest::parse(*algorithm, value);
            good = sum && value.size() == 2 * digest::digest_size(*algorithm);
            if (good) sums.sums.push_back(*sum);
        }  // fields of a later version are passed over
        if (!good) return corrupt();
    }
    if (!has_size || !has_time) return corrupt();
    return sums;
}

std::vector<StoredSum> read_attributes(int fd, const FileStamp& stamp, std::vector<std::string>& warnings) {
    std::vector<StoredSum> stored;
    bool again_in_that_second = false;
    int why = 0;
    if (const auto text = get(fd, weir_attribute, weir_size_max, why)) {
        if (const auto sums = decode_weir(*text)) {
            const bool current = is_current(*sums, fd, stamp);
            for (const auto& sum : sums->sums) stored.push_back({sum, current, weir_attribute});
            again_in_that_second = (sums->size != stamp.size || sums->mtime_ns != stamp.mtime_ns) &&
                                   seconds_of(sums->mtime_ns) == seconds_of(stamp.mtime_ns);
        } else {
            warnings.push_back(sums.error().context);
        }
    } else if (why != 0) {
        warnings.push_back(fmt::format("cannot read attributes: {}", std::strerror(why)));
        return stored;
    }
    for (const auto& [algorithm, name] : xrootd_names) {
        const auto attribute = std::string(prefix) + std::string(name);
        const auto text = get(fd, attribute.c_str(), xrootd_size, why);
        if (!text && why == 0) continue;
        const auto sum = text ? decode_xrootd(*text, algorithm)
                              : fail(Errc::corrupt, fmt::format("{} is not an XRootD checksum", attribute));
        if (sum)
            stored.push_back(
                {sum->sum, sum->mtime_s == seconds_of(stamp.mtime_ns) && !again_in_that_second, attribute});
        else warnings.push_back(sum.error().context);
    }
    return stored;
}

std::optional<WeirSums> read_current_weir_sums(int fd, const FileStamp& stamp) {
    int why = 0;
    const auto text = get(fd, weir_attribute, weir_size_max, why);
    auto sums = text ? decode_weir(*text) : fail(Errc::refused, "there is none");
    return sums && is_current(*sums, fd, stamp) ? std::optional(std::move(*sums)) : std::nullopt;
}

bool is_untouched_since(const WeirSums& sums, const FileStamp& stamp) noexcept {
    return sums.at_ns != 0 && stamp.ctime_ns <= sums.at_ns + untouched_slack_ns;
}

bool write_attributes(int fd, std::span<const Digest> sums, const FileStamp& stamp, const Clock& clock,
                      std::vector<std::string>& warnings) {
    const auto set = [&](const char* name, std::string_view value) {
        if (::fsetxattr(fd, name, value.data(), value.size(), 0) == 0) return true;
        const int why = errno;
        warnings.push_back(why == ENOTSUP
                               ? std::string("this file system has no attributes; the sum was not stored")
                               : fmt::format("cannot set {}: {}; the sum was not stored", name, std::strerror(why)));
        return false;
    };
    const auto set_ours = [&] {
        return set(weir_attribute, encode_weir(sums, stamp, generation_of(fd), clock.wall()));
    };
    if (!set_ours()) return false;
    bool again = false;
    for (const auto& sum : sums) {
        const auto name = xrootd_name(sum.algorithm());
        if (!name) continue;
        if (!set((std::string(prefix) + std::string(*name)).c_str(), encode_xrootd(sum, stamp, clock.wall())))
            return false;
        again = true;
    }
    // Last, and once more where the system was slow, so that the file's ctime is the moment in it.
    for (int i = 0; i < set_tries; ++i) {
        if (again && !set_ours()) return false;
        const auto now = stamp_of(fd);
        const auto written = now ? read_current_weir_sums(fd, stamp) : std::nullopt;
        if (!written || is_untouched_since(*written, *now)) break;
        again = true;
    }
    return true;
}

}  // namespace weir::fixity
