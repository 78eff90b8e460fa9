// SPDX-License-Identifier: Apache-2.0
// One message of each kind, as in docs/formats/delivery-protocol.md.
#pragma once

#include <string>
#include <vector>

#include "weir/wire/message.hpp"

namespace weir::wire::sample {

inline std::vector<std::byte> from_hex(std::string_view text) {
    std::vector<std::byte> bytes;
    const auto digit = [](char c) { return c >= 'a' ? c - 'a' + 10 : c - '0'; };
    for (std::size_t i = 0; i + 1 < text.size();) {
        if (text[i] == ' ' || text[i] == '\n') {
            ++i;
            continue;
        }
        bytes.push_back(static_cast<std::byte>(digit(text[i]) * 16 + digit(text[i + 1])));
        i += 2;
    }
    return bytes;
}

inline Hello hello() {
    return {
        .session = {.sender = "ef-1", .incarnation = 0x0102030405060708, .connection = 0, .run = RunNumber{358395}}};
}

inline Welcome welcome() {
    Welcome message{.credit = 64U << 20,
                    .event_size_max = 32U << 20,
                    .run = RunNumber{358395},
                    .heartbeat_ms = 10'000,
                    .instance = 0x1112131415161718,
                    .recorder = "rec-1"};
    message.durable.insert({Sequence{1}, Sequence{2}});
    message.durable.insert({Sequence{4}, Sequence{5}});
    return message;
}

inline std::string_view payload() { return "123456789"; }

inline EventMeta event() {
    EventMeta meta{.sequence = Sequence{1},
                   .global_id = GlobalEventId{7},
                   .level1_id = Level1Id{0x01000002},
                   .lumi_block = LumiBlock{5},
                   .payload_crc = 0xe3069283};
    meta.tags.push_back({"physics", "Main", true, {SourceId{0x420001}}, {0x48}});
    return meta;
}

inline Ack ack() { return {.credit = (64U << 20) + 97, .cumulative = Sequence{1}}; }
inline Reject reject() { return {.sequence = Sequence{3}, .reason = RejectReason::bad_tag, .text = "no"}; }
inline Refused refused() {
    return {.sequence = Sequence{2}, .records = {{0, RefuseReason::late}, {3, RefuseReason::unknown_source}}};
}
inline Bye bye() { return {.reason = ByeReason::finished, .text = "done"}; }

template <class Message>
std::vector<std::byte> bytes_of(const Message& message) {
    std::vector<std::byte> bytes;
    encode(message, bytes);
    return bytes;
}

inline std::vector<std::byte> event_bytes(const EventMeta& meta = event(), std::string_view body = payload()) {
    std::vector<std::byte> bytes;
    encode(meta, body.size(), bytes);
    const auto data = as_data(body);
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
}

}  // namespace weir::wire::sample
