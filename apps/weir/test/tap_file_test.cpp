// SPDX-License-Identifier: Apache-2.0
#include "watch/tap/tap_file.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include "weir/workload/event_generator.hpp"

namespace weir::app {
namespace {

struct TapFileTest : testing::Test {
    ~TapFileTest() override { std::filesystem::remove_all(folder); }
    static std::filesystem::path temporary() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-tap-XXXXXX").native();
        return ::mkdtemp(pattern.data());
    }
    static std::vector<std::byte> event(RunNumber run) {
        workload::GeneratedEvent made;
        workload::EventGenerator(workload::Profile::atlas2018(), 1)
            .generate({.stream = 0, .stored_size = Bytes{100'000}}, {.run = run}, made);
        return made.bytes;
    }

    std::filesystem::path folder = temporary();
};

TEST_F(TapFileTest, ADamagedEventIsKeptWithThoseBesideItAndAnotherRunIsRefused) {
    auto file = TapFile::create(folder / "tapped.raw");
    ASSERT_TRUE(file);
    auto damaged = event(RunNumber{7});
    damaged[4] ^= std::byte{1};  // its size
    ASSERT_TRUE(file->write(damaged, WallTime{}));
    ASSERT_TRUE(file->write(event(RunNumber{7}), WallTime{}));
    ASSERT_TRUE(file->write(damaged, WallTime{}));
    const auto other = file->write(event(RunNumber{8}), WallTime{});
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message().find("events of run 7, and one of run 8"), std::string::npos);
    ASSERT_TRUE(file->finish(WallTime{}));
    EXPECT_EQ(file->events(), 3U);
}

}  // namespace
}  // namespace weir::app
