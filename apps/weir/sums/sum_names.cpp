// SPDX-License-Identifier: Apache-2.0
#include "sums/sum_names.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "sums/sum_settings.hpp"

namespace weir::app {
namespace {

constexpr std::size_t list_piece = 1U << 16;

/// A pipe can be read once.
fixity::Failure read_once(std::string_view what) {
    return {std::nullopt, 0, fmt::format("{} can be read only once; name it once", what)};
}

}  // namespace

bool is_stdin(std::string_view path) noexcept {
    return path == "-" || path == "/dev/stdin" || path == "/dev/fd/0" || path == "/proc/self/fd/0";
}

bool can_be_read_twice(const std::string& path) {
    struct stat status{};
    return path != "-" && ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::optional<fixity::Job> job_of(fixity::WalkItem item, bool follow) {
    using Kind = fixity::WalkItem::Kind;
    fixity::Job job;
    job.path = std::move(item.path);
    job.origin = follow ? fixity::Origin::listed : fixity::Origin::found;
    switch (item.kind) {
        case Kind::file: job.device = item.device; return job;
        case Kind::link:
            if (!follow) return std::nullopt;
            [[fallthrough]];  // a loop: reported once, it is nothing that could be read
        case Kind::special: job.settled = fixity::Status::skipped; break;
        case Kind::failure: job.settled = fixity::Status::error; break;
    }
    job.failure = std::move(item.failure);
    return job;
}

SumNames::SumNames(NameSettings settings) : settings_(std::move(settings)), stdin_taken_(is_stdin(settings_.list)) {
    struct stat status{};
    if (!settings_.list.empty() &&
        (stdin_taken_ ? ::fstat(STDIN_FILENO, &status) : ::stat(settings_.list.c_str(), &status)) == 0)
        static_cast<void>(is_taken(status));
}

std::optional<fixity::Job> SumNames::next() {
    while (true) {
        if (walk_) {
            if (auto job = next_in_walk()) return job;
            walk_.reset();
        }
        auto path = next_path();
        if (!path) return std::nullopt;
        struct stat status{};
        const bool is_there = (*path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path->c_str(), &status)) == 0;
        if (settings_.recurse && *path != "-" && is_there && S_ISDIR(status.st_mode)) {
            walk_.emplace(std::move(*path), settings_.follow);
            continue;
        }
        fixity::Job job;
        job.path = std::move(*path);
        if (is_stdin(job.path) && std::exchange(stdin_taken_, true)) job.failure = read_once("stdin");
        else if (is_there && is_taken(status)) job.failure = read_once("a FIFO");
        if (job.failure) job.settled = fixity::Status::error;
        if (is_there && S_ISREG(status.st_mode)) job.device = status.st_dev;
        return job;
    }
}

bool SumNames::is_taken(const struct stat& status) {
    return S_ISFIFO(status.st_mode) && !pipes_taken_.emplace(status.st_dev, status.st_ino).second;
}

std::optional<fixity::Job> SumNames::next_in_walk() {
    while (auto item = walk_->next()) {
        if (auto job = job_of(std::move(*item), settings_.follow)) return job;
        ++links_;
    }
    return std::nullopt;
}

std::optional<std::string> SumNames::next_path() {
    if (at_ < settings_.paths.size()) return settings_.paths[at_++];
    return settings_.list.empty() ? std::nullopt : next_in_list();
}

std::optional<std::string> SumNames::next_in_list() {
    fixity::Reading how;
    how.stop = stop_is_pending;
    const char end = settings_.list_zero ? '\0' : '\n';
    std::string name;
    while (true) {
        const auto size = std::min(list_buffer_.find(end, list_at_), list_buffer_.size()) - list_at_;
        name.append(list_buffer_, list_at_, size);
        list_at_ += size;
        if (list_at_ < list_buffer_.size() || (list_over_ && !name.empty())) {
            if (list_at_ < list_buffer_.size()) ++list_at_;
            if (name.empty()) continue;  // an empty line
            return name;
        }
        if (list_over_) return std::nullopt;
        if (!list_) {
            auto opened = fixity::InputFile::open(settings_.list, fixity::Origin::named, how);
            if (!opened) {
                list_failure_ = opened.error();
                return list_over_ = true, std::nullopt;
            }
            list_.emplace(std::move(*opened));
        }
        list_buffer_.resize(list_piece);
        list_at_ = 0;
        const auto got = list_->read(list_offset_, std::as_writable_bytes(std::span(list_buffer_)), how);
        if (!got) {
            if (!got.error().stopped) list_failure_ = got.error();
            list_buffer_.clear();
            return list_over_ = true, std::nullopt;  // half a name is none
        }
        list_buffer_.resize(*got);
        list_offset_ += *got;
        list_over_ = *got < list_piece;
    }
}

}  // namespace weir::app
