// SPDX-License-Identifier: Apache-2.0
#include "weir/control/host_memory.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>

namespace weir::control {
namespace {

using testing::HasSubstr;

class HostMemoryTest : public testing::Test {
protected:
    HostMemoryTest() {
        std::string pattern = testing::TempDir() + "memory-XXXXXX";
        folder = ::mkdtemp(pattern.data());
    }
    ~HostMemoryTest() override { std::filesystem::remove_all(folder); }

    static Partition partition() {
        auto parsed = parse_partition(
            "[hosts.h1]\naddress = \"10.77.0.11:7400\"\n[hosts.worker]\naddress = \":7400\"\nengine = \"slurm\"\ncount "
            "= 2\n"
            "[engine.slurm]\ndir = \"/d\"\ncertificates = \"/c\"\n"
            "[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\n[record.rec-1]\n",
            "p.toml");
        EXPECT_TRUE(parsed) << parsed.error().message();
        return parsed.value_or(Partition{});
    }
    std::string error_of(const std::string& text) const {
        std::ofstream(HostMemory::file_in(folder)) << text;
        auto read = partition();
        const auto good = HostMemory(HostMemory::file_in(folder)).recall(read);
        return good ? "" : good.error().message();
    }
    std::filesystem::path folder;
};

TEST_F(HostMemoryTest, WhatIsKeptOfGroupsIsKnownToTheNextRunControl) {
    HostMemory memory(HostMemory::file_in(folder));
    auto before = partition();
    before.hosts[0].place.node = "h1";
    before.hosts[1].place = {"17", "n3", "10.77.0.13:7400", "36D87C26"};
    before.hosts[2].former = {{"16", "n4", "10.77.0.14:7400", "0123"}};
    ASSERT_TRUE(memory.keep(before.hosts));
    const auto written = std::filesystem::last_write_time(HostMemory::file_in(folder));
    ASSERT_TRUE(memory.keep(before.hosts));
    EXPECT_EQ(std::filesystem::last_write_time(HostMemory::file_in(folder)), written) << "only what is new";
    auto after = partition();
    ASSERT_TRUE(HostMemory(HostMemory::file_in(folder)).recall(after));
    EXPECT_EQ(after.hosts[0].place, HostPlace{}) << "the partition file says where it is";
    EXPECT_EQ(after.hosts[1].place, before.hosts[1].place);
    EXPECT_EQ(after.hosts[2].former, before.hosts[2].former);
}

TEST_F(HostMemoryTest, NothingIsKnownWithoutAFileAndNoneIsWrittenForNothing) {
    auto machines = partition();
    HostMemory memory(HostMemory::file_in(folder));
    EXPECT_TRUE(memory.recall(machines));
    EXPECT_TRUE(memory.keep(machines.hosts));
    EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST_F(HostMemoryTest, AFileThatIsDamagedIsSaid) {
    EXPECT_THAT(error_of("{"), HasSubstr("is damaged: "));
    EXPECT_THAT(error_of(R"({"machines":[{"name":"worker-1","job":"17; rm"}]})"), HasSubstr("\"17; rm\" is no job"));
    EXPECT_THAT(error_of(R"({"machines":[{"name":"worker-1","node":"--x"}]})"), HasSubstr("\"--x\" is no node"));
    EXPECT_THAT(error_of(R"({"machines":[{"name":"worker-1","node":"--x"}]})"),
                HasSubstr("remove it, and pinned machines get any node"));
    EXPECT_EQ(error_of(R"({"machines":[{"name":"of-another-file","node":"n1"}]})"), "");
}

}  // namespace
}  // namespace weir::control
