// SPDX-License-Identifier: Apache-2.0
// A process that measures jobs when it is asked to (peers/serve.hpp): a fork of this one for weir's own candidates and
// the limits, another program for each peer. So all are measured by the same code under the same conditions, none
// shares an allocator or a cache line with another, and weir needs none of them to be built.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "peers/batches.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

struct JobDescription {
    std::string codec, subject;
    bool writes = true;
    std::uint64_t bytes = 0, hash = 0;
};

class JobProcess {
public:
    /// Another program; what it prints goes to `log`.
    [[nodiscard]] static Result<JobProcess> start(const std::vector<std::string>& arguments,
                                                  const std::filesystem::path& log, std::chrono::seconds patience);
    /// A fork of this process, which must have one thread.
    [[nodiscard]] static Result<JobProcess> fork_with(jobs::Jobs (*make)());

    JobProcess(JobProcess&& other) noexcept;
    JobProcess& operator=(JobProcess&&) = delete;
    ~JobProcess();  // ends it, and its copies with it

    [[nodiscard]] const std::string& about() const noexcept { return about_; }
    [[nodiscard]] const std::vector<std::string>& wrong() const noexcept { return wrong_; }
    [[nodiscard]] const std::vector<JobDescription>& jobs() const noexcept { return jobs_; }

    /// `job`: an index into jobs().
    [[nodiscard]] Result<jobs::Figures> run(std::size_t job, const jobs::Visit& visit);

private:
    JobProcess(pid_t pid, int socket) : pid_(pid), socket_(socket) {}
    [[nodiscard]] Result<> ask_for_list(std::chrono::seconds patience);
    [[nodiscard]] Result<std::string> line(std::chrono::seconds patience);

    pid_t pid_ = -1;
    int socket_ = -1;
    std::string about_, waiting_;
    std::vector<std::string> wrong_;
    std::vector<JobDescription> jobs_;
};

}  // namespace weir::app
