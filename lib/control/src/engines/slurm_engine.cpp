// SPDX-License-Identifier: Apache-2.0
// The engine `slurm`: one job of one node for each machine, in which the agent is the only process. A step of a job for
// each station would die with who launched it, an allocation of several nodes never gets a lost one back, and a job
// that is requeued takes long; so a job that has ended is followed by a fresh one. What squeue says of a job decides
// only whether another one is asked for: that an agent is there, it says itself.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "engines/agent_command.hpp"
#include "engines/engine_command.hpp"
#include "engines/host_engine.hpp"
#include "weir/base/report.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto slurm_deadline = 30s;  // a controller that is not there is named after 9 to 18 s

std::string without_line_end(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
    return text;
}

class SlurmEngine final : public HostEngine {
public:
    SlurmEngine(const HostEntry& host, const Clock& clock) : host_(host), clock_(clock) {}

    void bring(const std::string& token) override {
        token_ = token;
        if (job_.empty()) return looked_ ? submit() : look();
        doing_ = Doing::ask;
        start({"squeue", "--noheader", "--jobs=" + job_, "--format=%T (%r)"}, {});
    }

    void take_back() override {
        if (job_.empty()) return;
        doing_ = Doing::cancel;
        start({"scancel", job_}, {});
    }

    std::string remains() const override { return job_.empty() ? "" : fmt::format("job {}", job_); }

    std::optional<Result<std::string>> step() override {
        if (failed_) return std::unexpected(*std::exchange(failed_, std::nullopt));
        if (!command_) return std::string("nothing is to be done");
        auto end = command_->ended();
        if (!end) return std::nullopt;
        command_.reset();
        switch (doing_) {
            case Doing::look: return seen(*end);
            case Doing::ask: return asked(*end);
            case Doing::submit: return submitted(*end);
            case Doing::cancel: return cancelled(*end);
        }
        return std::nullopt;
    }

private:
    enum class Doing { look, ask, submit, cancel };

    void start(const std::vector<std::string>& words, const std::string& input) {
        auto started = EngineCommand::start(words, input, EngineCommand::Environment::narrow, slurm_deadline, clock_);
        if (started) command_ = std::move(*started);
        else failed_ = std::move(started.error());
    }

    [[nodiscard]] std::string job_name() const { return "weir-" + host_.name; }

    /// For a job of a run control before this one, or of a sbatch whose answer was lost.
    void look() {
        doing_ = Doing::look;
        start({"squeue", "--noheader", "--me", "--name=" + job_name(), "--format=%i %n %T (%r)"}, {});
    }

    void submit() {
        doing_ = Doing::submit;
        looked_ = false;  // it may be taken, and not be known
        std::vector<std::string> words{"sbatch",
                                       "--parsable",
                                       "--nodes=1",
                                       "--ntasks=1",
                                       "--no-requeue",
                                       "--chdir=/",
                                       "--output=/dev/null",
                                       "--job-name=" + job_name(),
                                       "--nodelist=" + host_.start.machine};
        words.insert(words.end(), host_.start.options.begin(), host_.start.options.end());
        const auto directory = shell_word(host_.start.directory);
        auto script = fmt::format("#!/bin/sh\nmkdir -p {0} && exec >>{0}/agent.log 2>&1 && exec {1}", directory,
                                  agent_command(host_, false));
        // Scripts of jobs are for their owner and administrators to read.
        if (!token_.empty()) script += fmt::format(" <<'TOKEN'\n{}\nTOKEN", token_);
        start(words, script + "\n");
    }

    static bool is_number(std::string_view text) {
        return !text.empty() && std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
    }

    std::optional<Result<std::string>> seen(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        for (std::string_view rest = *end; !rest.empty();) {
            auto line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            const auto job = line.substr(0, line.find(' '));
            line.remove_prefix(std::min(job.size() + 1, line.size()));
            const auto machine = line.substr(0, line.find(' '));
            if (!is_number(job) || machine != host_.start.machine) continue;
            line.remove_prefix(std::min(machine.size() + 1, line.size()));
            job_ = job;
            return asked(std::string(line));
        }
        submit();
        return std::nullopt;
    }

    std::optional<Result<std::string>> asked(const Result<std::string>& end) {
        // A job that has ended is not shown, and after a while it is not known any more.
        const bool gone = end ? without_line_end(*end).empty() : end.error().context.contains("Invalid job id");
        if (gone) {
            job_.clear();
            submit();
            return std::nullopt;
        }
        if (!end) return std::unexpected(end.error());
        const auto state = on_one_line(without_line_end(*end), 200);
        if (!state.starts_with("RUNNING")) return fmt::format("its job {} is {}", job_, state);
        return fmt::format("its job {} runs, and no agent answers at {}; look at {}/agent.log there", job_,
                           host_.address, host_.start.directory);
    }

    std::optional<Result<std::string>> submitted(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        auto job = without_line_end(*end);
        job.erase(std::min(job.find(';'), job.size()));  // the cluster
        if (!is_number(job))
            return fail(Errc::corrupt, fmt::format("sbatch printed \"{}\", which is no job", on_one_line(*end, 100)));
        job_ = std::move(job);
        looked_ = true;
        return fmt::format("job {} of Slurm shall start its agent", job_);
    }

    std::optional<Result<std::string>> cancelled(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        return fmt::format("its job {} is cancelled", std::exchange(job_, {}));
    }

    const HostEntry& host_;
    const Clock& clock_;
    std::string token_{};
    std::string job_{};    // the last that was asked for
    bool looked_ = false;  // there is none that is not known
    Doing doing_ = Doing::ask;
    std::optional<EngineCommand> command_;
    std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<HostEngine> make_slurm_engine(const HostEntry& host, const Clock& clock) {
    return std::make_unique<SlurmEngine>(host, clock);
}

}  // namespace weir::control
