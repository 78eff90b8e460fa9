// SPDX-License-Identifier: Apache-2.0
// The state and the counts of a recorder, while it runs and when it has ended.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/duration_histogram.hpp"
#include "weir/base/ids.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::recorder {

enum class VolumeState {
    good,
    full,    // no new files and events until there is space again
    failed,  // out of use; tried again, unless it hangs
};

/// Copies of a stream: received = stored + rejected + in hand.
struct CopyCounts {
    std::uint64_t received = 0, stored = 0, bytes_stored = 0;
    std::array<std::uint64_t, wire::reject_reason_count> rejected{};  // by wire::index(reason)
    std::uint64_t returned = 0;  // their file failed; they come again, and are then received once more

    /// With those that were returned: neither is stored.
    [[nodiscard]] std::uint64_t rejected_total() const noexcept {
        std::uint64_t sum = returned;
        for (const auto n : rejected) sum += n;
        return sum;
    }
    [[nodiscard]] std::uint64_t in_hand() const noexcept { return received - stored - rejected_total(); }
};

struct VolumeSummary {
    std::string directory;
    VolumeState state = VolumeState::good;
    Bytes free_space;
    Durations syncs{};  // rounds: data of every file that has some, and the journal, to the disk
};

struct StreamSummary {
    std::string name;  // type_name
    CopyCounts copies;
    std::uint64_t files = 0;  // that were opened
    std::uint64_t files_open = 0;
};

/// How far one duty of the recorder has come. It hangs when it has work and `done` does not rise.
struct DutyProgress {
    const char* name;
    bool has_work = false;
    std::uint64_t done = 0;
};

struct RecorderSummary {
    RunNumber run{};
    delivery::ReceiverStats receiver;
    std::map<std::string, std::uint64_t>
        events_rejected;                 // by reason; events received = acknowledged + these + in hand
    std::vector<StreamSummary> streams;  // in the order of their names
    std::uint64_t copies_received = 0, copies_stored = 0, bytes_stored = 0;
    std::map<std::string, std::uint64_t> copies_rejected;  // by reason
    std::uint64_t copies_in_hand = 0;
    std::uint64_t files = 0;          // closed
    std::uint64_t events_stored = 0;  // with unique_events: of the run, whichever process recorded them
    std::chrono::nanoseconds running{0};
    Bytes buffers_in_use, memory_limit, free_space;
    std::uint64_t segments_free = 0, segments = 0;
    std::uint64_t catalogue_changes_waiting = 0;  // for the shared catalogue
    std::uint64_t sync_rounds = 0;
    std::chrono::nanoseconds syncing{0}, slowest_sync{0};
    Durations answers{};  // of one event in 64: from its arrival, whole, to its acknowledgement
    std::vector<VolumeSummary> volumes;
    std::uint64_t events_unchecked =
        0;                // taken without looking for their duplicates, because the ids took all of unique_memory_max
    bool paused = false;  // no volume takes events: the senders wait
    std::uint64_t files_waiting = 0;   // to be closed
    bool waits_for_closing = false;    // so many that no new ones are begun: senders of events for new ones wait
    std::vector<DutyProgress> duties;  // in an order that does not change
    std::optional<std::chrono::seconds> until_full;  // at the rate of the last minutes; nothing: nothing is written
};

}  // namespace weir::recorder
