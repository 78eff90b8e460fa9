// SPDX-License-Identifier: Apache-2.0
// The streams of a run, each made when its first event comes; none is removed before the end.
#pragma once

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <vector>

#include "streams/stream.hpp"
#include "streams/stream_thread.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/recorder/recorder_options.hpp"
#include "weir/recorder/recorder_summary.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::recorder {

/// Any thread.
class StreamSet {
public:
    struct Entry {
        std::unique_ptr<Stream> stream;
        std::unique_ptr<StreamThread> thread;  // modes original and parallel
    };

    StreamSet(const RecorderOptions& options, FileKeeper& keeper, LumiBlocks& blocks, const Clock& clock);

    /// What is returned stays until the set is gone; else, why the stream takes no event of this format.
    [[nodiscard]] std::expected<Entry*, wire::RejectReason> find_or_make(const StreamTag& tag, event::Format format);
    /// The ledger of each tag's stream; `otherwise` where there is none.
    [[nodiscard]] std::vector<Ledger*> ledgers_of(std::span<const StreamTag> tags, Ledger& otherwise);
    [[nodiscard]] std::vector<const Ledger*> ledgers() const;
    /// The streams of those copies before `copy` that are stored; `stored`: bit n is copy n.
    [[nodiscard]] datafile::EarlierStreams earlier(std::span<Entry* const> streams, std::uint64_t stored,
                                                   std::uint16_t copy);
    /// In the order of their names.
    [[nodiscard]] std::vector<StreamSummary> summary() const;

    /// Closes what is due by time.
    void close_due();
    /// What is queued is done first.
    void end_threads();
    /// Nothing is assigned afterwards; `run_ends` as of Stream.
    void close_all(bool run_ends);

private:
    const RecorderOptions& options_;
    FileKeeper& keeper_;
    LumiBlocks& blocks_;
    const Clock& clock_;

    mutable std::shared_mutex mutex_;
    std::map<std::string, Entry, std::less<>> streams_;
    std::mutex earlier_mutex_;
    std::map<std::vector<const Stream*>, datafile::EarlierStreams> earlier_;  // each list once
};

}  // namespace weir::recorder
