// SPDX-License-Identifier: Apache-2.0
// The small parts that survive a bad disk: the watch, the reserve.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

#include "disk/disk_watch.hpp"
#include "disk/space_reserve.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class DiskFaults : public ::testing::Test {
protected:
    DiskFaults() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-disk-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
    }
    ~DiskFaults() override { std::filesystem::remove_all(directory_); }

    std::filesystem::path directory_;
    ManualClock clock_;
};

TEST_F(DiskFaults, ASlowDiskIsNotSilentAsLongAsCallsEnd) {
    DiskWatch watch(real_file_system(), clock_);
    clock_.advance(1h);
    EXPECT_EQ(watch.silence(), 0ns);  // nothing is in flight
    watch.begin();
    clock_.advance(50s);
    EXPECT_EQ(watch.silence(), 50s);
    watch.begin();
    clock_.advance(5s);
    EXPECT_EQ(watch.silence(), 55s);
    watch.end();  // progress: the other one has its time from here
    clock_.advance(30s);
    EXPECT_EQ(watch.silence(), 30s);
    watch.end();
    EXPECT_EQ(watch.silence(), 0ns);
}

TEST_F(DiskFaults, TheReserveTakesItsSpaceAndLetsItGoOnce) {
    SpaceReserve reserve(directory_, 1_MiB, real_file_system());
    ASSERT_TRUE(reserve.make().has_value());
    ASSERT_TRUE(reserve.make().has_value());
    EXPECT_EQ(std::filesystem::file_size(directory_ / "weir.reserve"), (1_MiB).count());
    EXPECT_TRUE(reserve.release());
    EXPECT_FALSE(reserve.release());
    EXPECT_FALSE(std::filesystem::exists(directory_ / "weir.reserve"));
}

TEST_F(DiskFaults, AReserveIsWrittenWhereSpaceCannotBeTakenAndIsNotHeldWhereThereIsNone) {
    class Without : public FileSystem {
    public:
        int error = EOPNOTSUPP;
        int fallocate(int, int, off_t, off_t) override { return errno = error, -1; }
    } system;
    SpaceReserve reserve(directory_, 200_KiB, system);
    ASSERT_TRUE(reserve.make().has_value());
    EXPECT_EQ(std::filesystem::file_size(directory_ / "weir.reserve"), (200_KiB).count());
    reserve.release();
    system.error = ENOSPC;
    EXPECT_FALSE(reserve.make().has_value());
    EXPECT_FALSE(reserve.held());
    EXPECT_FALSE(std::filesystem::exists(directory_ / "weir.reserve"));
}

}  // namespace
}  // namespace weir::recorder
