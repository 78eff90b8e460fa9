// SPDX-License-Identifier: Apache-2.0
// The records of journal and index files (docs/formats/journal.md): which event is on stable storage,
// in which file, where, from whom. Bytes in, bytes out; the files themselves are JournalWriter's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/guid.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/event/format.hpp"

namespace weir::datafile {

struct FileOpened {
    Guid guid;
    RunNumber run{};
    LumiBlock lumi_block{};
    std::uint32_t sequence = 0;  // of the file; starts at 1
    event::Format format = event::Format::event_5_0;
    std::uint8_t file_version = 6;
    bool has_adler32 = true;
    std::uint32_t blocks_before = 0;  // data block number before the first event: it runs on over a sequence
    std::uint64_t events_before = 0;
    std::uint64_t bytes_before = 0;  // of event data in the sequence
    std::string stream_type, stream_name;
    std::string name;  // without ending
    std::vector<std::byte> start;
    /// Several files of its sequence may be open at once: its block numbers count within the file, from 1, and all that
    /// is "before" is 0.
    bool counts_alone = false;

    bool operator==(const FileOpened&) const = default;
};

struct SessionDeclared {
    std::uint32_t number = 0;  // valid in this journal or index file only
    std::uint64_t incarnation = 0;
    std::uint32_t connection = 0;
    RunNumber run{};
    std::string sender;

    bool operator==(const SessionDeclared&) const = default;
};

/// The streams, by their keys, that earlier copies of an event went to. Few lists serve many events: they are shared.
struct EarlierStreams {
    std::shared_ptr<const std::vector<std::string>> keys;  // nothing: none

    bool operator==(const EarlierStreams& other) const {
        return keys == other.keys || (keys && other.keys && *keys == *other.keys);
    }
};

struct StoredCopy {
    Guid guid;
    std::uint64_t offset = 0;  // of the separator
    std::uint64_t length = 0;  // of the event
    std::uint32_t block_number = 0;
    std::uint32_t adler32 = 0;
    std::uint32_t crc32c = 0;
    std::uint32_t placed_crc32c = 0;
    GlobalEventId event{};
    Level1Id level1{};
    std::uint32_t session = 0;
    Sequence sequence{};
    std::uint16_t copy = 0, copies = 1;
    LumiBlock lumi_block{};
    std::uint64_t received_ns = 0;
    EarlierStreams earlier;

    bool operator==(const StoredCopy&) const = default;
};

/// The content of a file, from its copies together.
struct FileContent {
    std::optional<GlobalEventId> first_event, last_event;  // smallest and largest
    std::map<std::string, std::uint64_t> shared;           // stream: events of the file that it got earlier

    void add(const StoredCopy& copy);
    bool operator==(const FileContent&) const = default;
};

struct FileClosed {
    Guid guid;
    std::uint64_t size = 0;
    std::uint32_t adler32 = 0, crc32c = 0;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;  // of event data
    std::vector<std::byte> end;
    bool cut = false;       // it lost what was not acknowledged: there may be a gap in block numbers behind it
    FileContent content{};  // no part of the record: it follows from the copies before it

    bool operator==(const FileClosed&) const = default;
};

/// At the head of a journal that follows another: how much of an open file stands in those before, so that one that
/// was lost is noticed.
struct FileProgress {
    Guid guid;
    std::uint64_t events = 0;
    std::uint64_t end = 0;  // offset behind the last of them

    bool operator==(const FileProgress&) const = default;
};

/// The last record of a journal that was not the last: the next was there before anything was acknowledged in it.
struct JournalContinues {
    std::uint32_t next = 0;  // its number

    bool operator==(const JournalContinues&) const = default;
};

/// The first record of what a round appends, to a journal or an index: in a journal everything before it was synced by
/// then. So damage that a commit follows is of what was synced. Damage behind the last one is of a write that a crash
/// tore, or of a round that was acknowledged: the journal cannot distinguish them.
struct JournalCommit {
    std::uint64_t offset = 0;  // of itself

    bool operator==(const JournalCommit&) const = default;
};

/// The first record of a journal: on stable storage before the journal has its name, so that an empty or headless one
/// is a damaged one, never a young one.
struct JournalBegins {
    std::uint32_t number = 0;  // of the journal, as in its name
    RunNumber run{};
    Guid boot{};    // of the system that wrote it; see system_boot()
    Guid volume{};  // of the directory, as its marker has it; zeros: it has none
    std::string recorder{};

    bool operator==(const JournalBegins&) const = default;
};

/// Copies of a stream that a recorder has rejected since the run began, whichever of its processes: totals, which never
/// fall, so that the highest is right wherever it stands. An answer goes to a sender only when its copies are in one.
struct RejectedCopies {
    RunNumber run{};
    std::string recorder, stream_type, stream_name;
    std::map<std::string, std::uint64_t> copies;  // by reason

    bool operator==(const RejectedCopies&) const = default;
};

using JournalRecord = std::variant<FileOpened, SessionDeclared, StoredCopy, FileClosed, FileProgress, JournalContinues,
                                   JournalCommit, JournalBegins, RejectedCopies>;

inline constexpr std::uint32_t journal_magic = 0x31524a57;  // "WJR1"
inline constexpr std::size_t journal_header_size = 16;

/// Appends the encoded record.
void encode(const JournalRecord& record, std::vector<std::byte>& to);

/// The sum that ties an event's bytes to their place.
[[nodiscard]] std::uint32_t placed_crc32c(const Guid& guid, std::uint64_t offset, std::uint32_t crc32c,
                                          std::uint64_t length);

/// Where the valid records of a journal or index end, and why there.
struct JournalEnd {
    std::uint64_t offset = 0;  // of the first byte that is not part of a valid record
    bool clean = true;         // the data ends exactly there
    std::string reason;        // when not clean: what is wrong at `offset`
};

/// Calls `each` for every valid record in order; unknown kinds are skipped. `each` returns false to stop.
JournalEnd for_each_record(ConstData data, const std::function<bool(const JournalRecord&)>& each);

}  // namespace weir::datafile
