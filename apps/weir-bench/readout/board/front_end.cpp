// SPDX-License-Identifier: Apache-2.0
#include "readout/board/front_end.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/wire/input_block.hpp"
#include "weir/wire/message.hpp"

namespace weir::app {
namespace {

constexpr std::size_t source_offset = 4, level1_offset = 8;  // in a record

}  // namespace

Result<transport::Socket> FrontEnd::connect(std::uint16_t port) {
    transport::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (!socket || ::connect(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        return fail_errno(errno, fmt::format("cannot connect to port {} of this machine", port));
    const int on = 1;
    ::setsockopt(socket.fd(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return socket;
}

FrontEnd::FrontEnd(transport::Socket connection, const FrontEndOptions& options)
    : connection_(std::move(connection)), options_(options) {
    const std::vector<std::byte> payload(options_.fragment_size, std::byte{0x5a});
    const wire::InputFragment fragment{
        .source = options_.source, .level1_id = Level1Id{}, .status_words = {}, .payload = payload};
    record_size_ = wire::encoded_size(fragment);
    fragments_ = std::max<std::size_t>(wire::block_size_usual / record_size_, 1);
    for (std::size_t i = 0; i < fragments_; ++i) encode(fragment, block_);
    thread_ = NamedThread(nullptr, "front-end", [this](const std::stop_token& stop) {
        if (auto done = run(stop); !done && !stop.stop_requested()) {
            const std::scoped_lock lock(mutex_);
            failure_ = done.error();
        }
    });
}

FrontEnd::~FrontEnd() {
    thread_.request_stop();
    ::shutdown(connection_.fd(), SHUT_RDWR);
}

std::optional<Error> FrontEnd::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

Result<> FrontEnd::run(const std::stop_token& stop) {
    if (options_.asks) WEIR_TRY(send_hello());
    while (!stop.stop_requested()) WEIR_TRY(send_block());
    return {};
}

Result<> FrontEnd::send_hello() {
    head_.clear();
    encode(wire::Hello{.session = {.sender = "front-end", .incarnation = 1},
                       .format = wire::EventFormat::fragments,
                       .any_run = true},
           head_);
    const iovec piece{head_.data(), head_.size()};
    WEIR_TRY(send({&piece, 1}));
    while (credit_ == 0) WEIR_TRY(read_answers(true));
    return {};
}

Result<> FrontEnd::send_block() {
    const auto first = sequence_ * fragments_;
    auto place = static_cast<std::uint32_t>(first % options_.sources);
    auto id = static_cast<std::uint32_t>(first / options_.sources + 1);
    for (std::size_t at = 0; at < block_.size(); at += record_size_) {
        if (options_.sources > 1) store_little(block_, at + source_offset, number(options_.source) + place);
        store_little(block_, at + level1_offset, id);
        if (++place == options_.sources) place = 0, ++id;
    }
    ++sequence_;
    head_.clear();
    encode(wire::EventMeta{.sequence = Sequence{sequence_},
                           .oldest_held = Sequence{acknowledged_blocks_ + 1},
                           .payload_crc = checksum::crc32c(block_),
                           .tags = {}},
           block_.size(), head_);
    sent_ += head_.size() + block_.size();
    if (options_.asks) {
        WEIR_TRY(read_answers(false));
        while (sent_ > credit_) WEIR_TRY(read_answers(true));
    }
    const std::array pieces{iovec{head_.data(), head_.size()}, iovec{block_.data(), block_.size()}};
    return send(pieces);
}

Result<> FrontEnd::send(std::span<const iovec> pieces) {
    std::vector<iovec> rest(pieces.begin(), pieces.end());
    while (!rest.empty()) {
        msghdr message{};
        message.msg_iov = rest.data();
        message.msg_iovlen = rest.size();
        const auto done = ::sendmsg(connection_.fd(), &message, MSG_NOSIGNAL);
        if (done < 0) return fail_errno(errno, "a front-end cannot send");
        auto size = static_cast<std::size_t>(done);
        while (!rest.empty() && size >= rest.front().iov_len) {
            size -= rest.front().iov_len;
            rest.erase(rest.begin());
        }
        if (rest.empty()) break;
        rest.front().iov_base = static_cast<std::byte*>(rest.front().iov_base) + size;
        rest.front().iov_len -= size;
    }
    return {};
}

Result<> FrontEnd::read_answers(bool wait) {
    std::array<std::byte, 16384> bytes;
    const auto got = ::recv(connection_.fd(), bytes.data(), bytes.size(), wait ? 0 : MSG_DONTWAIT);
    if (got < 0 && !wait && (errno == EAGAIN || errno == EWOULDBLOCK)) return {};
    if (got < 0) return fail_errno(errno, "a front-end cannot read");
    if (got == 0) return fail(Errc::io, "the readout has ended the connection of a front-end");
    in_.insert(in_.end(), bytes.begin(), bytes.begin() + got);
    std::size_t at = 0;
    while (in_.size() - at >= wire::frame_header_size) {
        const auto rest = ConstData(in_).subspan(at);
        const auto header = WEIR_TRY(wire::decode_header(rest));
        if (rest.size() < header.message_size()) break;
        WEIR_TRY(answer(header, rest.subspan(wire::frame_header_size, header.meta_size)));
        at += header.message_size();
    }
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(at));
    return {};
}

Result<> FrontEnd::answer(const wire::FrameHeader& header, ConstData meta) {
    if (header.is(wire::MessageType::welcome)) {
        credit_ = WEIR_TRY(wire::decode_welcome(meta)).credit;
    } else if (header.is(wire::MessageType::ack)) {
        const auto ack = WEIR_TRY(wire::decode_ack(meta));
        credit_ = ack.credit;
        acknowledged_blocks_ = number(ack.cumulative);
        acknowledged_.store(static_cast<std::uint32_t>(acknowledged_blocks_ * fragments_ / options_.sources),
                            std::memory_order_release);
    } else if (!header.is(wire::MessageType::alive)) {
        return fail(Errc::io, fmt::format("a front-end was answered with a message of type {}", header.type));
    }
    return {};
}

}  // namespace weir::app
