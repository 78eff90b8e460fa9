// SPDX-License-Identifier: Apache-2.0
// What can be chosen of the hand-off.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/digest/algorithm.hpp"
#include "weir/fixity/rate_limit.hpp"
#include "weir/fixity/reading.hpp"
#include "weir/handoff/priorities.hpp"

namespace weir::handoff {

/// What is compared with the catalogue's sum before a copy counts.
enum class Verification {
    sum,   // the destination's own sum of what it stored
    read,  // the bytes, read back by us: for a destination without sums, or whose sums are not to be trusted
    both,
};

struct TransferOptions {
    digest::Algorithm algorithm =
        digest::Algorithm::adler32;  // the catalogue has it, and the destination is asked for it
    Verification verification = Verification::sum;
    std::chrono::milliseconds answer{60'000};           // longest wait for one answer of the destination
    fixity::Cache read = fixity::Cache::direct;         // how the source is read
    fixity::RateLimit* limit = nullptr;                 // shared by all transfers; outlives them
    std::function<void(std::uint64_t bytes)> progress;  // bytes that were handed to a destination; any thread
};

struct DeletionOptions {
    unsigned above_percent = 100;    // of the volume in use; 100: nothing is deleted
    std::chrono::seconds age{3600};  // since it was verified
};

struct HandOffOptions {
    TransferOptions transfer;
    std::vector<std::string> patterns;  // of the directories at each destination, in their order
    Priorities priorities;
    std::optional<std::string> recorder;  // only files of this one; none: all of the catalogue
    unsigned concurrency = 2;             // files at once, of each destination
    Bytes rate{0};                        // of all copies together, bytes a second; 0: no limit
    std::chrono::milliseconds retry_first{1'000};
    std::chrono::milliseconds retry_most{600'000};
    std::chrono::milliseconds poll{1'000};  // how often the catalogue is looked at
    std::chrono::seconds alarm_age{3'600};  // a file that is closed longer than this and not handed over is an alarm
    unsigned tries = 3;                     // with `once`: of one file, and in sequence of a destination
    bool once = false;                      // what is closed now, then the end
    DeletionOptions deletion;
};

}  // namespace weir::handoff
