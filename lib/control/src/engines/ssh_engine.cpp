// SPDX-License-Identifier: Apache-2.0
// The engine `ssh`: the system's client starts the agent in the background, in a session of its own, and has ended when
// the agent is there. So neither the end of the client, nor that of run control, nor a connection that breaks ends it.
#include <fmt/format.h>

#include "engines/agent_command.hpp"
#include "engines/engine_command.hpp"
#include "engines/host_engine.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto ssh_deadline = 45s;  // a machine may join for 30 s

class SshEngine final : public HostEngine {
public:
    SshEngine(const HostEntry& host, const Clock& clock) : host_(host), clock_(clock) {}

    void bring(const std::string& token) override {
        auto words = host_.start.command;
        // What a user has set in the command goes before it: of an option that is given twice, ssh takes the first.
        for (const auto* option : {"-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5", "--"})
            words.emplace_back(option);
        words.push_back(host_.start.machine);
        words.push_back(agent_command(host_, true));
        auto started = EngineCommand::start(words, token, EngineCommand::Environment::whole, ssh_deadline, clock_);
        if (started) command_ = std::move(*started);
        else failed_ = std::move(started.error());
    }

    void take_back() override {}
    std::string remains() const override { return {}; }

    std::optional<Result<std::string>> step() override {
        if (failed_) return std::unexpected(*std::exchange(failed_, std::nullopt));
        if (!command_) return std::string("nothing is to be done");
        auto end = command_->ended();
        if (!end) return std::nullopt;
        command_.reset();
        if (!*end) return std::unexpected(std::move(end->error()));
        return fmt::format("its agent was started by ssh {}", host_.start.machine);
    }

private:
    const HostEntry& host_;
    const Clock& clock_;
    std::optional<EngineCommand> command_;
    std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<HostEngine> make_ssh_engine(const HostEntry& host, const Clock& clock) {
    return std::make_unique<SshEngine>(host, clock);
}

}  // namespace weir::control
