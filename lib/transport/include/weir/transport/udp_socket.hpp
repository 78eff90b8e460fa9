// SPDX-License-Identifier: Apache-2.0
// A UDP socket that takes and gives datagrams by the batch: one system call for many (recvmmsg, sendmmsg), and where
// the kernel can, one pass through its network stack for many of one size to one peer (UDP_SEGMENT, UDP_GRO).
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/transport/address.hpp"
#include "weir/transport/socket.hpp"

namespace weir::transport {

struct UdpOptions {
    Bytes receive_buffer{16ULL << 20};
    Bytes send_buffer{4ULL << 20};
    bool segments = true;   // UDP_SEGMENT out
    bool coalesced = true;  // UDP_GRO in
};

/// Bound, without waiting, and never fragmented by IP: a datagram that is too large is refused (EMSGSIZE).
[[nodiscard]] Result<Socket> open_udp(const HostPort& where, const UdpOptions& options);
/// The size of the receive buffer: as requested, or the kernel's limit.
[[nodiscard]] Bytes granted_receive_buffer(int fd) noexcept;
/// Datagrams that the kernel has discarded so far because the receive buffer was full, modulo 2^32.
[[nodiscard]] std::uint32_t kernel_drops(int fd) noexcept;

/// Room for datagrams that one call takes from the kernel. A thread at a time.
class DatagramBatch {
public:
    explicit DatagramBatch(std::size_t messages_max);

    /// Takes the pending datagrams, at most messages_max() messages of the kernel; 0: nothing was.
    std::size_t receive(int fd);
    [[nodiscard]] std::size_t messages_max() const noexcept { return headers_.size(); }

    /// visit(datagram, from), both for the call.
    template <class Visit>
    void for_each(Visit visit) const {
        for (std::size_t i = 0; i < count_; ++i) {
            const Address from(reinterpret_cast<const sockaddr*>(&names_[i]), headers_[i].msg_hdr.msg_namelen);
            ConstData rest(place(i), headers_[i].msg_len);
            // Several datagrams of one size that the kernel has put together, the last one possibly shorter.
            const auto step = segments_[i] == 0 ? rest.size() : segments_[i];
            do {
                const auto size = std::min(step, rest.size());
                visit(rest.first(size), from);
                rest = rest.subspan(size);
            } while (!rest.empty());
        }
    }

private:
    static constexpr std::size_t message_room = 65'536;
    // Small datagrams that lie a power of two apart would share a few sets of the caches and drive each other out.
    static constexpr std::size_t message_step = message_room + 25 * 64;
    struct alignas(cmsghdr) Control {
        std::byte bytes[CMSG_SPACE(sizeof(int))];
    };
    [[nodiscard]] std::byte* place(std::size_t index) const noexcept { return memory_.get() + index * message_step; }
    void prepare(std::size_t index);
    void read_control(std::size_t index);

    std::unique_ptr<std::byte[]> memory_;  // touched only where datagrams have come
    std::vector<mmsghdr> headers_;
    std::vector<iovec> places_;
    std::vector<sockaddr_storage> names_;
    std::vector<Control> controls_;
    std::vector<std::size_t> segments_;  // size of each, when the kernel put several together; else 0
    std::size_t count_ = 0;
};

/// Queues datagrams and sends them in batches. A thread at a time.
class DatagramSender {
public:
    DatagramSender(int fd, std::size_t batch, bool segments);

    /// The address stays where it is until the next flush(). The pieces are read before the call returns.
    void send(const Address& to, std::span<const ConstData> datagram);
    void flush();

    struct Stats {
        std::uint64_t calls = 0;
        std::uint64_t failures = 0;   // datagrams that the kernel did not take
        std::uint64_t too_large = 0;  // those of them that the network's interface could not carry
    };
    [[nodiscard]] const Stats& stats() const noexcept { return stats_; }

private:
    struct Entry {
        const Address* to;
        std::size_t offset, size;  // in bytes_
        std::size_t segment;       // size of each datagram but the last
        std::size_t count;
    };
    void send_now(const Address& to, std::span<const ConstData> datagram);
    void prepare();
    void failed(int os_errno, std::uint64_t datagrams) noexcept;
    [[nodiscard]] bool wait_for_room() const noexcept;
    void send_apart(const Entry& entry);
    [[nodiscard]] bool segments_reach(const Address& to) const noexcept;

    const int fd_;
    const std::size_t batch_;
    bool segments_;
    std::vector<Address> narrow_;  // addresses behind an interface that refused segments of this size; few
    std::vector<std::byte> bytes_;
    std::vector<Entry> entries_;
    struct alignas(cmsghdr) Control {
        std::byte bytes[CMSG_SPACE(sizeof(std::uint16_t))];
    };
    std::vector<mmsghdr> headers_;
    std::vector<iovec> places_;
    std::vector<Control> controls_;
    std::vector<iovec> pieces_;
    Stats stats_;
};

}  // namespace weir::transport
