// SPDX-License-Identifier: Apache-2.0
// The engine `slurm`: one job of one node for each machine, in which the agent is the only process. A step of a job for
// each station would die with who launched it, an allocation of several nodes never gets a lost one back, and a job
// that is requeued takes long; so a job that has ended is followed by a fresh one. What squeue says of a job decides
// only whether another one is asked for: that an agent is there, it says itself. For a machine of a group Slurm chooses
// the node; which one it is, and at what address, is asked once its job runs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "engines/agent_command.hpp"
#include "engines/engine_command.hpp"
#include "engines/host_engine.hpp"
#include "engines/slurm_output.hpp"
#include "weir/base/report.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds left_out_for = 10min;
constexpr std::size_t left_out_max = 16;
constexpr auto slurm_deadline = 30s;  // a controller that is not there is named after 9 to 18 s

class SlurmEngine final : public HostEngine {
public:
    SlurmEngine(const HostEntry& host, const Clock& clock)
        : host_(host), clock_(clock), place_(host.place), job_(host.place.job) {}

    void bring(const std::string& token) override {
        token_ = token;
        if (job_.empty()) return looked_ ? submit() : look();
        doing_ = Doing::ask;
        std::vector<std::string> words{"squeue", "--noheader", "--jobs=" + job_};
        if (host_.in_group()) words.insert(words.end(), {"--states=all", "--format=%j %T %N (%r)"});
        else words.emplace_back("--format=%T (%r)");
        start(words, {});
    }

    void over() override {
        job_.clear();
        place_ = {{}, host_.pinned ? place_.node : std::string(), {}, {}};
    }

    void answered() override { answered_ = true; }

    void avoid(std::vector<std::string> nodes) override {
        avoided_ = std::move(nodes);
        std::erase_if(left_out_, [&](const LeftOut& node) { return clock_.now() >= node.until; });
        for (const auto& [node, until] : left_out_) avoided_.push_back(node);
    }
    const HostPlace* place() const override { return host_.in_group() ? &place_ : nullptr; }

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
            case Doing::locate: return located(*end);
            case Doing::resolve: return resolved(*end);
        }
        return std::nullopt;
    }

private:
    enum class Doing { look, ask, submit, cancel, locate, resolve };
    struct LeftOut {
        std::string node;
        SteadyTime until;
    };

    void start(const std::vector<std::string>& words, const std::string& input) {
        auto started = EngineCommand::start(words, input, EngineCommand::Environment::narrow, slurm_deadline, clock_);
        if (started) command_ = std::move(*started);
        else failed_ = std::move(started.error());
    }

    /// For a job of a run control before this one, or of a sbatch whose answer was lost.
    void look() {
        doing_ = Doing::look;
        start({"squeue", "--noheader", "--me", "--name=" + host_.start.job,
               host_.in_group() ? "--format=%i %T %N (%r)" : "--format=%i %n %T (%r)"},
              {});
    }

    void submit() {
        doing_ = Doing::submit;
        looked_ = false;  // it may be taken, and not be known
        std::vector<std::string> words{
            "sbatch",       "--parsable", "--nodes=1",          "--ntasks=1",
            "--no-requeue", "--chdir=/",  "--output=/dev/null", "--job-name=" + host_.start.job};
        if (host_.in_group()) choose_nodes(words);
        else words.push_back("--nodelist=" + host_.start.machine);
        words.insert(words.end(), host_.start.options.begin(), host_.start.options.end());
        const auto directory = shell_word(host_.start.directory);
        auto script = fmt::format("#!/bin/sh\nmkdir -p {0} && exec >>{0}/agent.log 2>&1 && exec {1}", directory,
                                  agent_command(host_, false));
        // Scripts of jobs are for their owner and administrators to read.
        if (!token_.empty()) script += fmt::format(" <<'TOKEN'\n{}\nTOKEN", token_);
        start(words, script + "\n");
    }

    /// For a machine of a group: the node that it had, if it keeps that; else any but those of other machines. It is a
    /// whole one, so that two machines are never on one node, unless the options say otherwise.
    void choose_nodes(std::vector<std::string>& words) const {
        const bool shares = std::ranges::any_of(host_.start.options, [](const std::string& option) {
            return option.starts_with("--exclusive") || option.starts_with("--oversubscribe") || option == "-s";
        });
        if (!shares) words.emplace_back("--exclusive");
        if (host_.pinned && !place_.node.empty()) return words.push_back("--nodelist=" + place_.node);
        if (!host_.start.constraint.empty()) words.push_back("--constraint=" + host_.start.constraint);
        if (!avoided_.empty()) words.push_back(fmt::format("--exclude={}", fmt::join(avoided_, ",")));
    }

    std::optional<Result<std::string>> seen(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        for (std::string_view rest = *end; !rest.empty();) {
            auto line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(line.size() + 1, rest.size()));
            const auto job = line.substr(0, line.find(' '));
            line.remove_prefix(std::min(job.size() + 1, line.size()));
            if (!is_job_number(job)) continue;
            if (host_.in_group()) {
                has_job(job);
                return known(parse_job_state(line));
            }
            const auto machine = line.substr(0, line.find(' '));
            if (machine != host_.start.machine) continue;
            line.remove_prefix(std::min(machine.size() + 1, line.size()));
            has_job(job);
            return asked(std::string(line));
        }
        submit();
        return std::nullopt;
    }

    void has_job(std::string_view job) {
        job_ = job;
        place_.job = job;
    }

    /// A node on which the agent does not come to be, where weir is missing say, is free again at once, and Slurm would
    /// give it again and again.
    void leave_out(const JobState& job) {
        if (answered_ || host_.pinned || !is_node_name(job.node)) return;
        if (left_out_.size() >= left_out_max) left_out_.erase(left_out_.begin());
        left_out_.push_back({job.node, clock_.now() + left_out_for});
        avoided_.push_back(job.node);
        note_ = fmt::format("job {} ended on {} without an agent that answered ({}), and {} is left out for {}; ", job_,
                            job.node, job.text, job.node, to_string(left_out_for));
    }

    std::optional<Result<std::string>> asked(const Result<std::string>& end) {
        // A job that has ended is not shown, and after a while it is not known any more.
        auto text = end ? without_line_end(*end) : std::string();
        bool gone = end ? text.empty() : end.error().context.contains("Invalid job id");
        if (!gone && end && host_.in_group()) {  // the number may be that of another one by now
            const auto name = text.substr(0, text.find(' '));
            gone = name != host_.start.job;
            text.erase(0, std::min(name.size() + 1, text.size()));
        }
        const auto job = gone || !host_.in_group() ? JobState{} : parse_job_state(text);
        if (job.has_ended()) leave_out(job);
        if (gone || job.has_ended()) {
            over();
            if (looked_) submit();
            else look();
            return std::nullopt;
        }
        if (!end) return std::unexpected(end.error());
        if (host_.in_group()) return known(job);
        const auto state = on_one_line(text, 200);
        if (!state.starts_with("RUNNING")) return fmt::format("its job {} is {}", job_, state);
        return no_agent(host_.address);
    }

    [[nodiscard]] std::string no_agent(const std::string& address) const {
        return fmt::format("its job {} runs, and no agent answers at {}; look at {}/agent.log there", job_, address,
                           host_.start.directory);
    }

    /// Of a group: how its job is.
    std::optional<Result<std::string>> known(const JobState& job) {
        if (!job.runs()) return fmt::format("its job {} is {}", job_, job.text);
        if (!is_node_name(job.node))
            return fail(Errc::corrupt, fmt::format("squeue printed \"{}\" for the node of job {}, which is no name",
                                                   on_one_line(job.node, 100), job_));
        if (job.node == place_.node && !place_.address.empty()) return no_agent(place_.address);
        if (host_.pinned && !place_.node.empty() && job.node != place_.node)
            return fail(Errc::corrupt, fmt::format("job {} runs on {} and was asked for {} alone; cancel it", job_,
                                                   job.node, place_.node));
        node_ = job.node;
        doing_ = Doing::locate;
        start({"scontrol", "--oneliner", "show", "node", node_}, {});
        return std::nullopt;
    }

    std::optional<Result<std::string>> located(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        const auto address = parse_node_address(*end);
        if (!address)
            return fail(Errc::corrupt, fmt::format("scontrol printed no address of {} that others can reach", node_));
        if (is_address_for_others(*address)) return is_at(*address);
        doing_ = Doing::resolve;
        start({"getent", "ahosts", *address}, {});
        return std::nullopt;
    }

    std::optional<Result<std::string>> resolved(const Result<std::string>& end) {
        const auto address = end ? parse_resolved(*end) : std::nullopt;
        if (!address)
            return fail(Errc::io,
                        fmt::format("no address of {} is known here that others can reach; scontrol show node "
                                    "{} has its NodeAddr",
                                    node_, node_));
        return is_at(*address);
    }

    std::optional<Result<std::string>> is_at(const std::string& address) {
        const auto port = std::string_view(host_.address).substr(host_.address.rfind(':'));
        place_ = {job_, node_, with_port(address, port), {}};
        return fmt::format("its job {} runs on {}, at {}", job_, node_, place_.address);
    }

    std::optional<Result<std::string>> submitted(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        auto job = without_line_end(*end);
        job.erase(std::min(job.find(';'), job.size()));  // the cluster
        if (!is_job_number(job))
            return fail(Errc::corrupt, fmt::format("sbatch printed \"{}\", which is no job", on_one_line(*end, 100)));
        has_job(job);
        looked_ = true;
        answered_ = false;
        return std::exchange(note_, {}) + fmt::format("job {} of Slurm shall start its agent", job_);
    }

    std::optional<Result<std::string>> cancelled(const Result<std::string>& end) {
        if (!end) return std::unexpected(end.error());
        const auto job = job_;
        over();
        return fmt::format("its job {} is cancelled", job);
    }

    const HostEntry& host_;
    const Clock& clock_;
    std::string token_{};
    HostPlace place_{};                   // of a group
    std::string node_{};                  // whose address is looked for
    std::vector<std::string> avoided_{};  // nodes
    std::string job_{};                   // the last that was asked for
    bool looked_ = false;                 // there is none that is not known
    bool answered_ = true;                // its agent, or nothing is known of that
    std::vector<LeftOut> left_out_{};     // nodes
    std::string note_{};                  // of what came before the next answer
    Doing doing_ = Doing::ask;
    std::optional<EngineCommand> command_;
    std::optional<Error> failed_;
};

}  // namespace

std::unique_ptr<HostEngine> make_slurm_engine(const HostEntry& host, const Clock& clock) {
    return std::make_unique<SlurmEngine>(host, clock);
}

}  // namespace weir::control
