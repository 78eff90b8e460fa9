// SPDX-License-Identifier: Apache-2.0
// Machines of a group with real agents, whose stations are shell scripts: they move to other addresses, as they do when
// their engine gets another node.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>
#include <mutex>
#include <thread>

#include "hosts/host_table.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_agent.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

constexpr auto patience = 120s;

class HostGroupsTest : public testing::Test {
protected:
    struct Agent {
        std::unique_ptr<HostAgent> agent;
        std::unique_ptr<service::HttpServer> server;  // goes first
        [[nodiscard]] HostPlace place(const std::string& job) const { return {job, "n" + job, server->address(), {}}; }
    };

    HostGroupsTest() {
        std::string pattern = testing::TempDir() + "groups-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        const auto path = folder / "program";
        std::ofstream(path) << "#!/bin/sh\nexec sleep 1000\n";
        ::chmod(path.c_str(), 0755);
        std::ofstream(folder / "p.toml") << "[partition]\n";
    }
    ~HostGroupsTest() override {
        if (table) table->end();
        table.reset();
        agents.clear();
        std::filesystem::remove_all(folder);
    }

    Agent& start_agent(const std::string& name) {
        auto agent = HostAgent::start({.name = name,
                                       .directory = folder / std::to_string(agents.size()),
                                       .program = folder / "program",
                                       .ends_with_run = true},
                                      std::move(*service::ControlCalls::start()), reporter(), system_clock());
        EXPECT_TRUE(agent) << agent.error().message();
        auto server = service::HttpServer::start({.connections_per_peer_max = 100}, (*agent)->routes());
        EXPECT_TRUE(server) << server.error().message();
        agents.push_back(
            std::make_unique<Agent>(std::move(*agent), std::make_unique<service::HttpServer>(std::move(*server))));
        return *agents.back();
    }
    void start_table(const std::string& more = {}) {
        auto parsed = parse_partition(
            "[hosts.worker]\naddress = \":7400\"\nengine = \"slurm\"\ncount = 2\npinned = true\n" + more +
                "[engine.slurm]\ndir = \"/d\"\ncertificates = \"/c\"\n"
                "[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\nhost = \"worker-1\"\n[record.rec-1]\n",
            "p.toml");
        ASSERT_TRUE(parsed) << parsed.error().message();
        partition = std::move(*parsed);
        table = std::make_shared<HostTable>(partition,
                                            HostLauncherOptions{.name = "one",
                                                                .epoch = 7,
                                                                .partition_file = folder / "p.toml",
                                                                .poll = 10ms,
                                                                .suspected_after = 1h,
                                                                .lost_after = 1h},
                                            *calls, *calls, reporter(), system_clock());
    }
    HostTable::SlotPointer launch(const std::string& name) {
        auto slot = table->launch({name, {"weir", "build", "partition.toml", "--name", name}, {}});
        EXPECT_TRUE(slot) << slot.error().message();
        return slot.value_or(nullptr);
    }
    /// As they were last new.
    const std::vector<HostEntry>& places() {
        if (auto fresh = table->new_places()) places_ = std::move(*fresh);
        return places_;
    }
    [[nodiscard]] std::int64_t pid_of(const HostTable::SlotPointer& slot) const {
        return table->look(slot, [](const HostTable::Slot& one, const HostEntry&) { return one.pid; });
    }
    template <class Condition>
    testing::AssertionResult eventually(const Condition& condition) {
        const auto until = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < until) {
            table->step();
            if (condition()) return testing::AssertionSuccess();
            std::this_thread::sleep_for(1ms);
        }
        return testing::AssertionFailure() << all_reports();
    }
    [[nodiscard]] static bool alive(std::int64_t pid) { return ::kill(static_cast<pid_t>(pid), 0) == 0; }
    [[nodiscard]] Reporter reporter() {
        return [this](const Report& report) {
            const std::scoped_lock lock(mutex);
            reports += text_of(report) + "\n";
        };
    }
    [[nodiscard]] std::string all_reports() const {
        const std::scoped_lock lock(mutex);
        return reports;
    }

    std::filesystem::path folder;
    mutable std::mutex mutex;
    std::string reports;
    Partition partition;
    std::unique_ptr<service::ControlCalls> calls = std::move(*service::ControlCalls::start());
    std::vector<std::unique_ptr<Agent>> agents;
    std::shared_ptr<HostTable> table;

private:
    std::vector<HostEntry> places_;
};

TEST_F(HostGroupsTest, AMachineIsReachedWhereItsEngineFoundItAndItsFormerAgentEnds) {
    const auto& first = start_agent("worker-1");
    const auto& second = start_agent("worker-1");
    start_table();
    EXPECT_EQ(table->view()[0].address, "");
    EXPECT_TRUE(table->view()[0].asked) << "its engine is asked where it is";
    const auto waiting = launch("sfi-1");
    table->step();
    EXPECT_FALSE(waiting->ordered);
    EXPECT_EQ(table->waits_for(waiting), "its machine worker-1 is not there");
    table->place(0, first.place("17"));
    ASSERT_TRUE(eventually([&] { return pid_of(waiting) != 0; }));
    EXPECT_EQ(table->view()[0].node, "n17");
    const auto instance = places()[0].place.instance;
    EXPECT_NE(instance, "");
    const auto pid = pid_of(waiting);

    table->place(0, second.place("18"));
    ASSERT_EQ(places()[0].former.size(), 1U);
    EXPECT_EQ(places()[0].former[0].instance, instance);
    EXPECT_TRUE(eventually([&] { return first.agent->over() && !alive(pid); })) << "its stations end, and it does";
    EXPECT_TRUE(eventually([&] { return places()[0].former.empty(); }));
    EXPECT_THAT(all_reports(), HasSubstr("worker-1 was on n17 before, and its agent there has ended its stations"));
    EXPECT_FALSE(second.agent->over());
}

TEST_F(HostGroupsTest, AnAgentOfAnotherMachineAtAnAddressThatWasOneOfThisIsLeftAlone) {
    const auto& other = start_agent("worker-2");
    start_table();
    auto place = other.place("17");
    place.instance = "another";
    partition.hosts[0].former = {place};
    table = std::make_shared<HostTable>(
        partition, HostLauncherOptions{.name = "one", .epoch = 7, .partition_file = folder / "p.toml", .poll = 10ms},
        *calls, *calls, reporter(), system_clock());
    table->place(0, other.place("18"));
    ASSERT_TRUE(eventually([&] { return places()[0].former.empty(); }));
    ASSERT_TRUE(eventually([&] { return !table->view()[0].trouble.empty(); }));
    EXPECT_THAT(table->view()[0].trouble, HasSubstr("this is the agent of worker-2, and not of worker-1"));
    EXPECT_FALSE(table->view()[0].answers) << "its engine goes on";
    table->place(1, other.place("19"));
    EXPECT_TRUE(eventually([&] { return table->view()[1].state == "up"; }));
    EXPECT_FALSE(other.agent->over());
}

TEST_F(HostGroupsTest, NoStationOfAGroupStartsBeforeAsManyOfItsMachinesAreThereAsItWants) {
    const auto& one = start_agent("worker-1");
    const auto& two = start_agent("worker-2");
    start_table("min = 2\n");
    const auto station = launch("sfi-1");
    table->place(0, one.place("17"));
    ASSERT_TRUE(eventually([&] { return table->view()[0].state == "up"; }));
    table->step();
    EXPECT_FALSE(station->ordered);
    EXPECT_EQ(table->waits_for(station), "1 of the machines of worker is there, and min = 2");
    EXPECT_EQ(table->view()[0].trouble, "no station starts: 1 of the machines of worker is there, and min = 2");
    table->place(1, two.place("18"));
    EXPECT_TRUE(eventually([&] { return pid_of(station) != 0; }));
    EXPECT_EQ(table->view()[0].trouble, "");
}

}  // namespace
}  // namespace weir::control
