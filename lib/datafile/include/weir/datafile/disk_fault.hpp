// SPDX-License-Identifier: Apache-2.0
// What a failed call means for the disk under it, and so how much of a recording it touches.
#pragma once

#include "weir/base/result.hpp"

namespace weir::datafile {

enum class DiskFault {
    no_space,        // room is missing, now: ENOSPC, EDQUOT, EFBIG
    no_descriptors,  // the process has no file descriptors or memory left, now: EMFILE, ENFILE, ENOMEM
    name,            // the disk is well; a name that belongs to the recording was removed: ENOLINK, set by us
    file,            // this file is not to be trusted any more: EIO and whatever is not known
    volume,          // nothing on this volume is: ENODEV, EROFS, ...
};

[[nodiscard]] DiskFault disk_fault_of(const Error& error) noexcept;

/// It passes by itself, or when room is made: the same call may succeed later.
[[nodiscard]] inline bool may_pass(DiskFault fault) noexcept {
    return fault == DiskFault::no_space || fault == DiskFault::no_descriptors;
}

/// Whether a file that was closed early for this is good up to where it was durable.
[[nodiscard]] inline bool keeps_file_good(DiskFault fault) noexcept {
    return may_pass(fault) || fault == DiskFault::name;
}

}  // namespace weir::datafile
