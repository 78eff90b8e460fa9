// SPDX-License-Identifier: Apache-2.0
// Puts messages together from bytes that come in any pieces. It owns no payload memory: when an EVENT
// begins, it stops and asks; the caller gives the memory where the payload goes, or has it skipped.
// No socket in it, so that tests and fuzzers feed it directly.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/wire/frame_header.hpp"

namespace weir::wire {

class FrameAssembler {
public:
    /// `sum_payloads` false: payload_crc() stays 0; to measure what the sum costs.
    explicit FrameAssembler(bool sum_payloads = true) : sum_payloads_(sum_payloads) {}

    enum class Step {
        more,         // everything was consumed; bytes are missing
        message,      // header() and meta() are a whole message without payload
        payload,      // header() and meta() of a message with payload: call keep() or skip(), then go on
        payload_end,  // the payload is complete: payload_crc()
        broken,       // these bytes are no message: error(); nothing more can be read
    };

    /// Consumes from the front of `input` up to the next step, and shortens it by that.
    [[nodiscard]] Step feed(ConstData& input);

    /// After Step::payload: the payload goes here (exactly header().payload_size bytes, valid until
    /// payload_end), or nowhere.
    void keep(MutableData room);
    void skip();

    /// Where the next payload bytes go, to read from a socket without a copy: empty unless keep() was
    /// called and payload is missing. filled() is how many of them are there now.
    [[nodiscard]] MutableData payload_room() const noexcept;
    [[nodiscard]] Step filled(std::size_t count);

    /// Of the last message or payload; meta() is valid until the next feed().
    [[nodiscard]] const FrameHeader& header() const noexcept { return header_; }
    [[nodiscard]] ConstData meta() const noexcept { return meta_; }
    /// crc32c of the payload bytes that came so far; 0 when it is skipped.
    [[nodiscard]] std::uint32_t payload_crc() const noexcept { return crc_; }
    [[nodiscard]] std::uint64_t payload_missing() const noexcept { return payload_missing_; }

    /// A message was begun and is not complete.
    [[nodiscard]] bool inside_message() const noexcept {
        return state_ != State::between || (!partial_.empty() && !head_in_partial_);
    }
    [[nodiscard]] bool inside_payload() const noexcept { return state_ == State::keeping || state_ == State::skipping; }
    [[nodiscard]] const Error& error() const noexcept { return error_; }

private:
    enum class State { between, asking, keeping, skipping, broken };
    Step head_complete(ConstData head);
    Step break_off(Error error);
    void erase_head() noexcept;

    bool sum_payloads_;
    State state_ = State::between;
    FrameHeader header_;
    std::vector<std::byte> partial_;  // header and meta of a message that came in pieces
    bool head_in_partial_ = false;    // `partial_` is the message that was reported last
    ConstData meta_;
    MutableData room_;
    std::uint64_t payload_missing_ = 0;
    std::uint32_t crc_ = 0;
    Error error_;
};

}  // namespace weir::wire
