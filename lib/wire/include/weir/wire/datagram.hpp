// SPDX-License-Identifier: Apache-2.0
// The header of every datagram between the stations of a partition, and its constants. A message is one datagram or
// several that carry its parts; each datagram stands for itself: sender, run, place in the message, checksum.
// docs/formats/dataflow-protocol.md is the promise; this file holds its numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::wire {

/// A station's number in its partition, from 1 on.
enum class StationId : std::uint16_t {};

/// One process of a station: a later one of the same station has a higher number (nanoseconds of wall time at start).
enum class Epoch : std::uint64_t {};

inline constexpr std::uint32_t datagram_magic = 0x46445257;  // "WRDF" in the order of the bytes
inline constexpr std::uint8_t datagram_version = 2;
inline constexpr std::size_t datagram_header_size = 56;
inline constexpr std::size_t datagram_size_max = 65'507;  // what UDP over IPv4 can carry
inline constexpr std::uint32_t dataflow_message_max = 64U << 20;

enum class DataflowType : std::uint8_t {
    probe = 1,  // "are you there?"; its padding finds out what size gets through
    probe_answer = 2,
    ack = 3,               // reliable messages that have come
    data_request = 4,      // level 2 or builder -> readout
    data = 5,              // readout -> requesting station
    clear = 6,             // reliable: DFM -> readout
    assign = 7,            // reliable: DFM -> builder
    built = 8,             // reliable: builder -> DFM, with its credit
    level2_task = 9,       // reliable: supervisor -> processing unit
    level2_decision = 10,  // reliable: processing unit -> supervisor, with its credit
    level2_result = 11,    // reliable: processing unit -> pseudo-ROS
    accept = 12,           // reliable: supervisor -> DFM
    accept_credit = 13,    // reliable: DFM -> supervisor
    readout_busy = 14,     // reliable: readout -> supervisor
    triggers = 15,         // reliable: supervisor -> readouts that need them
    fragment_seen = 16,    // reliable: readout -> supervisor whose events begin with a fragment
};

struct DatagramHeader {
    DataflowType type = DataflowType::probe;
    bool reliable = false;  // is sent again until it was acknowledged
    StationId from{};
    RunNumber run{};                 // 0: of no run
    Epoch epoch{};                   // of the sender's process
    Epoch to_epoch{};                // of the receiver's; 0: the sender does not know it, reliable messages never
    std::uint64_t message = 0;       // number of the message; reliable and other messages are counted apart, from 1
    std::uint32_t message_size = 0;  // bytes of the whole message
    std::uint32_t offset = 0;        // of this part in it
    std::uint32_t part_size = 0;     // bytes that follow the header

    bool operator==(const DatagramHeader&) const = default;
};

/// Writes the header before a part that lies in `part` (any number of pieces, together header.part_size bytes), with
/// the crc32c of both. `key` must be the same on both sides; it keeps partitions apart and is no protection against an
/// attacker.
void encode_datagram_header(std::span<std::byte, datagram_header_size> to, const DatagramHeader& header,
                            std::span<const ConstData> part, std::uint32_t key) noexcept;

/// Reads and checks header, lengths and checksum of one datagram (for TCP: header and part). Error: corrupt,
/// unsupported (version), limit. Nothing it returns exceeds the limits above; offset + part_size <= message_size.
[[nodiscard]] Result<DatagramHeader> decode_datagram(ConstData datagram, std::uint32_t key);

/// The sender that a datagram names, before it is checked; 0 when the datagram is too short.
[[nodiscard]] StationId claimed_sender(ConstData datagram) noexcept;

/// For a byte stream: the size of the datagram (header and part) that begins in these datagram_header_size bytes.
/// Checks magic, version and lengths, not the checksum.
[[nodiscard]] Result<std::size_t> datagram_size(ConstData header);

}  // namespace weir::wire
