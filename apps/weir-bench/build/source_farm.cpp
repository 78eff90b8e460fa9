// SPDX-License-Identifier: Apache-2.0
#include "build/source_farm.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <future>
#include <random>

#include "weir/base/endian.hpp"
#include "weir/event/markers.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/transport/socket.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::app {
namespace {

constexpr std::size_t rod_level1_word = event::common_header_words + 1 + 5;  // behind a ROB header with one status word

Result<> enter(const std::string& name) {
    if (name.empty()) return {};
    const auto path = "/var/run/netns/" + name;
    const transport::Socket file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file || ::setns(file.fd(), CLONE_NEWNET) != 0)
        return fail_errno(errno, "cannot enter the network namespace " + name);
    return {};
}

}  // namespace

class SourceFarm::Sources {
public:
    explicit Sources(const SourceFarmOptions& options, std::vector<Peer>& peers) : options_(options), peers_(peers) {}

    Result<> open() {
        epoll_ = transport::Socket(::epoll_create1(EPOLL_CLOEXEC));
        const std::size_t words = options_.rob_size / 4;
        const std::size_t around = event::smallest_rob_words;
        std::vector<std::uint32_t> data(words > around ? words - around : 0);
        std::mt19937 random(static_cast<std::uint32_t>(options_.seed));
        for (auto& word : data) word = random() & 0x0fff'ffffU;
        for (std::uint32_t i = 0; i < options_.sources; ++i) {
            transport::Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
            sockaddr_in address{};
            address.sin_family = AF_INET;
            ::inet_pton(AF_INET, options_.address.c_str(), &address.sin_addr);
            if (!socket || ::bind(socket.fd(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
                return fail_errno(errno, fmt::format("cannot open the socket of source {} on {}", i, options_.address));
            const int buffer = 1 << 20;
            ::setsockopt(socket.fd(), SOL_SOCKET, SO_SNDBUFFORCE, &buffer, sizeof buffer);
            socklen_t size = sizeof address;
            ::getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&address), &size);
            epoll_event ready{.events = EPOLLIN, .data = {.u32 = i}};
            if (::epoll_ctl(epoll_.fd(), EPOLL_CTL_ADD, socket.fd(), &ready) != 0)
                return fail_errno(errno, "cannot wait for the sockets of the sources");
            const SourceId source{0x510000 + i};
            peers_.push_back({.name = fmt::format("ros-{}", i),
                              .kind = StationKind::readout,
                              .id = wire::StationId(static_cast<std::uint16_t>(100 + i)),
                              .dataflow = fmt::format("{}:{}", options_.address, ntohs(address.sin_port)),
                              .events = {},
                              .sources = {source}});
            sockets_.push_back(std::move(socket));
        }
        WEIR_TRY(event::append_rob(rob_, {.source = SourceId{0x510000}}, data));
        return {};
    }

    void run(const std::stop_token& stop, std::atomic<std::uint64_t>& answers, std::atomic<std::int64_t>& cpu) {
        std::array<epoll_event, 256> ready{};
        while (!stop.stop_requested()) {
            const int count = ::epoll_wait(epoll_.fd(), ready.data(), ready.size(), 20);
            std::uint64_t done = 0;
            for (int i = 0; i < count; ++i) done += serve(ready[static_cast<std::size_t>(i)].data.u32);
            answers.fetch_add(done, std::memory_order_relaxed);
            timespec used{};
            ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
            cpu.store(used.tv_sec * 1'000'000'000LL + used.tv_nsec, std::memory_order_relaxed);
        }
    }

private:
    bool lost() { return options_.loss > 0 && std::uniform_real_distribution<>(0, 1)(random_) < options_.loss; }

    std::uint64_t serve(std::uint32_t source) {
        std::uint64_t done = 0;
        for (int i = 0; i < 8; ++i) {
            sockaddr_in from{};
            socklen_t size = sizeof from;
            const auto got =
                ::recvfrom(sockets_[source].fd(), in_.data(), in_.size(), 0, reinterpret_cast<sockaddr*>(&from), &size);
            if (got <= 0) break;
            const auto datagram = ConstData(in_).first(static_cast<std::size_t>(got));
            const auto header = wire::decode_datagram(datagram, 0);
            if (!header || lost()) continue;
            if (header->type != wire::DataflowType::data_request) continue;
            if (!decode(datagram.subspan(wire::datagram_header_size), request_)) continue;
            for (const auto id : request_.events) answer(source, id, *header, from);
            done += request_.events.size();
        }
        return done;
    }

    void answer(std::uint32_t source, Level1Id id, const wire::DatagramHeader& asked, const sockaddr_in& to) {
        store_little(rob_, 4 * 4, 0x510000 + source);
        store_little(rob_, rod_level1_word * 4, number(id));
        wire::DataHead head{.request = request_.request, .level1_id = id, .robs = {}};
        head.robs.push_back({.source = SourceId{0x510000 + source},
                             .state = wire::RobState::here,
                             .size = static_cast<std::uint32_t>(rob_.size())});
        head_.clear();
        encode(head, head_);
        const auto total = head_.size() + rob_.size();
        const auto room = options_.datagram_max - wire::datagram_header_size;
        wire::DatagramHeader header{.type = wire::DataflowType::data,
                                    .reliable = false,
                                    .from = wire::StationId(static_cast<std::uint16_t>(100 + source)),
                                    .run = asked.run,
                                    .epoch = wire::Epoch{1},
                                    .to_epoch = asked.epoch,
                                    .message = ++messages_,
                                    .message_size = static_cast<std::uint32_t>(total),
                                    .offset = 0,
                                    .part_size = 0};
        for (std::size_t at = 0; at < total; at += room) {
            const auto part = std::min(room, total - at);
            header.offset = static_cast<std::uint32_t>(at);
            header.part_size = static_cast<std::uint32_t>(part);
            std::array<ConstData, 2> pieces{};  // of the head, then of the ROB
            if (at < head_.size()) pieces[0] = ConstData(head_).subspan(at, std::min(part, head_.size() - at));
            const auto rob_at = at < head_.size() ? 0 : at - head_.size();
            pieces[1] = ConstData(rob_).subspan(rob_at, part - pieces[0].size());
            std::array<std::byte, wire::datagram_header_size> bytes{};
            encode_datagram_header(bytes, header, pieces, 0);
            if (lost()) continue;
            const auto io = [](ConstData d) { return iovec{const_cast<std::byte*>(d.data()), d.size()}; };
            std::array<iovec, 3> all{io(bytes), io(pieces[0]), io(pieces[1])};
            msghdr message{};
            message.msg_name = const_cast<sockaddr_in*>(&to);
            message.msg_namelen = sizeof to;
            message.msg_iov = all.data();
            message.msg_iovlen = all.size();
            ::sendmsg(sockets_[source].fd(), &message, 0);  // a full queue loses it, as in any switch
        }
    }

    const SourceFarmOptions options_;
    std::vector<Peer>& peers_;
    transport::Socket epoll_;
    std::vector<transport::Socket> sockets_;
    std::vector<std::byte> rob_, head_;
    std::array<std::byte, 65'536> in_{};
    wire::DataRequest request_;
    std::uint64_t messages_ = 0;
    std::mt19937_64 random_{options_.seed};
};

Result<std::unique_ptr<SourceFarm>> SourceFarm::start(const SourceFarmOptions& options) {
    std::unique_ptr<SourceFarm> farm(new SourceFarm);
    farm->sources_ = std::make_unique<Sources>(options, farm->peers_);
    std::promise<Result<>> opened;
    auto future = opened.get_future();
    // Sockets belong to the namespace of the thread that opens them.
    farm->thread_ = std::jthread([farm = farm.get(), options, &opened](const std::stop_token& stop) {
        auto result = enter(options.network_namespace);
        if (result) result = farm->sources_->open();
        const bool good = result.has_value();
        opened.set_value(std::move(result));
        if (good) farm->sources_->run(stop, farm->answers_, farm->cpu_ns_);
    });
    WEIR_TRY(future.get());
    return farm;
}

SourceFarm::~SourceFarm() = default;

}  // namespace weir::app
