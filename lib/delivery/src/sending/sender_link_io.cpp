// SPDX-License-Identifier: Apache-2.0
// Many events go out in one system call, straight from where their owners keep them.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sending/sender_link.hpp"
#include "weir/base/assert.hpp"

namespace weir::delivery {
namespace {

constexpr std::size_t pieces_max = 512;                  // of one call (the kernel takes 1024)
constexpr std::uint64_t in_flight_bytes_max = 4U << 20;  // handed to one call, at least one event
constexpr std::uint64_t turn_bytes = 16U << 20;          // written before answers are read again

std::unexpected<Error> protocol_error(std::string text) {
    return fail(Errc::corrupt, fmt::format("the recorder broke the protocol: {}", text));
}

}  // namespace

Result<SenderLink::Pace> SenderLink::write_some() {
    for (std::uint64_t turn = 0; turn < turn_bytes;) {
        if (welcomed_) {
            std::uint64_t in_flight = 0;
            for (const auto& item : writing_) in_flight += item.size;
            while (in_flight < in_flight_bytes_max && writing_.size() < pieces_max / 2 && !holds_back()) {
                auto* event = send_buffer_.next(credit_ - begun_);
                if (event == nullptr) break;
                if (socket_.secure()) send_buffer_.maybe_sent(*event);
                const auto size = event->head.size() + event->size;
                writing_.push_back({event, size});
                begun_ += size;
                in_flight += size;
            }
        }
        pieces_.clear();
        if (control_sent_ < control_.size())
            pieces_.push_back({control_.data() + control_sent_, control_.size() - control_sent_});
        gather(pieces_);
        if (pieces_.empty()) return Pace::drained;
        const auto result = socket_.write(pieces_);
        if (!result)
            return fail(result.error().code, fmt::format("{}: {}", to_string(host_), result.error().message()));
        if (result->state == transport::Transfer::State::closed)
            return fail(Errc::io, fmt::format("the connection to {} was lost", to_string(host_)));
        if (result->state == transport::Transfer::State::would_block) return Pace::full;
        turn += result->count;
        sent_since_beat_ = true;
        written(result->count);
    }
    return Pace::full;  // the socket may take more: it is reported writable at once
}

/// A recorder that is gone without a word takes what is sent to it into the kernel's buffer, where it may have arrived
/// or not.
bool SenderLink::holds_back() {
    if (options_.hold_back_after.count() == 0) return false;
    if (!send_buffer_.answers_due()) {
        heard_ = now_;
        return false;
    }
    return now_ - heard_ > std::max<SteadyTime::duration>(options_.hold_back_after, 4 * usual_silence_);
}

void SenderLink::heard() {
    received_since_beat_ = true;
    if (options_.hold_back_after.count() == 0) return;
    const auto silence = now_ - std::exchange(heard_, now_);
    if (send_buffer_.answers_due()) usual_silence_ = std::max(silence, usual_silence_ - usual_silence_ / 64);
}

void SenderLink::gather(std::vector<iovec>& pieces) const {
    auto skip = first_written_;
    const auto add = [&](ConstData data) {
        const auto skipped = std::min<std::uint64_t>(skip, data.size());
        skip -= skipped;
        data = data.subspan(skipped);
        // The kernel only reads through this pointer.
        if (!data.empty() && pieces.size() < pieces_max)
            pieces.push_back({const_cast<std::byte*>(data.data()), data.size()});
    };
    for (const auto& item : writing_) {
        if (pieces.size() >= pieces_max) return;
        add(item.event->head);
        for (const auto& piece : item.event->payload) add(piece.data);
    }
}

void SenderLink::written(std::size_t count) {
    const auto of_control = std::min(count, control_.size() - control_sent_);
    control_sent_ += of_control;
    first_written_ += count - of_control;
    while (!writing_.empty() && first_written_ >= writing_.front().size) {
        first_written_ -= writing_.front().size;
        send_buffer_.sent(*writing_.front().event);
        writing_.pop_front();
    }
}

Result<> SenderLink::read_some() {
    const auto read = socket_.read(staging_);
    if (!read) return fail(read.error().code, fmt::format("{}: {}", to_string(host_), read.error().message()));
    if (read->state == transport::Transfer::State::would_block) return {};
    if (read->state == transport::Transfer::State::closed)
        return fail(Errc::io, fmt::format("{} closed the connection", to_string(host_)));
    heard();
    ConstData input = std::span(staging_).first(read->count);
    while (true) {
        switch (assembler_.feed(input)) {
            case wire::FrameAssembler::Step::more: return {};
            case wire::FrameAssembler::Step::payload_end: break;
            case wire::FrameAssembler::Step::broken: return not_understood(std::span(staging_).first(read->count));
            case wire::FrameAssembler::Step::payload:
                if ((assembler_.header().flags & wire::flag_optional) == 0)
                    return protocol_error(fmt::format("a message of type {} has a payload", assembler_.header().type));
                assembler_.skip();
                break;
            case wire::FrameAssembler::Step::message: WEIR_TRY(message()); break;
        }
    }
}

std::unexpected<Error> SenderLink::not_understood(ConstData first) const {
    // A recorder that wants TLS answers our plain HELLO with an alert (RFC 8446, section 6): type 21, version 3.
    if (!welcomed_ && !tls_ && first.size() >= 2 && first[0] == std::byte{21} && first[1] == std::byte{3})
        return fail(Errc::refused, fmt::format("{} wants TLS; give certificate, key and authority", to_string(host_)));
    return protocol_error(assembler_.error().message());
}

Result<> SenderLink::message() {
    const auto& header = assembler_.header();
    if (header.is(wire::MessageType::bye)) return bye();
    if (!welcomed_) {
        if (header.is(wire::MessageType::welcome)) return welcome();
        return protocol_error(fmt::format("a message of type {} came before WELCOME", header.type));
    }
    if (header.is(wire::MessageType::ack)) {
        const auto ack = WEIR_TRY(wire::decode_ack(assembler_.meta()));
        backoff_ = options_.backoff_first;  // it works
        replaced_ = 0;
        credit_ = std::max(credit_, ack.credit);
        bool sane = ack.cumulative == Sequence{0} || send_buffer_.acknowledge({Sequence{1}, ack.cumulative}, settled_);
        for (const auto& range : ack.ranges) sane = sane && send_buffer_.acknowledge(range, settled_);
        if (!sane) return protocol_error("it acknowledges events that were never sent");
        return {};
    }
    if (header.is(wire::MessageType::reject)) {
        const auto reject = WEIR_TRY(wire::decode_reject(assembler_.meta()));
        if (!send_buffer_.reject(reject.sequence, reject.reason, settled_))
            return protocol_error("it rejects an event that was never sent");
        return {};
    }
    if (header.is(wire::MessageType::refused) && wire::is_block(options_.format)) {
        auto refused = WEIR_TRY(wire::decode_refused(assembler_.meta()));
        if (!send_buffer_.was_sent(refused.sequence))
            return protocol_error("it refuses records of a block that was never sent");
        // Its block's ACK may be lost, and both come again.
        if (send_buffer_.open(refused.sequence))
            refused_.insert_or_assign(refused.sequence, std::move(refused.records));
        return {};
    }
    if ((header.flags & wire::flag_optional) != 0) return {};
    return protocol_error(fmt::format("a message of type {} may not come here", header.type));
}

Result<> SenderLink::welcome() {
    const auto welcome = WEIR_TRY(wire::decode_welcome(assembler_.meta()));
    if (welcome.protocol > wire::protocol_version)
        return protocol_error(
            fmt::format("it answers with protocol {}, {} was offered", welcome.protocol, wire::protocol_version));
    if (std::exchange(join_run_, false)) {
        session_.run = welcome.run;
        send_buffer_.joined(welcome.run);
    }
    if (welcome.heartbeat_ms > 0) {
        heartbeat_ = std::chrono::milliseconds(welcome.heartbeat_ms);
        beat_ = now_ + heartbeat_;
    }
    for (const auto& range : welcome.durable.intervals()) {
        if (send_buffer_.acknowledge(range, settled_)) continue;
        // Continuing would lose events in silence: the recorder would take new ones for old.
        fail_for_good(
            {Errc::refused, 0,
             fmt::format("{} holds sequences up to {} of session {} that this sender has not sent; another sender "
                         "has used the same name and incarnation: choose a new incarnation",
                         to_string(host_), number(welcome.durable.highest()), wire::to_string(session_))});
        return fail(Errc::refused, "the session is in use");
    }
    send_buffer_.limit_event_size(welcome.event_size_max, settled_);
    send_buffer_.connected();
    credit_ = welcome.credit;
    welcomed_ = true;
    notify(LinkState::connected);
    return {};
}

Result<> SenderLink::bye() {
    const auto bye = WEIR_TRY(wire::decode_bye(assembler_.meta()));
    auto text = fmt::format("{} closed the connection ({}): {}", to_string(host_), wire::name(bye.reason), bye.text);
    switch (bye.reason) {
        case wire::ByeReason::replaced:
            // By our own connection before, when it was lost and its end came late. Another sender with our name would
            // do it again and again.
            if (++replaced_ < replaced_max) break;
            [[fallthrough]];
        case wire::ByeReason::unsupported_version:
        case wire::ByeReason::wrong_run:
        case wire::ByeReason::run_closed:
        case wire::ByeReason::not_allowed:
        case wire::ByeReason::format_mismatch:  // the same HELLO would end the same way
            send_buffer_.disconnected(text);
            fail_for_good({Errc::refused, 0, text});
            break;
        default: break;
    }
    return fail(Errc::refused, std::move(text));
}

}  // namespace weir::delivery
