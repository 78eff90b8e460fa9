// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/message_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "tcp_links.hpp"
#include "weir/transport/datagram_input.hpp"
#include "weir/transport/udp_socket.hpp"

namespace weir::messaging {
namespace {

using wire::StationId;
using namespace std::chrono_literals;

constexpr std::uint64_t udp_token = 0;
constexpr std::size_t input_batches = 4;    // in hand at most, with an input thread
constexpr std::size_t batches_at_once = 4;  // before the logic's step
constexpr auto others_every =
    1ms;  // between two checks of other sockets and events while datagrams come without a pause
constexpr std::size_t flow_least = 4;                 // datagrams after a wake-up that promise more
constexpr auto drops_every = 10ms;                    // between two reads of the kernel's count of drops
constexpr int ports_tried = 16;                       // for one that is free for both protocols
constexpr std::size_t ethernet = 1472, jumbo = 8972;  // datagrams that common networks carry: MTU less 28

}  // namespace

class MessageLoop::Wiring final : public Link {
public:
    Wiring(const MessageLoopOptions& options, memory::BufferPool& pool, const Clock& clock, transport::EventLoop loop,
           transport::Socket udp, transport::Listener listener, std::optional<LinkTls> tls)
        : options_(options),
          clock_(clock),
          loop_(std::move(loop)),
          udp_(std::move(udp)),
          sender_(udp_.fd(), options.batch, true),
          tcp_({.self = options.endpoint.self,
                .key = options.endpoint.key,
                .queue_max = options.tcp_queue.count(),
                .tls = std::move(tls),
                .report = options.report},
               loop_, std::move(listener)),
          endpoint_(options.endpoint, *this, pool) {
        stats_.receive_buffer = transport::granted_receive_buffer(udp_.fd());
    }

    Result<> begin() {
        if (options_.input == InputThread::none) {
            batch_ = std::make_unique<transport::DatagramBatch>(options_.batch);
            return loop_.add(udp_.fd(), {.read = true}, udp_token);
        }
        auto own = WEIR_TRY(transport::EventLoop::create());
        WEIR_TRY(own.add(udp_.fd(), {.read = true}, udp_token));
        const bool each = options_.input == InputThread::wake_per_datagram;
        input_ =
            std::make_unique<transport::DatagramInput>(udp_.fd(), each ? input_batches * options_.batch : input_batches,
                                                       each ? 1 : options_.batch, each, std::move(own), loop_);
        return {};
    }

    // Link.
    bool carry(StationId to, std::span<const ConstData> datagram) override {
        const auto* target = target_of(to);
        if (target == nullptr) return false;
        if (target->link == LinkKind::tcp) return tcp_.carry(to, datagram);
        sender_.send(target->address, datagram);
        return true;
    }
    [[nodiscard]] std::size_t datagram_max(StationId to) const override {
        const auto* target = target_of(to);
        if (target != nullptr && target->link == LinkKind::tcp) return wire::datagram_size_max;
        return std::clamp(options_.datagram_max, datagram_max_least, wire::datagram_size_max);
    }
    void flush() override {
        sender_.flush();
        tcp_.flush();
    }

    Result<> set_peers(const std::vector<LinkPeer>& peers);
    Result<> probe(std::chrono::milliseconds deadline, MessageHandler& handler);
    void run(const std::stop_token& stop, MessageHandler& handler);
    void call(std::function<void()> work) {
        {
            const std::scoped_lock lock(mutex_);
            calls_.push_back(std::move(work));
        }
        loop_.wake();
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return udp_.local().port(); }
    [[nodiscard]] Endpoint& endpoint() noexcept { return endpoint_; }
    [[nodiscard]] MessageLoopStats stats() const {
        const std::scoped_lock lock(mutex_);
        return shown_;
    }
    void show_stats();

private:
    struct Target {
        transport::Address address;
        LinkKind link = LinkKind::udp;
    };

    [[nodiscard]] const Target* target_of(StationId id) const noexcept {
        return number(id) < by_id_.size() ? by_id_[number(id)] : nullptr;
    }
    /// Waits, receives, does what is due. `logic`: also the handler's step.
    void turn(std::optional<SteadyTime> until, MessageHandler& handler, bool logic);
    void wait(std::optional<SteadyTime> until, SteadyTime now, MessageHandler& handler);
    bool receive_more(SteadyTime now, MessageHandler& handler);
    void receive(MessageHandler& handler);
    void take(const transport::DatagramBatch& batch, SteadyTime now, MessageHandler& handler);
    bool do_calls();
    void read_kernel_drops(SteadyTime now);
    [[nodiscard]] std::string describe(StationId id) const;
    [[nodiscard]] bool has_address(StationId id, const transport::Address& address) const noexcept;

    const MessageLoopOptions options_;
    const Clock& clock_;
    transport::EventLoop loop_;
    transport::Socket udp_;
    transport::DatagramSender sender_;
    TcpLinks tcp_;
    Endpoint endpoint_;
    std::map<StationId, Target> targets_;
    std::vector<const Target*> by_id_;                 // those in targets_; null: no peer
    std::unique_ptr<transport::DatagramBatch> batch_;  // without an input thread
    bool udp_ready_ = false;
    bool flowing_ = false;  // datagrams come without a pause: the thread need not wait for them
    SteadyTime look_at_others_{};
    bool more_ = false;  // work is pending: the next turn does not wait
    SteadyTime turn_began_{}, next_turn_{};
    std::uint32_t last_drops_ = 0;
    SteadyTime next_kernel_drops_{};
    std::uint64_t foreign_address_ = 0;
    std::vector<std::function<void()>> working_;
    MessageLoopStats stats_;
    mutable std::mutex mutex_;
    std::vector<std::function<void()>> calls_;         // with mutex_
    MessageLoopStats shown_;                           // with mutex_
    std::unique_ptr<transport::DatagramInput> input_;  // last: its thread uses the members above
};

Result<> MessageLoop::Wiring::set_peers(const std::vector<LinkPeer>& peers) {
    std::map<StationId, Target> targets;
    std::map<StationId, transport::Address> tcp;
    const auto family = udp_.local().family();
    for (const auto& peer : peers) {
        const auto addresses = WEIR_TRY(transport::resolve(peer.address, false));
        const auto found = std::ranges::find(addresses, family, &transport::Address::family);
        if (found == addresses.end())
            return fail(Errc::usage, fmt::format("station {} at {} uses another version of IP than this one",
                                                 number(peer.id), to_string(peer.address)));
        targets.insert_or_assign(peer.id, Target{*found, peer.link});
        if (peer.link == LinkKind::tcp) tcp.insert_or_assign(peer.id, *found);
    }
    flush();  // queued datagrams refer to the old addresses
    WEIR_TRY(tcp_.set_peers(tcp));
    for (const auto& [id, target] : targets_) {
        if (!targets.contains(id)) endpoint_.remove_peer(id);
    }
    targets_ = std::move(targets);
    by_id_.clear();
    for (const auto& [id, target] : targets_) {
        by_id_.resize(number(id) + std::size_t{1});  // in the order of the numbers
        by_id_.back() = &target;
    }
    endpoint_.set_time(clock_.now());
    for (const auto& peer : peers) endpoint_.add_peer(peer.id, peer.watched);
    more_ = true;
    return {};
}

void MessageLoop::Wiring::take(const transport::DatagramBatch& batch, SteadyTime now, MessageHandler& handler) {
    batch.for_each([&](ConstData datagram, const transport::Address& from) {
        if (has_address(wire::claimed_sender(datagram), from)) endpoint_.receive(datagram, now, handler);
        else ++foreign_address_;
    });
}

/// The kernel would also add it to each datagram (SO_RXQ_OVFL), which each datagram would pay for.
void MessageLoop::Wiring::read_kernel_drops(SteadyTime now) {
    if (now < next_kernel_drops_) return;
    next_kernel_drops_ = now + drops_every;
    const auto drops = transport::kernel_drops(udp_.fd());
    stats_.kernel_drops += drops - last_drops_;  // both count modulo 2^32
    last_drops_ = drops;
}

/// A station sends from the socket that it listens on. Senders that are no peers are counted by the endpoint.
bool MessageLoop::Wiring::has_address(StationId id, const transport::Address& address) const noexcept {
    const auto* peer = target_of(id);
    return peer == nullptr || (peer->link == LinkKind::udp && peer->address == address);
}

void MessageLoop::Wiring::receive(MessageHandler& handler) {
    if (input_) {
        const auto most = batches_at_once * (options_.input == InputThread::wake_per_datagram ? options_.batch : 1U);
        for (std::size_t i = 0; i < most; ++i) {
            auto* batch = input_->take();
            if (batch == nullptr) return;
            take(*batch, clock_.now(), handler);
            input_->release(batch);
        }
        more_ = true;
        return;
    }
    for (std::size_t i = 0; udp_ready_ && i < batches_at_once; ++i) {
        ++stats_.receive_calls;
        const auto count = batch_->receive(udp_.fd());
        if (count > 0) take(*batch_, clock_.now(), handler);
        if (i == 0) flowing_ = count >= flow_least;
        if (count < batch_->messages_max()) return;
    }
}

/// While datagrams come without a pause they are taken without asking first whether there are any, which would be a
/// third system call for each batch. False: it is time to wait, or to look at everything that can be ready.
bool MessageLoop::Wiring::receive_more(SteadyTime now, MessageHandler& handler) {
    if (!flowing_ || now >= look_at_others_) return false;
    ++stats_.receive_calls;
    auto count = batch_->receive(udp_.fd());
    if (count == 0 && options_.gather.count() > 0) {
        loop_.pause(options_.gather);
        ++stats_.receive_calls;
        ++stats_.wakes;
        count = batch_->receive(udp_.fd());
        now = clock_.now();
        if (count > 0) flowing_ = count >= flow_least;
    }
    if (count == 0) {
        flowing_ = false;
        return false;
    }
    endpoint_.set_time(now);
    take(*batch_, now, handler);
    return true;
}

bool MessageLoop::Wiring::do_calls() {
    {
        const std::scoped_lock lock(mutex_);
        working_.swap(calls_);
    }
    for (const auto& work : working_) work();
    const bool any = !working_.empty();
    working_.clear();
    return any;
}

void MessageLoop::Wiring::wait(std::optional<SteadyTime> until, SteadyTime now, MessageHandler& handler) {
    auto deadline = until ? std::min(*until, next_turn_) : next_turn_;
    if (std::exchange(more_, false)) deadline = now;
    const auto ready = loop_.wait(deadline == SteadyTime::max() ? std::nullopt : std::optional(deadline), now);
    turn_began_ = now = clock_.now();
    look_at_others_ = now + others_every;
    endpoint_.set_time(now);
    if (!input_) ++stats_.wakes;
    udp_ready_ = false;
    const TcpLinks::Listeners listeners{
        .datagram = [this, &handler](ConstData datagram) { endpoint_.receive(datagram, turn_began_, handler); },
        .connected = [this](StationId peer) { endpoint_.probe(peer, 0); }};
    for (const auto& one : ready) {
        if (one.token == udp_token) udp_ready_ = true;
        else tcp_.on_ready(one, now, listeners);
    }
    receive(handler);
}

void MessageLoop::Wiring::turn(std::optional<SteadyTime> until, MessageHandler& handler, bool logic) {
    auto now = clock_.now();
    if (!receive_more(now, handler)) wait(until, now, handler);
    now = clock_.now();
    endpoint_.set_time(now);
    do_calls();
    next_turn_ = SteadyTime::max();
    if (logic) next_turn_ = handler.step(now).value_or(SteadyTime::max());
    next_turn_ = std::min(next_turn_, tcp_.step(now));
    next_turn_ = std::min(next_turn_, endpoint_.step(now, handler));  // and flushes
    read_kernel_drops(now);
    show_stats();
}

void MessageLoop::Wiring::run(const std::stop_token& stop, MessageHandler& handler) {
    const std::stop_callback wake(stop, [this] { loop_.wake(); });
    more_ = true;
    while (!stop.stop_requested()) turn(std::nullopt, handler, true);
    do_calls();
    static_cast<void>(endpoint_.step(clock_.now(), handler));
    show_stats();
}

void MessageLoop::Wiring::show_stats() {
    stats_.endpoint = endpoint_.stats();
    stats_.send_failures = sender_.stats().failures + tcp_.lost();
    stats_.foreign_address = foreign_address_ + tcp_.foreign();
    stats_.send_calls = sender_.stats().calls;
    stats_.tcp_connections = tcp_.connected();
    stats_.insecure = tcp_.insecure();
    if (input_) {
        stats_.wakes = input_->wakes();
        stats_.receive_calls = input_->calls();
    }
    const std::scoped_lock lock(mutex_);
    shown_ = stats_;
}

std::string MessageLoop::Wiring::describe(StationId id) const {
    return fmt::format("station {} at {}", number(id), to_string(targets_.at(id).address));
}

Result<> MessageLoop::Wiring::probe(std::chrono::milliseconds deadline, MessageHandler& handler) {
    const auto end = clock_.now() + deadline;
    constexpr auto every = 20ms;
    const auto reached = [&](const auto& target) {
        return endpoint_.probed(target.first) >= datagram_max(target.first);
    };
    for (auto ask = clock_.now(); !std::ranges::all_of(targets_, reached);) {
        const auto now = clock_.now();
        if (now >= end) break;
        endpoint_.set_time(now);
        if (now >= ask) {
            for (const auto& target : targets_) {
                if (reached(target)) continue;
                const auto most = datagram_max(target.first);
                for (const auto size : {datagram_max_least, ethernet, jumbo, most})
                    endpoint_.probe(target.first, std::min(size, most));
            }
            ask = now + every;
            flush();
        }
        turn(std::min(ask, end), handler, false);
    }
    for (const auto& target : targets_) {
        if (reached(target)) continue;
        const auto got = endpoint_.probed(target.first);
        if (got == 0)
            return fail(Errc::io, fmt::format("{} does not answer; is it running, and is the address right?",
                                              describe(target.first)));
        return fail(Errc::limit,
                    fmt::format("datagrams of {} bytes do not get through to {}, those of {} bytes do; lower "
                                "datagram_max",
                                datagram_max(target.first), describe(target.first), got));
    }
    return {};
}

Result<std::unique_ptr<MessageLoop>> MessageLoop::open(const MessageLoopOptions& options, memory::BufferPool& pool,
                                                       const Clock& clock) {
    auto loop = WEIR_TRY(transport::EventLoop::create());
    std::optional<LinkTls> tls;
    if (options.tls.any()) {
        auto server = WEIR_TRY(transport::TlsContext::for_server(options.tls));
        auto client = WEIR_TRY(transport::TlsContext::for_client(options.tls));
        tls.emplace(std::move(server), std::move(client));
    }
    const transport::UdpOptions udp_options{.receive_buffer = options.receive_buffer,
                                            .send_buffer = options.send_buffer,
                                            .coalesced = options.input != InputThread::wake_per_datagram};
    for (int tries = 1;; ++tries) {
        auto udp = WEIR_TRY(transport::open_udp(options.listen, udp_options));
        auto listener = transport::Listener::reserve({options.listen.host, udp.local().port()}, tcp_link_options);
        if (!listener) {
            if (options.listen.port == 0 && tries < ports_tried) continue;  // another program has that port for TCP
            return std::unexpected(listener.error());
        }
        auto wiring = std::make_unique<Wiring>(options, pool, clock, std::move(loop), std::move(udp),
                                               std::move(*listener), std::move(tls));
        WEIR_TRY(wiring->begin());
        wiring->show_stats();
        return std::unique_ptr<MessageLoop>(new MessageLoop(std::move(wiring)));
    }
}

MessageLoop::MessageLoop(std::unique_ptr<Wiring> wiring) : wiring_(std::move(wiring)) {}
MessageLoop::~MessageLoop() = default;

std::uint16_t MessageLoop::port() const noexcept { return wiring_->port(); }
Result<> MessageLoop::set_peers(const std::vector<LinkPeer>& peers) { return wiring_->set_peers(peers); }
Result<> MessageLoop::probe(std::chrono::milliseconds deadline, MessageHandler& handler) {
    return wiring_->probe(deadline, handler);
}
void MessageLoop::run(const std::stop_token& stop, MessageHandler& handler) { wiring_->run(stop, handler); }
void MessageLoop::call(std::function<void()> work) { wiring_->call(std::move(work)); }
Endpoint& MessageLoop::endpoint() noexcept { return wiring_->endpoint(); }
MessageLoopStats MessageLoop::stats() const { return wiring_->stats(); }

}  // namespace weir::messaging
