// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/udp_socket.hpp"

#include <fmt/format.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <system_error>

namespace weir::transport {
namespace {

constexpr std::size_t copied_max = 8 * 1024;        // larger datagrams are not copied to wait for others
constexpr std::size_t segments_bytes_max = 64'000;  // of one message with UDP_SEGMENT
constexpr std::size_t segments_max = 64;            // the kernel's oldest limit
constexpr int room_wait_ms = 20;                    // for a full socket; then datagrams are lost, as in any full queue

bool set_option(int fd, int level, int option, int value) noexcept {
    return ::setsockopt(fd, level, option, &value, sizeof(value)) == 0;
}

void set_buffer(int fd, int forced, int option, Bytes size) noexcept {
    const auto value = static_cast<int>(std::min<std::uint64_t>(size.count(), std::numeric_limits<int>::max() / 2));
    if (!set_option(fd, SOL_SOCKET, forced, value)) static_cast<void>(set_option(fd, SOL_SOCKET, option, value));
}

}  // namespace

Result<Socket> open_udp(const HostPort& where, const UdpOptions& options) {
    const auto addresses = WEIR_TRY(resolve(where, true));
    int failure = 0;
    for (const auto& address : addresses) {
        Socket socket(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
        if (socket && ::bind(socket.fd(), address.data(), address.size()) == 0) {
            const int fd = socket.fd();
            set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, options.receive_buffer);
            set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, options.send_buffer);
            // Each of these may be unknown to a kernel, which then works without it.
            if (address.family() == AF_INET)
                static_cast<void>(set_option(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO));
            else static_cast<void>(set_option(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO));
            if (options.coalesced) static_cast<void>(set_option(fd, IPPROTO_UDP, UDP_GRO, 1));
            return socket;
        }
        failure = errno;
    }
    const char* advice = failure == EADDRINUSE ? "two stations on one port? Stop the other one or choose another port"
                                               : "choose an address of this machine";
    return fail(Errc::io, fmt::format("cannot take datagrams on {}: {}; {}", to_string(where),
                                      std::system_category().message(failure), advice));
}

Bytes granted_receive_buffer(int fd) noexcept {
    int value = 0;
    socklen_t size = sizeof(value);
    if (::getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &value, &size) != 0 || value < 0) return Bytes{0};
    return Bytes{static_cast<std::uint64_t>(value) /
                 2};  // the kernel doubles what it is asked for, for its own bookkeeping
}

std::uint32_t kernel_drops(int fd) noexcept {
    std::array<std::uint32_t, SK_MEMINFO_VARS> values{};
    socklen_t size = sizeof(values);
    // Older kernels do not have all of them; those that have none count no drops.
    return ::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, values.data(), &size) == 0 ? values[SK_MEMINFO_DROPS] : 0;
}

DatagramBatch::DatagramBatch(std::size_t messages_max)
    : memory_(std::make_unique_for_overwrite<std::byte[]>(messages_max * message_step)),
      headers_(messages_max),
      places_(messages_max),
      names_(messages_max),
      controls_(messages_max),
      segments_(messages_max) {
    for (std::size_t i = 0; i < messages_max; ++i) prepare(i);
}

void DatagramBatch::prepare(std::size_t index) {
    places_[index] = {place(index), message_room};
    auto& header = headers_[index].msg_hdr;
    header = {};
    header.msg_name = &names_[index];
    header.msg_namelen = sizeof(names_[index]);
    header.msg_iov = &places_[index];
    header.msg_iovlen = 1;
    header.msg_control = controls_[index].bytes;
    header.msg_controllen = sizeof(Control);
}

std::size_t DatagramBatch::receive(int fd) {
    for (std::size_t i = 0; i < count_; ++i) prepare(i);  // the kernel has written into those
    int count = 0;
    do {
        count = ::recvmmsg(fd, headers_.data(), static_cast<unsigned>(headers_.size()), MSG_DONTWAIT, nullptr);
    } while (count < 0 && errno == EINTR);
    // This call returned an error that was pending at the socket (an ICMP message); the next call returns the
    // datagrams.
    count_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    for (std::size_t i = 0; i < count_; ++i) read_control(i);
    return count_;
}

void DatagramBatch::read_control(std::size_t index) {
    segments_[index] = 0;
    auto& header = headers_[index].msg_hdr;
    for (auto* at = CMSG_FIRSTHDR(&header); at != nullptr; at = CMSG_NXTHDR(&header, at)) {
        if (at->cmsg_level != IPPROTO_UDP || at->cmsg_type != UDP_GRO) continue;
        int size = 0;
        std::memcpy(&size, CMSG_DATA(at), sizeof(size));
        segments_[index] = size > 0 ? static_cast<std::size_t>(size) : 0;
    }
}

DatagramSender::DatagramSender(int fd, std::size_t batch, bool segments)
    : fd_(fd), batch_(batch), segments_(segments), headers_(batch), places_(batch), controls_(batch) {
    entries_.reserve(batch);
    bytes_.reserve(batch * copied_max);
}

void DatagramSender::send(const Address& to, std::span<const ConstData> datagram) {
    std::size_t size = 0;
    for (const auto piece : datagram) size += piece.size();
    if (size > copied_max) {
        flush();
        return send_now(to, datagram);
    }
    auto* last = entries_.empty() ? nullptr : &entries_.back();
    const bool joins = segments_ && last != nullptr && last->to == &to && segments_reach(to) &&
                       last->size == last->segment * last->count && size <= last->segment &&
                       last->size + size <= segments_bytes_max && last->count < segments_max;
    if (!joins && entries_.size() == batch_) flush();
    if (bytes_.size() + size > bytes_.capacity()) {
        flush();
        last = nullptr;
    }
    const auto offset = bytes_.size();
    for (const auto piece : datagram) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    if (joins && last != nullptr) {
        last->size += size;
        ++last->count;
    } else {
        entries_.push_back({&to, offset, size, size, 1});
    }
}

bool DatagramSender::segments_reach(const Address& to) const noexcept {
    return std::ranges::find(narrow_, to) == narrow_.end();
}

bool DatagramSender::wait_for_room() const noexcept {
    pollfd room{fd_, POLLOUT, 0};
    return ::poll(&room, 1, room_wait_ms) == 1 && (room.revents & POLLOUT) != 0;
}

void DatagramSender::failed(int os_errno, std::uint64_t datagrams) noexcept {
    stats_.failures += datagrams;
    if (os_errno == EMSGSIZE) stats_.too_large += datagrams;
}

void DatagramSender::send_now(const Address& to, std::span<const ConstData> datagram) {
    pieces_.clear();
    for (const auto piece : datagram) pieces_.push_back({const_cast<std::byte*>(piece.data()), piece.size()});
    msghdr header{};
    header.msg_name = const_cast<sockaddr*>(to.data());  // the kernel only reads both
    header.msg_namelen = to.size();
    header.msg_iov = pieces_.data();
    header.msg_iovlen = pieces_.size();
    for (bool waited = false;;) {
        ++stats_.calls;
        if (::sendmsg(fd_, &header, MSG_NOSIGNAL) >= 0) return;
        if (errno == EINTR) continue;
        if (errno != EAGAIN || std::exchange(waited, true) || !wait_for_room()) return failed(errno, 1);
    }
}

void DatagramSender::prepare() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        const auto& entry = entries_[i];
        places_[i] = {bytes_.data() + entry.offset, entry.size};
        auto& header = headers_[i].msg_hdr;
        header = {};
        header.msg_name = const_cast<sockaddr*>(entry.to->data());
        header.msg_namelen = entry.to->size();
        header.msg_iov = &places_[i];
        header.msg_iovlen = 1;
        if (entry.count == 1) continue;
        header.msg_control = controls_[i].bytes;
        header.msg_controllen = sizeof(Control);
        auto* control = CMSG_FIRSTHDR(&header);
        control->cmsg_level = IPPROTO_UDP;
        control->cmsg_type = UDP_SEGMENT;
        control->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto segment = static_cast<std::uint16_t>(entry.segment);
        std::memcpy(CMSG_DATA(control), &segment, sizeof(segment));
    }
}

void DatagramSender::flush() {
    if (entries_.empty()) return;
    prepare();
    std::size_t sent = 0;
    for (bool waited = false; sent < entries_.size();) {
        ++stats_.calls;
        const int count =
            ::sendmmsg(fd_, headers_.data() + sent, static_cast<unsigned>(entries_.size() - sent), MSG_NOSIGNAL);
        if (count > 0) {
            sent += static_cast<std::size_t>(count);
            waited = false;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno == EAGAIN && !std::exchange(waited, true) && wait_for_room()) continue;
        const auto& entry = entries_[sent++];
        // One by one from now on: to this peer, to which the path is too narrow for segments of this size, or in a
        // kernel that has none to all.
        if (entry.count > 1 && (errno == EINVAL || errno == EIO || errno == EOPNOTSUPP || errno == EMSGSIZE)) {
            if (errno != EMSGSIZE) segments_ = false;
            else if (segments_reach(*entry.to)) narrow_.push_back(*entry.to);
            send_apart(entry);
        } else {
            failed(errno, entry.count);
        }
    }
    entries_.clear();
    bytes_.clear();
}

void DatagramSender::send_apart(const Entry& entry) {
    for (std::size_t at = 0; at < entry.size; at += entry.segment) {
        const auto datagram = ConstData(bytes_).subspan(entry.offset + at, std::min(entry.segment, entry.size - at));
        send_now(*entry.to, std::span(&datagram, 1));
    }
}

}  // namespace weir::transport
