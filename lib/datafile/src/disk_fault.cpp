// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/disk_fault.hpp"

#include <cerrno>

namespace weir::datafile {

DiskFault disk_fault_of(const Error& error) noexcept {
    switch (error.os_errno) {
        case ENOSPC:
        case EDQUOT:
        case EFBIG: return DiskFault::no_space;
        case EMFILE:
        case ENFILE:
        case ENOMEM: return DiskFault::no_descriptors;
        case ENOLINK: return DiskFault::name;
        case ENODEV:
        case ENXIO:
        case EROFS:
        case ESTALE:
        case ENOTCONN:  // a file system in user space, with its process gone
        case ESHUTDOWN:
        case EUCLEAN:  // "structure needs cleaning": XFS and ext4 report it of themselves
        case ENOENT:   // a directory that was there is gone
        case ENOTDIR: return DiskFault::volume;
        default: return DiskFault::file;
    }
}

}  // namespace weir::datafile
