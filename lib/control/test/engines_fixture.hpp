// SPDX-License-Identifier: Apache-2.0
// Engines with scripts in the place of ssh and of Slurm's commands. The real ones run in test/hosts/ssh_engine_test.py
// and slurm_engine_test.py.
#pragma once

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <thread>

#include "engines/agent_command.hpp"
#include "engines/engine_command.hpp"
#include "engines/host_engine.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_engines.hpp"

namespace weir::control {

using namespace std::chrono_literals;
using Environment = EngineCommand::Environment;

inline constexpr auto engine_patience = 120s;

/// What `look` gives once it gives something.
template <class Look>
auto awaited(const Look& look) {
    const auto until = std::chrono::steady_clock::now() + engine_patience;
    auto got = look();
    while (!got && std::chrono::steady_clock::now() < until) {
        std::this_thread::sleep_for(1ms);
        got = look();
    }
    EXPECT_TRUE(got) << "it did not come";
    return got;
}

class EnginesTest : public testing::Test {
protected:
    EnginesTest() {
        std::string pattern = testing::TempDir() + "engines-XXXXXX";
        folder = ::mkdtemp(pattern.data());
        path_before = std::getenv("PATH");
        ::setenv("PATH", (folder.native() + ":" + path_before).c_str(), 1);
    }
    ~EnginesTest() override {
        ::setenv("PATH", path_before.c_str(), 1);
        std::filesystem::remove_all(folder);
    }
    /// A command that the engine finds in PATH; it notes how it was called in `calls`.
    void script(const std::string& name, const std::string& then) const {
        const auto path = folder / name;
        std::ofstream(path) << "#!/bin/sh\necho \"" << name << " $*\" >>" << (folder / "calls").native() << "\n"
                            << then << "\n";
        ::chmod(path.c_str(), 0755);
    }
    [[nodiscard]] std::string text_of_file(const std::string& name) const {
        std::ifstream file(folder / name);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] std::size_t calls_of(const std::string& name) const {
        std::ifstream file(folder / "calls");
        std::size_t count = 0;
        for (std::string line; std::getline(file, line);)
            if (line.starts_with(name + " ")) ++count;
        return count;
    }
    static Result<std::string> run(const std::vector<std::string>& words, std::string_view input = {},
                                   std::chrono::milliseconds deadline = engine_patience) {
        auto command = EngineCommand::start(words, input, Environment::whole, deadline, system_clock());
        if (!command) return std::unexpected(command.error());
        return *awaited([&] { return command->ended(); });
    }
    static Result<std::string> outcome(HostEngine& engine) {
        return *awaited([&] { return engine.step(); });
    }
    static Partition partition_with(const std::string& hosts) {
        auto partition = parse_partition(hosts + stations, "p.toml");
        EXPECT_TRUE(partition) << partition.error().message();
        return partition.value_or(Partition{});
    }
    static std::string error_of(const std::string& hosts) {
        const auto partition = parse_partition(hosts + stations, "p.toml");
        return partition ? "" : partition.error().message();
    }

    static constexpr const char* stations =
        "[readout.ros-1]\n[supervise.l2sv]\n[assign.dfm]\n[build.sfi-1]\n[record.rec-1]\n";
    std::filesystem::path folder;
    std::string path_before;
};

inline const std::string one_slurm =
    "[hosts.h1]\naddress = \"10.77.0.11:7400\"\nengine = \"slurm\"\nmachine = \"node1\"\n"
    "[engine.slurm]\ndir = \"/data/weir\"\ncertificates = \"/etc/weir\"\noptions = [\"--exclusive\"]\n";
inline const std::string one_slurm_bare =
    "[hosts.h1]\naddress = \"127.0.0.1:7400\"\nengine = \"slurm\"\n[engine.slurm]\ndir = \"/data/weir\"\n";
inline const std::string one_ssh =
    "[hosts.h1]\naddress = \"127.0.0.1:7400\"\nengine = \"ssh\"\n[engine.ssh]\ndir = \"/data/weir\"\n";

}  // namespace weir::control
