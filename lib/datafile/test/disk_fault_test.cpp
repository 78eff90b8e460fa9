// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/disk_fault.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace weir::datafile {
namespace {

TEST(DiskFault, WhatMayPassIsToldFromWhatDoesNot) {
    const auto fault = [](int error) { return disk_fault_of({Errc::io, error, ""}); };
    for (const int error : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE}) EXPECT_TRUE(may_pass(fault(error))) << error;
    for (const int error : {EIO, EROFS, ENODEV, 0}) EXPECT_FALSE(may_pass(fault(error))) << error;
    EXPECT_EQ(fault(EROFS), DiskFault::volume);
    EXPECT_EQ(fault(EIO), DiskFault::file);
}

}  // namespace
}  // namespace weir::datafile
