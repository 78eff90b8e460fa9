// SPDX-License-Identifier: Apache-2.0
// An engine, as it is asked for one machine. Every call returns at once: what takes time is a command that is looked at
// with step().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"
#include "weir/control/partition.hpp"

namespace weir::control {

/// One thread.
class HostEngine {
public:
    virtual ~HostEngine() = default;  // kills its command, if one runs; what that has started stays
    /// Begins to start the agent of the machine, or to find out why it is not there yet. Not while something is begun.
    /// `token`: a join token as text, for a machine that joins; else empty. It goes there by stdin alone.
    virtual void bring(const std::string& token) = 0;
    /// Begins to take back what was begun for the machine: run control ends, and its agent does not answer.
    virtual void take_back() = 0;
    /// An agent answers.
    virtual void answered() {}
    /// Its agent ends by itself, and with it what was begun.
    virtual void over() {}
    /// Nodes that other machines of the partition have: none of them is asked for from now on.
    virtual void avoid(std::vector<std::string> /*nodes*/) {}
    /// Where it is, as far as the engine has found out; nullptr: the partition file says that.
    [[nodiscard]] virtual const HostPlace* place() const { return nullptr; }
    /// What is not known to be taken back, for a person who has to do it: "job 17". Empty: nothing that could be.
    [[nodiscard]] virtual std::string remains() const = 0;
    /// What came of it, once it is known: in words, or the error as one line. Nothing: it goes on.
    [[nodiscard]] virtual std::optional<Result<std::string>> step() = 0;
};

/// `host` is complete (see set_engine()), and outlives it, as the clock does.
[[nodiscard]] std::unique_ptr<HostEngine> make_ssh_engine(const HostEntry& host, const Clock& clock);
[[nodiscard]] std::unique_ptr<HostEngine> make_slurm_engine(const HostEntry& host, const Clock& clock);

}  // namespace weir::control
