// SPDX-License-Identifier: Apache-2.0
#include "files/file_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "cross_check.hpp"
#include "files/unchanged.hpp"
#include "judge.hpp"
#include "manifest/manifest_marks.hpp"
#include "weir/digest/summer.hpp"

namespace weir::fixity {
namespace {

void add_algorithm(std::vector<digest::Algorithm>& to, digest::Algorithm algorithm) {
    if (std::ranges::find(to, algorithm) == to.end()) to.push_back(algorithm);
}

bool writes_attributes(AttributeUse use) { return use == AttributeUse::write || use == AttributeUse::replace; }

/// Two current attributes have different sums of one algorithm: one of them is wrong, or both.
bool contradictory(const std::vector<StoredSum>& stored) {
    return std::ranges::any_of(stored, [&](const StoredSum& one) {
        return one.current && std::ranges::any_of(stored, [&](const StoredSum& other) {
                   return other.current && other.sum.algorithm() == one.sum.algorithm() && other.sum != one.sum;
               });
    });
}

/// The sums from attributes when there is a current one of each algorithm.
std::optional<std::vector<digest::Digest>> taken_sums(const FileWork& work) {
    std::vector<digest::Digest> sums;
    for (const auto algorithm : work.algorithms) {
        const auto found = std::ranges::find_if(
            work.result.attributes.stored, [&](const auto& s) { return s.current && s.sum.algorithm() == algorithm; });
        if (found == work.result.attributes.stored.end()) return std::nullopt;
        sums.push_back(found->sum);
    }
    return sums;
}

}  // namespace

const char* name(Status status) noexcept {
    switch (status) {
        case Status::ok: return "ok";
        case Status::mismatch: return "mismatch";
        case Status::missing: return "missing";
        case Status::error: return "error";
        case Status::changed: return "changed";
        case Status::unverified: return "unverified";
        case Status::stale: return "stale";
        case Status::unchanged: return "unchanged";
        case Status::extra: return "extra";
        case Status::moved: return "moved";
        case Status::duplicate: return "duplicate";
        case Status::skipped: return "skipped";
        case Status::stopped: return "stopped";
    }
    return "?";
}

FileWork begin_file(Job job, const Reading& how) {
    FileWork work;
    auto& result = work.result;
    result.path = std::move(job.path);
    result.origin = job.origin;
    result.expected = std::move(job.expected);
    if (job.settled) {
        result.status = *job.settled;
        result.failure = std::move(job.failure);
        return work;
    }
    auto file = InputFile::open(result.path, job.origin, how);
    if (!file) {
        // A file that recursion found was there a moment ago: it is not missing, it was removed meanwhile.
        const bool absent = file.error().os_errno == ENOENT || file.error().os_errno == ENOTDIR;
        result.status = absent && job.origin != Origin::found ? Status::missing : Status::error;
        result.failure = std::move(file.error());
        return work;
    }
    if (how.leave_out && how.leave_out(file->stamp())) {
        result.stamp = file->stamp();
        result.status = job.origin == Origin::named ? Status::error : Status::skipped;
        if (job.origin == Origin::named) result.failure = Failure{std::nullopt, 0, "it is where the sums go"};
        return work;
    }
    work.algorithms = std::move(job.algorithms);
    work.asked = work.algorithms.size();
    work.block = job.block;
    work.cross_check = how.cross_check;
    work.attributes = job.attributes;
    if (file->is_stream()) {
        work.attributes = AttributeUse::none;
        if (writes_attributes(job.attributes)) {
            result.attributes.not_stored = true;
            result.attributes.warnings.push_back(
                "it is no regular file, so its sums cannot be stored in attributes of it");
        }
    }
    result.stamp = file->stamp();
    result.read_through = file->cache();
    if (const auto* expected = result.expected.get()) {
        for (const auto& sum : expected->sums) add_algorithm(work.algorithms, sum.algorithm());
        for (const auto& sum : expected->one_of) add_algorithm(work.algorithms, sum.algorithm());
        if (!expected->blocks.empty()) work.block = expected->blocks.block;
        work.asked = work.algorithms.size();  // a check has asked for what the manifest has
        if (job.trust && is_unchanged(*file, *expected, *job.trust)) {
            result.status = Status::unchanged;
            result.size = file->stamp().size;
            result.attributes.taken = true;
            return work;
        }
    }
    const auto blocks = work.block > 0 && !file->is_stream() ? (result.stamp.size + work.block - 1) / work.block : 0;
    if (blocks > blocks_in_file_max) {  // the manifest would have a map that no check reads
        result.status = Status::error;
        result.failure =
            Failure{std::nullopt, 0,
                    fmt::format("it has {} blocks; choose larger blocks, there can be {}", blocks, blocks_in_file_max)};
        return work;
    }
    if (work.attributes != AttributeUse::none) {
        const auto& stored = result.attributes.stored =
            read_attributes(file->fd(), file->stamp(), result.attributes.warnings);
        if (work.attributes == AttributeUse::read) {
            const bool doubtful = contradictory(stored);
            if (doubtful)
                result.attributes.warnings.push_back(
                    "its attributes contradict each other; it was read, --xattr verify names the wrong ones");
            if (auto sums = taken_sums(work); sums && work.block == 0 && !doubtful) {
                result.sums = std::move(*sums);
                result.size = file->stamp().size;
                result.status = Status::unverified;
                result.attributes.taken = true;
                return work;
            }
        } else {
            // Sums to verify, or to keep beside new ones. A stale sum is not worth a reader's time, unless
            // it is to be replaced: then nothing wrong may stay behind.
            for (const auto& one : stored) {
                if (one.current || work.attributes == AttributeUse::replace)
                    add_algorithm(work.algorithms, one.sum.algorithm());
            }
        }
    }
    work.file.emplace(std::move(*file));
    return work;
}

ReadOutcome sum_whole(const FileWork& work, PieceReader& reader) {
    if (work.cross_check) return sum_twice(work, reader);
    digest::SumSet sums(work.algorithms);
    std::optional<BlockSummer> blocks;
    if (work.block > 0) blocks.emplace(work.block);
    auto bytes = reader.read(*work.file, 0, work.file->stamp().size, [&](ConstData data) {
        sums.add(data);
        if (blocks) blocks->add(data);
    });
    if (!bytes) return {std::move(bytes), {}, {}};
    return {bytes, sums.values(), blocks ? blocks->finish() : std::vector<std::uint32_t>{}};
}

FileSum finish_file(FileWork work, ReadOutcome outcome, const Clock& clock) {
    auto& result = work.result;
    if (!work.file) return std::move(result);
    const auto& file = *work.file;
    if (!outcome.bytes) {
        result.status = outcome.bytes.error().stopped ? Status::stopped : Status::error;
        result.failure = std::move(outcome.bytes.error());
        return std::move(result);
    }
    result.size = *outcome.bytes;
    if (file.has_stamp()) {
        const auto after = stamp_of(file.fd());
        const auto changed = [&](std::string text) {
            result.status = Status::changed;
            result.failure = Failure{result.size, 0, std::move(text)};
            return std::move(result);
        };
        if (!after) {
            result.status = Status::error;
            result.failure = Failure{result.size, after.error().os_errno, after.error().message()};
            return std::move(result);
        }
        if (*after != file.stamp()) return changed(difference(file.stamp(), *after));
        if (!file.is_stream() && result.size != after->size)
            return changed(fmt::format("it has {} bytes, but only {} could be read", after->size, result.size));
    }
    result.blocks = {work.block, std::move(outcome.block_sums)};
    judge(result, outcome.sums, work.attributes);
    // Never over a current sum that differs: that would hide damage.
    if (writes_attributes(work.attributes) && (result.status == Status::ok || result.status == Status::unverified))
        result.attributes.not_stored =
            !write_attributes(file.fd(), outcome.sums, file.stamp(), clock, result.attributes.warnings);
    outcome.sums.erase(outcome.sums.begin() + static_cast<std::ptrdiff_t>(work.asked), outcome.sums.end());
    result.sums = std::move(outcome.sums);
    return std::move(result);
}

}  // namespace weir::fixity
