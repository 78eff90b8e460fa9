// SPDX-License-Identifier: Apache-2.0
// What the catalogue knows, as plain rows: runs, streams, lumi blocks, files with their sums and
// states, marks of senders, ledgers. Names and states follow the hand-shake tables between ATLAS's
// event recorders and Tier-0; docs/formats/catalogue.md defines each one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/ids.hpp"

namespace weir::catalogue {

enum class OpenState { opened, closed };           // of a run, a stream, a lumi block
enum class FileState { opened, closed, deleted };  // deleted: the bytes are gone, the row stays
enum class TransferState { on_disk, transferred };
enum class FileHealth { sane, truncated, quarantined };
/// Of a lumi block of a stream, or of a run, at all its recorders. Complete: closed at each of them. Transferred: and
/// so is each of its files.
enum class Progress { opened, complete, transferred };

/// As they stand in the tables: "OPENED", "ONDISK", "SANE", ...
[[nodiscard]] std::string_view name(OpenState state) noexcept;
[[nodiscard]] std::string_view name(FileState state) noexcept;
[[nodiscard]] std::string_view name(TransferState state) noexcept;
[[nodiscard]] std::string_view name(FileHealth health) noexcept;
[[nodiscard]] std::string_view name(Progress progress) noexcept;
[[nodiscard]] std::optional<OpenState> parse_open_state(std::string_view text) noexcept;
[[nodiscard]] std::optional<FileState> parse_file_state(std::string_view text) noexcept;
[[nodiscard]] std::optional<TransferState> parse_transfer_state(std::string_view text) noexcept;
[[nodiscard]] std::optional<FileHealth> parse_file_health(std::string_view text) noexcept;
[[nodiscard]] std::optional<Progress> parse_progress(std::string_view text) noexcept;

/// What a recorder gives when it begins a run.
struct RunStart {
    RunNumber run{};
    std::string recorder;
    std::string mode;         // of recording: "receipt", "off", ...
    std::string relaxations;  // promises that are not kept on purpose ("no sync"); empty: none
    WallTime at{};
    bool again = false;  // it goes on although this recorder has closed it: it died before that was known
};

/// A run at one recorder. The run as a whole is closed when it is closed at each of them.
struct RunRow {
    RunNumber run{};
    std::string recorder;
    OpenState state = OpenState::opened;
    std::string mode;
    std::string relaxations;
    WallTime started{};
    std::optional<WallTime> ended;
    std::uint64_t blocks_closed_below = 0;  // as in BlocksClosed, which sets it; put_run() does not change it

    bool operator==(const RunRow&) const = default;
};

struct StreamRow {
    RunNumber run{};
    std::string recorder;
    std::string stream_type;
    std::string stream_name;
    OpenState state = OpenState::opened;

    bool operator==(const StreamRow&) const = default;
};

struct LumiBlockRow {
    RunNumber run{};
    std::string recorder;
    std::string stream_type;
    std::string stream_name;
    LumiBlock lumi_block{};
    OpenState state = OpenState::opened;

    bool operator==(const LumiBlockRow&) const = default;
};

/// Blocks that a recorder has closed: no file of them is open, and none is expected.
struct BlocksClosed {
    struct Block {
        std::string stream_type;
        std::string stream_name;
        LumiBlock lumi_block{};

        bool operator==(const Block&) const = default;
    };
    RunNumber run{};
    std::string recorder;
    std::uint64_t below = 0;    // every block below it of which this recorder has no row; 0: none
    std::vector<Block> blocks;  // of which it has rows
    WallTime at{};
};

/// A lumi block of a stream, over all recorders of its run.
struct BlockProgress {
    RunNumber run{};
    std::string stream_type;
    std::string stream_name;
    LumiBlock lumi_block{};
    Progress progress = Progress::opened;
    std::uint64_t files = 0;
    std::uint64_t events = 0;  // of closed files
    std::uint64_t bytes = 0;

    bool operator==(const BlockProgress&) const = default;
};

/// How far a reader of the catalogue has come with a run, a block or a file; the text is the reader's own.
struct ReaderState {
    RunNumber run{};
    std::string recorder;
    std::string stream_type{};  // with `lumi_block`
    std::string stream_name{};
    std::optional<LumiBlock> lumi_block{};  // of a block, else of the run
    std::optional<Guid> file{};             // of a file; the rest does not matter then
    std::string state;

    bool operator==(const ReaderState&) const = default;
};

/// How many events of a file are also in another stream, by its key (type_name). An event in three streams is counted
/// in the file of its second for the first, and in the file of its third for both: each pair once.
using SharedEvents = std::map<std::string, std::uint64_t>;

/// A sum of a whole file: lower-case hex with leading zeros.
struct FileSum {
    std::string algorithm;  // "adler32", "crc32c", ...
    std::string value;

    bool operator==(const FileSum&) const = default;
};

struct FileRow {
    Guid guid;
    std::string volume;  // directory of the disk
    std::string name;    // below it
    RunNumber run{};
    std::string recorder;
    std::string stream_type;
    std::string stream_name;
    LumiBlock lumi_block{};
    std::uint32_t sequence = 0;  // counts the files of a stream and block
    std::string format;          // of the file: "raw-6", "raw-2", ...
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;                   // of the file
    std::uint64_t event_bytes = 0;             // of its events alone: what the counters of a sequence add up
    std::optional<GlobalEventId> first_event;  // smallest and largest id in it, when the recorder knows
    std::optional<GlobalEventId> last_event;
    std::vector<FileSum> sums;  // sorted by algorithm when read
    FileState file_state = FileState::opened;
    TransferState transfer_state = TransferState::on_disk;
    FileHealth file_health = FileHealth::sane;
    WallTime opened{};
    std::optional<WallTime> closed;

    bool operator==(const FileRow&) const = default;
};

/// What becomes known when a file is closed.
struct FileClose {
    Guid guid;
    std::string volume;
    std::string name;  // the final one
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    std::uint64_t event_bytes = 0;
    std::optional<GlobalEventId> first_event;
    std::optional<GlobalEventId> last_event;
    std::vector<FileSum> sums;
    SharedEvents shared;
    FileHealth file_health = FileHealth::sane;
    WallTime at{};
};

/// What a recorder holds durably of one session of a sender; it outlives the files.
struct SessionMark {
    std::string recorder;
    RunNumber run{};
    std::string sender;
    std::string incarnation;       // of the sender's process
    std::uint32_t connection = 0;  // of the sender's several
    std::string durable;           // sequences as text, for example "1-40007,40010"; opaque here

    bool operator==(const SessionMark&) const = default;
};

/// received = stored + sum of rejected, once a run is closed.
struct LedgerRow {
    RunNumber run{};
    std::string recorder;
    std::string stream_type;
    std::string stream_name;
    std::uint64_t received = 0;  // copies
    std::uint64_t stored = 0;
    std::map<std::string, std::uint64_t> rejected;  // by reason

    bool operator==(const LedgerRow&) const = default;
};

/// How many events two streams of a run share, in the closed files of all its recorders.
struct StreamOverlap {
    RunNumber run{};
    std::string first;  // stream keys: type_name; first < second
    std::string second;
    std::uint64_t events_first = 0;
    std::uint64_t events_second = 0;
    std::uint64_t events_both = 0;

    bool operator==(const StreamOverlap&) const = default;
};

/// What is set must match; an empty query is every file.
struct FileQuery {
    std::optional<RunNumber> run{};
    std::optional<std::string> recorder{};
    std::optional<std::string> stream_type{};
    std::optional<std::string> stream_name{};
    std::optional<std::string> volume{};
    std::optional<LumiBlock> lumi_block{};
    std::optional<FileState> file_state{};
    std::optional<TransferState> transfer_state{};
    std::optional<FileHealth> file_health{};
};

}  // namespace weir::catalogue
