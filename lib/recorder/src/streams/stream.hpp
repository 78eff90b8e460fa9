// SPDX-License-Identifier: Apache-2.0
// One stream of a run: which of its files an event goes to. A file ends by size, events, age or lumi
// block; several lumi blocks stay open at once, and each closes when it is over (LumiBlocks). A lumi block may have
// several files open, each on another volume: an event goes to the one that waits for the fewest bytes to be durable
// (decision 34).
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "accounts/lumi_blocks.hpp"
#include "closing/file_keeper.hpp"
#include "settlement/ledger.hpp"
#include "volume/stream_file.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/format.hpp"

namespace weir::recorder {

/// All calls from any thread.
class Stream {
public:
    Stream(StreamTag tag, event::Format format, const RecorderOptions& options, FileKeeper& keeper, LumiBlocks& blocks,
           const Clock& clock);

    /// full: no memory for it now; nowhere: no volume takes a file now, or too many wait to be closed.
    enum class Assigned { yes, full, nowhere, late };

    /// Assigns a place in the right file, opening it if need be. On `yes` the caller fills the place and
    /// completes it at `file`.
    [[nodiscard]] Assigned assign(const CopyRequest& request, Place& place, std::shared_ptr<StreamFile>& file);

    /// Closes what is due by age or grace time, and what takes no more events.
    void close_due();
    /// Closes everything; nothing is assigned afterwards. `run_ends`: nor by a later recorder of the run.
    void close_all(bool run_ends);

    [[nodiscard]] const StreamTag& tag() const noexcept { return tag_; }
    [[nodiscard]] event::Format format() const noexcept { return format_; }
    [[nodiscard]] Ledger& ledger() noexcept { return ledger_; }
    [[nodiscard]] const Ledger& ledger() const noexcept { return ledger_; }
    [[nodiscard]] std::uint64_t files_opened() const;
    [[nodiscard]] std::uint64_t files_open() const;

private:
    struct Open {  // of a lumi block
        std::vector<std::shared_ptr<StreamFile>> files;
        SteadyTime last_event;
        SteadyTime next_further;  // no volume took a further file: tried again then
    };
    struct Backlog {
        std::uint64_t bytes = 0;  // not durable yet
        StreamFile* file = nullptr;
    };

    [[nodiscard]] bool is_full(const StreamFile& file, std::uint64_t next, SteadyTime now) const;
    void find_usable(const Open* open, std::uint64_t length, SteadyTime now);
    void close_ended(Open& open);
    void open_further(Open& open, LumiBlock block, SteadyTime now);
    void close_files(Open& open, bool last_of_sequence);
    void forget_old_blocks(LumiBlock keep);
    /// Else a late event opens another file, and no file before can be marked as the last.
    [[nodiscard]] bool closed_block_is_final() const noexcept { return options_.late == LatePolicy::reject; }

    const StreamTag tag_;  // without ROB lists: those are each event's own
    const event::Format format_;
    const RecorderOptions& options_;
    FileKeeper& keeper_;
    LumiBlocks& blocks_;
    const Clock& clock_;
    Ledger ledger_;

    mutable std::mutex mutex_;
    std::map<LumiBlock, Open> open_;
    std::vector<Backlog> usable_;        // scratch of assign(): open files that take the event
    std::set<LumiBlock> closed_blocks_;  // the newest ones, to know what is late
    std::uint64_t files_opened_ = 0;
};

}  // namespace weir::recorder
