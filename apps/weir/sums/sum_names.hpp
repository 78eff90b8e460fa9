// SPDX-License-Identifier: Apache-2.0
// Which files are to be summed: those that were named, what is below named directories, and names from a
// list. One after the other, so that ten million names take no memory.
#pragma once

#include <sys/stat.h>

#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/fixity/sum_many.hpp"
#include "weir/fixity/tree_walk.hpp"

namespace weir::app {

struct NameSettings {
    std::vector<std::string> paths;
    bool recurse = false;
    bool follow = false;     // symbolic links met by recursion
    std::string list;        // a file with more names, "-" for stdin
    bool list_zero = false;  // they end with NUL, not with a line
};

/// "-", or stdin by a name that the system gives it.
[[nodiscard]] bool is_stdin(std::string_view path) noexcept;
/// A second reader sees all of it too, and takes nothing from the first.
[[nodiscard]] bool can_be_read_twice(const std::string& path);

class SumNames {
public:
    explicit SumNames(NameSettings settings);

    /// The next file, or something that recursion met and that is no file (settled already).
    [[nodiscard]] std::optional<fixity::Job> next();
    /// Symbolic links that were not followed.
    [[nodiscard]] std::uint64_t links() const noexcept { return links_; }
    /// Why the list could not be read to its end.
    [[nodiscard]] const std::optional<fixity::Failure>& list_failure() const noexcept { return list_failure_; }

private:
    [[nodiscard]] std::optional<std::string> next_path();
    [[nodiscard]] std::optional<std::string> next_in_list();
    [[nodiscard]] std::optional<fixity::Job> next_in_walk();
    /// It is a pipe that was given before: two readers would each get a part of it, unnoticed.
    [[nodiscard]] bool is_taken(const struct stat& status);

    NameSettings settings_;
    std::size_t at_ = 0;
    bool stdin_taken_ = false;
    std::set<std::pair<std::uint64_t, std::uint64_t>> pipes_taken_;  // device, inode
    std::optional<fixity::TreeWalk> walk_;
    std::uint64_t links_ = 0;
    std::optional<fixity::InputFile> list_;
    std::string list_buffer_;
    std::size_t list_at_ = 0;
    std::uint64_t list_offset_ = 0;
    bool list_over_ = false;
    std::optional<fixity::Failure> list_failure_;
};

/// What a walk met, as a job: a file to read, or an outcome that stands already. Nothing: a link to pass over.
[[nodiscard]] std::optional<fixity::Job> job_of(fixity::WalkItem item, bool follow);

}  // namespace weir::app
