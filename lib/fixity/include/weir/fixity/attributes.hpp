// SPDX-License-Identifier: Apache-2.0
// Sums in the extended attributes of a file: user.XrdCks.<algorithm>, which XRootD servers read and write, and
// user.weir.sum, which also has the size, time and inode that the sums belong to. Both in docs/formats/.
// An attribute is a claim: it is current when it belongs to the file as it stands, and only reading the
// bytes shows whether it is true.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/digest/digest.hpp"
#include "weir/fixity/file_stamp.hpp"

namespace weir::fixity {

enum class AttributeUse {
    none,
    read,     // current attributes are taken for the sums, and the file is not read
    write,    // after a complete read of an unchanged file that is as in its current attributes; those stay beside the
              // new
    replace,  // the same, but earlier attributes do not matter: they are made anew
    verify,   // the file is read, and the attributes are held against it
};

/// One attribute that could be understood.
struct StoredSum {
    digest::Digest sum;
    bool current;           // made of the file as it stands (time; for user.weir.sum size and inode too)
    std::string attribute;  // its name
};

struct AttributeOutcome {
    std::vector<StoredSum> stored;        // found before anything was written
    std::vector<std::string> mismatches;  // names of current attributes that do not belong to the bytes
    std::vector<std::string> stale;       // names of attributes of an older state of the file
    std::vector<std::string> warnings;    // one line each: not supported here, not writable, not understood
    bool taken = false;                   // the sums come from attributes, the bytes were not read
    bool not_stored = false;              // they were to be stored, and some or all were not: a warning has the reason
};

/// "adler32", "crc32" (the POSIX cksum), "crc32c", "md5", "sha1", "sha256"; nothing for
/// the others, of which XRootD has no name or several meanings.
[[nodiscard]] std::optional<std::string_view> xrootd_name(digest::Algorithm algorithm) noexcept;

/// The 96 bytes of user.XrdCks.<name>.
[[nodiscard]] std::string encode_xrootd(const digest::Digest& sum, const FileStamp& stamp, WallTime now);
struct XrootdSum {
    digest::Digest sum;
    std::int64_t mtime_s;
};
/// Errc::corrupt: not such an attribute of this algorithm.
[[nodiscard]] Result<XrootdSum> decode_xrootd(std::string_view bytes, digest::Algorithm algorithm);

/// "v1 size=… mtime_ns=… ino-gen=… at=… at_ns=… adler32=…"
[[nodiscard]] std::string encode_weir(std::span<const digest::Digest> sums, const FileStamp& stamp,
                                      std::uint64_t generation, WallTime now);
struct WeirSums {
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0;
    std::uint64_t inode = 0;
    std::uint64_t generation = 0;
    std::int64_t at_s = 0;   // when it was written, seconds since 1970; 0: not known
    std::int64_t at_ns = 0;  // the same moment in nanoseconds; 0: not known
    std::vector<digest::Digest> sums;
};
/// Errc::unsupported: a later version. Errc::corrupt: not such an attribute.
[[nodiscard]] Result<WeirSums> decode_weir(std::string_view text);

/// All attributes of an open file that can be read; others cause `warnings`. XRootD's know whole
/// seconds: where user.weir.sum shows that the file was written again within one, none of them is current.
[[nodiscard]] std::vector<StoredSum> read_attributes(int fd, const FileStamp& stamp,
                                                     std::vector<std::string>& warnings);
/// user.weir.sum, when it can be understood and is current: size, time, inode and generation are the file's.
[[nodiscard]] std::optional<WeirSums> read_current_weir_sums(int fd, const FileStamp& stamp);
/// The file's ctime is that of the writing of its attribute: it was not written since, whatever its mtime is, and
/// nothing else of it was changed.
[[nodiscard]] bool is_untouched_since(const WeirSums& sums, const FileStamp& stamp) noexcept;
/// Sets user.XrdCks.* where XRootD has a name, and user.weir.sum. False: some or all were not set; why goes to
/// `warnings`, once a file.
[[nodiscard]] bool write_attributes(int fd, std::span<const digest::Digest> sums, const FileStamp& stamp,
                                    const Clock& clock, std::vector<std::string>& warnings);

}  // namespace weir::fixity
