// SPDX-License-Identifier: Apache-2.0
// The messages between a sender of events and a recorder, as values, and their bytes. Bytes only: who
// reads or writes a socket is elsewhere. docs/formats/delivery-protocol.md describes every field.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/wire/event_format.hpp"
#include "weir/wire/frame_header.hpp"
#include "weir/wire/reject_reason.hpp"
#include "weir/wire/sequence_set.hpp"
#include "weir/wire/session.hpp"

namespace weir::wire {

struct Hello {
    SessionKey session{};
    EventFormat format = EventFormat::opaque;
    std::uint16_t protocol = protocol_version;
    Sequence oldest_held{1};  // everything below is final for the sender
    bool any_run = false;     // the run that is being recorded, whichever it is; the session has run 0

    bool operator==(const Hello&) const = default;
};

struct Welcome {
    std::uint16_t protocol = protocol_version;
    std::uint64_t credit = 0;          // bytes of EVENT messages that may be sent on this connection, in all
    std::uint64_t event_size_max = 0;  // largest payload that is taken
    SequenceSet durable{};             // of this session; no rejected ones
    RunNumber run{};                   // that is being recorded
    std::uint32_t heartbeat_ms = 0;    // each side sends a message at least this often; 0: need not
    std::uint64_t instance = 0;        // of the recorder's process, new at each start
    std::string recorder{};            // its name, a valid_sender_name; empty: none was given

    bool operator==(const Welcome&) const = default;
};

/// The fields of an EVENT about its payload.
struct EventMeta {
    Sequence sequence{};
    Sequence oldest_held{1};
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::uint32_t payload_crc = 0;  // crc32c
    bool sent_elsewhere = false;    // was sent before, here or elsewhere: a recorder may hold it already
    std::vector<StreamTag> tags{};

    bool operator==(const EventMeta&) const = default;
};

struct Ack {
    std::uint64_t credit = 0;  // as in Welcome: a total since the connection began, never falling
    Sequence cumulative{};     // 0: none
    std::vector<SequenceRange> ranges{};

    bool operator==(const Ack&) const = default;
};

struct Reject {
    Sequence sequence{};
    RejectReason reason = RejectReason::other;
    std::string text{};  // one line; cut at text_size_max

    bool operator==(const Reject&) const = default;
};

/// Of the records of a block that is acknowledged, one that is refused.
struct Refusal {
    std::uint32_t record = 0;  // its place in the block, from 0 on
    RefuseReason reason = RefuseReason::other;

    bool operator==(const Refusal&) const = default;
};

/// Comes before the ACK of the block.
struct Refused {
    Sequence sequence{};
    std::vector<Refusal> records{};  // ascending, at most refusals_max

    bool operator==(const Refused&) const = default;
};

struct Bye {
    ByeReason reason = ByeReason::finished;
    std::string text{};

    bool operator==(const Bye&) const = default;
};

/// Appends the whole message (header and meta) to `target`. Hello: the session's name is valid. Welcome and
/// Ack: at most the first message_ranges_max ranges go out.
void encode(const Hello& message, std::vector<std::byte>& target);
void encode(const Welcome& message, std::vector<std::byte>& target);
void encode(const Ack& message, std::vector<std::byte>& target);
void encode(const Reject& message, std::vector<std::byte>& target);
void encode(const Bye& message, std::vector<std::byte>& target);
void encode(const Refused& message, std::vector<std::byte>& target);
/// ALIVE has no fields: its sender is alive.
void encode_alive(std::vector<std::byte>& target);
/// The header and meta of an EVENT; `payload_size` bytes of payload follow it. `event_fits(meta)` holds.
void encode(const EventMeta& message, std::uint64_t payload_size, std::vector<std::byte>& target);

/// Nothing is wrong with the tags (their number, words and lists) and the meta is not too long; else
/// Errc::limit or Errc::usage, with the change that is needed.
[[nodiscard]] Result<> event_fits(const EventMeta& meta);

/// Read a message from its meta (and flags). Bytes after the known fields are ignored: later versions
/// append. Errors: truncated, corrupt, unsupported (a format), and for an EVENT `limit` when the message
/// is well formed but its tags are more or other than a recorder takes: it can be rejected by sequence.
[[nodiscard]] Result<Hello> decode_hello(ConstData meta);
[[nodiscard]] Result<Welcome> decode_welcome(ConstData meta);
[[nodiscard]] Result<EventMeta> decode_event(ConstData meta, std::uint16_t flags);
[[nodiscard]] Result<Ack> decode_ack(ConstData meta);
[[nodiscard]] Result<Reject> decode_reject(ConstData meta);
[[nodiscard]] Result<Bye> decode_bye(ConstData meta);
[[nodiscard]] Result<Refused> decode_refused(ConstData meta);

/// The sequence of an EVENT whose tags could not be taken. Errors as above.
[[nodiscard]] Result<Sequence> decode_event_sequence(ConstData meta);

}  // namespace weir::wire
