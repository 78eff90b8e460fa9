// SPDX-License-Identifier: Apache-2.0
// The messages between the stations of a partition, as values and as bytes. Bytes only; lib/messaging carries them.
// docs/formats/dataflow-protocol.md describes every field. Level-1 ids wrap at 32 bits; the global id never does, and
// names an event for good.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::wire {

inline constexpr std::size_t request_events_max = 64;
inline constexpr std::size_t request_robs_max = 4096;
inline constexpr std::size_t clear_events_max = 4096;
inline constexpr std::size_t tickets_max = 256;        // of one message
inline constexpr std::size_t trigger_words_max = 256;  // of one event
inline constexpr std::size_t triggers_in_message_max = 2048;
inline constexpr std::size_t regions_max = 4096;
inline constexpr std::size_t fragments_seen_max = 2048;
inline constexpr std::size_t level2_result_max = 64 * 1024;

/// Which of two level-1 ids came first, over the wrap of the counter: negative when `a` is older.
[[nodiscard]] constexpr std::int32_t level1_distance(Level1Id a, Level1Id b) noexcept {
    return static_cast<std::int32_t>(number(a) - number(b));
}

/// The data about an event before it is built; sent from the supervisor to the builder.
struct EventTicket {
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::uint32_t bunch_crossing_id = 0;
    std::uint32_t trigger_type = 0;
    std::uint32_t seconds = 0, nanoseconds = 0;  // of the bunch crossing: Unix time
    /// The time since its trigger arrived, up to the moment at which this ticket was sent. Each station adds the time
    /// that the ticket spent there, so no clock of one machine is compared with that of another.
    std::chrono::microseconds age{0};
    /// What the detector counts, less level1_id: its counters are shorter, or begin again
    /// (docs/formats/partition-file.md).
    std::uint32_t detector_shift = 0;
    bool reassigned = false;  // was given to a builder before, which may have sent it on
    bool forced = false;      // accepted without a decision (its processing unit died, or was too late)
    std::vector<std::uint32_t> level1_words{};
    std::vector<std::uint32_t> level2_words{};

    /// The level-1 id as the detector counts it: that of the event's header and of its fragments.
    [[nodiscard]] Level1Id detector_level1_id() const noexcept { return Level1Id{number(level1_id) + detector_shift}; }

    bool operator==(const EventTicket&) const = default;
};

enum class RequestKind : std::uint8_t { level2 = 1, building = 2 };

struct DataRequest {
    std::uint64_t request = 0;  // the requesting station's number; the data repeats it
    RequestKind kind = RequestKind::building;
    std::vector<Level1Id> events{};  // each is answered by a message of its own
    std::vector<SourceId> robs{};    // empty: all that the readout has

    bool operator==(const DataRequest&) const = default;
};

enum class RobState : std::uint8_t {
    here = 0,
    not_yet = 1,  // the event has not come to this readout; re-request
    cleared = 2,  // it was there, and is gone
    unknown = 3,  // this readout has no such ROB
    lost = 4,     // the readout knows that it will never come
};

struct RobPart {
    SourceId source{};
    RobState state = RobState::here;
    std::uint32_t size = 0;  // bytes in the data that follows; 0 unless it is here

    bool operator==(const RobPart&) const = default;
};

/// The answer for one event. Behind this head stand the ROBs that are here, in the order of `robs`: whole fragments.
struct DataHead {
    std::uint64_t request = 0;
    Level1Id level1_id{};
    std::vector<RobPart> robs{};

    bool operator==(const DataHead&) const = default;
};

struct DataView {
    DataHead head;
    ConstData data;  // exactly the bytes that head.robs announce
};

/// "These events are done with." Also everything older than `oldest`, so that a lost readout finds its place again.
struct Clear {
    Level1Id oldest{};
    std::vector<Level1Id> events{};

    bool operator==(const Clear&) const = default;
};

struct Assign {
    std::vector<EventTicket> events{};
    bool operator==(const Assign&) const = default;
};

enum class EventOutcome : std::uint8_t {
    stored = 1,      // final downstream: on stable storage
    rejected = 2,    // final downstream: no filter selected it
    incomplete = 3,  // stored, with empty ROBs in place of lost ones
    failed = 4,      // could not be built; the reason is in the builder's reports
    refused = 5,     // final downstream: a filter or recorder did not take it; the reason is in the builder's ledger
};

struct EventEnd {
    GlobalEventId global_id{};
    EventOutcome outcome = EventOutcome::stored;
    bool operator==(const EventEnd&) const = default;
};

/// Credit is a total since the builder's epoch began: how many events it may have been assigned. It never falls, so a
/// repeated or late message does no harm.
struct Built {
    std::uint64_t credit = 0;
    std::vector<EventEnd> events{};
    bool operator==(const Built&) const = default;
};

struct Level2Event {
    EventTicket ticket{};
    std::vector<SourceId> regions{};  // ROBs in the regions of interest
    bool operator==(const Level2Event&) const = default;
};
struct Level2Task {
    std::vector<Level2Event> events{};
    bool operator==(const Level2Task&) const = default;
};

struct Level2Verdict {
    GlobalEventId global_id{};
    bool accepted = false;
    bool forced = false;                        // the selection failed or was too late
    std::vector<std::uint32_t> level2_words{};  // into the event's header
    bool operator==(const Level2Verdict&) const = default;
};
struct Level2Decision {
    std::uint64_t credit = 0;  // as in Built
    std::vector<Level2Verdict> events{};
    bool operator==(const Level2Decision&) const = default;
};

/// The findings of a selection, opaque: they become the data of one ROB of the pseudo-ROS.
struct Level2Result {
    Level1Id level1_id{};
    GlobalEventId global_id{};
    std::vector<std::byte> result{};
    bool operator==(const Level2Result&) const = default;
};

/// Supervisor -> DFM: these shall be built, those can be cleared.
struct Accept {
    std::vector<EventTicket> accepted{};
    std::vector<Level1Id> rejected{};
    bool operator==(const Accept&) const = default;
};
struct AcceptCredit {
    std::uint64_t credit = 0;  // events (accepted and rejected) that the supervisor may have decided, in all
    bool operator==(const AcceptCredit&) const = default;
};

struct SeenFragment {
    Level1Id level1_id{};                   // of its event
    std::optional<std::int64_t> time_ns{};  // of its trigger, by the board's clock
    bool operator==(const SeenFragment&) const = default;
};
/// Readout -> supervisor whose events begin with a fragment of this source: these are in the buffers.
struct FragmentSeen {
    std::uint64_t first = 0;  // number of the first one: how many this process has reported in the run before
    SourceId source{};
    std::vector<SeenFragment> fragments{};
    bool operator==(const FragmentSeen&) const = default;
};

struct TriggerNotice {
    Level1Id level1_id{};
    std::uint32_t type = 0;
    std::int64_t time_ns = 0;  // since 1970, or of the trigger unit's clock
    bool operator==(const TriggerNotice&) const = default;
};
/// Supervisor -> readouts that need them: these triggers have happened.
struct Triggers {
    std::vector<TriggerNotice> triggers{};
    bool operator==(const Triggers&) const = default;
};

enum class BusyCause : std::uint8_t {
    none = 0,    // it is not busy
    events = 1,  // too many events in its buffers
    memory = 2,  // too many bytes
};
/// Readout -> supervisor: no more triggers while it is busy.
struct ReadoutBusy {
    std::uint64_t change = 0;  // 1, 2, ... of this process in the run: the highest counts, whenever it comes
    bool busy = false;
    BusyCause cause = BusyCause::none;
    // Triggers are held while the supervisor has more events in hand. With fewer the buffers are full of fragments
    // whose triggers it has not taken, and only those make room.
    std::uint32_t hold_above = 0;
    bool operator==(const ReadoutBusy&) const = default;
};

// Each encode appends a whole message to `to`; nothing may exceed the limits above. Each decode checks every count
// against its limit and the bytes that are there before it takes memory: Errc::truncated, corrupt, limit. Bytes after
// the known fields are ignored in reliable messages: later versions append.
void encode(const DataRequest& message, std::vector<std::byte>& to);
void encode(const DataHead& message, std::vector<std::byte>& to);
void encode(const Clear& message, std::vector<std::byte>& to);
void encode(const Assign& message, std::vector<std::byte>& to);
void encode(const Built& message, std::vector<std::byte>& to);
void encode(const Level2Task& message, std::vector<std::byte>& to);
void encode(const Level2Decision& message, std::vector<std::byte>& to);
void encode(const Level2Result& message, std::vector<std::byte>& to);
void encode(const Accept& message, std::vector<std::byte>& to);
void encode(const AcceptCredit& message, std::vector<std::byte>& to);
void encode(const ReadoutBusy& message, std::vector<std::byte>& to);
void encode(const Triggers& message, std::vector<std::byte>& to);
void encode(const FragmentSeen& message, std::vector<std::byte>& to);

[[nodiscard]] Result<> decode(ConstData message, DataRequest& into);  // into keeps its memory
[[nodiscard]] Result<> decode(ConstData message, DataView& into);
[[nodiscard]] Result<> decode(ConstData message, Clear& into);
[[nodiscard]] Result<> decode(ConstData message, Assign& into);
[[nodiscard]] Result<> decode(ConstData message, Built& into);
[[nodiscard]] Result<> decode(ConstData message, Level2Task& into);
[[nodiscard]] Result<> decode(ConstData message, Level2Decision& into);
[[nodiscard]] Result<> decode(ConstData message, Level2Result& into);
[[nodiscard]] Result<> decode(ConstData message, Accept& into);
[[nodiscard]] Result<> decode(ConstData message, AcceptCredit& into);
[[nodiscard]] Result<> decode(ConstData message, Triggers& into);
[[nodiscard]] Result<> decode(ConstData message, ReadoutBusy& into);
[[nodiscard]] Result<> decode(ConstData message, FragmentSeen& into);

}  // namespace weir::wire
