// SPDX-License-Identifier: Apache-2.0
#include "build/build_runs.hpp"

#include <sys/socket.h>
#include <time.h>

#include <array>
#include <atomic>
#include <deque>
#include <future>
#include <thread>

#include "stand_in/takes_all.hpp"
#include "weir/building/builder.hpp"
#include "weir/building/delivery_output.hpp"
#include "weir/transport/socket.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr RunNumber bench_run{1};
constexpr wire::StationId dfm{1}, self{2};
constexpr std::chrono::milliseconds warm_up{150};

double thread_seconds() {
    timespec used{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}
double process_seconds() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

/// Built events are final at once, and gone.
class FinalAtOnce final : public building::BuiltSink {
public:
    bool take(std::unique_ptr<building::BuiltEvent>& event) override {
        done.push_back({std::move(event->ticket), event->robs_lost > 0});
        event.reset();
        return true;
    }
    std::vector<std::pair<wire::EventTicket, bool>> done;
};

/// To the DFM, which takes all reliable messages; requests go out as they are.
class ToDfm final : public messaging::MessageSender {
public:
    explicit ToDfm(messaging::MessageSender& others) : others_(others) {}
    void send(wire::StationId to, wire::DataflowType type, std::span<const ConstData> pieces) override {
        others_.send(to, type, pieces);
    }
    bool send_reliably(wire::StationId, wire::DataflowType, std::span<const ConstData>) override { return true; }

private:
    messaging::MessageSender& others_;
};

/// The builder with a DFM that never runs out of events.
class Logic final : public messaging::MessageHandler {
public:
    Logic(const BuildRun& run, messaging::MessageLoop& loop, memory::BufferPool& pool, std::vector<Peer> peers,
          const Clock& clock)
        : run_(run), loop_(loop), messages_(loop.endpoint()), builder_(options(run), messages_, pool, sink(run)) {
        peers.push_back({.name = "dfm", .kind = StationKind::assign, .id = dfm});
        builder_.set_peers(peers, clock.now());
        builder_.start_run(bench_run);
    }
    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        builder_.on_message(message, now);
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override {
        for (auto& [ticket, incomplete] : sink_.done)
            builder_.ended(ticket, incomplete, wire::EventOutcome::stored, "");
        sink_.done.clear();
        if (output_) {
            for (const auto& event : output_->take_ended())
                builder_.ended(event.ticket, event.incomplete, event.outcome, event.reason);
        }
        assign(now);
        const auto next = builder_.step(now);
        if (asked_for_.exchange(false, std::memory_order_acq_rel)) {
            counts_ = builder_.counts();
            cpu_ = thread_seconds();
            answered_.store(true, std::memory_order_release);
        }
        return std::min(next.value_or(now + 5ms), now + 5ms);
    }
    std::pair<building::Builder::Counts, double> snapshot() {
        answered_.store(false, std::memory_order_release);
        asked_for_.store(true, std::memory_order_release);
        loop_.call([] {});
        while (!answered_.load(std::memory_order_acquire)) std::this_thread::sleep_for(50us);
        return {counts_, cpu_};
    }
    building::DeliveryOutput* output() noexcept { return output_.get(); }

private:
    building::BuiltSink& sink(const BuildRun& run) {
        if (!run.output) return sink_;
        output_ = std::make_unique<building::DeliveryOutput>(
            building::DeliveryOutputOptions{
                .name = "sfi",
                .format = wire::EventFormat::event_5_0,
                .tags = {StreamTag{
                    .type = "physics", .name = "Main", .obeys_lumi_block = true, .robs = {}, .detectors = {}}},
                .window = 64_MiB},
            [this] { loop_.call([] {}); });
        return *output_;
    }
    static building::BuilderOptions options(const BuildRun& run) {
        building::BuilderOptions options;
        options.events_max = run.events_in_hand * 2;
        options.building_max = run.events_in_hand;
        options.window = {.shaping = run.shaping, .least = 64 << 10, .most = run.window.count()};
        options.event_deadline = 2s;
        return options;
    }
    void assign(SteadyTime now) {
        const auto counts = builder_.counts();
        std::uint64_t wanted =
            run_.events_in_hand * 2 - std::min<std::uint64_t>(counts.in_hand, run_.events_in_hand * 2);
        if (run_.rate_hz > 0) {
            if (begun_ == SteadyTime{}) begun_ = now;
            const auto due =
                static_cast<std::uint64_t>(std::chrono::duration<double>(now - begun_).count() * run_.rate_hz);
            wanted = std::min(wanted, due > next_ ? due - next_ : 0);
        }
        if (wanted == 0) return;
        wire::Assign message;
        for (std::uint64_t i = 0; i < std::min<std::uint64_t>(wanted, wire::tickets_max); ++i) {
            wire::EventTicket ticket;
            ticket.global_id = GlobalEventId{++next_};
            ticket.level1_id = Level1Id{static_cast<std::uint32_t>(next_)};
            message.events.push_back(ticket);
        }
        bytes_.clear();
        encode(message, bytes_);
        builder_.on_message({.from = dfm, .type = wire::DataflowType::assign, .run = bench_run, .body = bytes_}, now);
    }

    const BuildRun& run_;
    messaging::MessageLoop& loop_;
    FinalAtOnce sink_;
    std::unique_ptr<building::DeliveryOutput> output_;
    ToDfm messages_;
    building::Builder builder_;
    std::uint64_t next_ = 0;
    SteadyTime begun_{};
    std::vector<std::byte> bytes_;
    std::atomic<bool> asked_for_{false}, answered_{false};  // hand counts_ and cpu_ over to snapshot()
    building::Builder::Counts counts_;
    double cpu_ = 0;
};

}  // namespace

Result<BuildResult> run_builder(const BuildRun& run) {
    const SystemClock clock;
    auto farm = WEIR_TRY(SourceFarm::start(run.farm));
    memory::BufferPool pool(1_GiB);
    messaging::MessageLoopOptions options;
    options.listen = {run.listen, 0};
    options.datagram_max = run.farm.datagram_max;
    options.receive_buffer = run.receive_buffer;
    options.input = run.input;
    options.gather = building::answers_gather;
    options.endpoint.self = self;
    options.endpoint.epoch = wire::Epoch{1};
    auto loop = WEIR_TRY(messaging::MessageLoop::open(options, pool, clock));
    std::vector<messaging::LinkPeer> links;
    for (const auto& peer : farm->peers()) {
        const auto address = WEIR_TRY(transport::parse_host_port(peer.dataflow));
        links.push_back({.id = peer.id, .address = address});
    }
    WEIR_TRY(loop->set_peers(links));
    loop->endpoint().set_run(bench_run);
    Logic logic(run, *loop, pool, farm->peers(), clock);

    std::unique_ptr<TakesAll> receiver;
    if (run.output) {
        receiver = WEIR_TRY(TakesAll::start());
        WEIR_TRY(logic.output()->set_peers({{.name = "ef",
                                             .kind = StationKind::filter,
                                             .id = wire::StationId{3},
                                             .events = "127.0.0.1:" + std::to_string(receiver->port())}},
                                           bench_run));
    }
    BuildResult result;
    {
        std::jthread thread([&](const std::stop_token& stop) { loop->run(stop, logic); });
        std::this_thread::sleep_for(warm_up);
        const auto [before, cpu_before] = logic.snapshot();
        const auto stats_before = loop->stats();
        const auto all_before = process_seconds() - farm->cpu_seconds();
        const auto begin = clock.now();
        std::this_thread::sleep_for(run.duration);
        const auto [after, cpu_after] = logic.snapshot();
        const auto stats_after = loop->stats();
        result.seconds = std::chrono::duration<double>(clock.now() - begin).count();
        result.events = static_cast<double>(after.built - before.built);
        result.bytes = static_cast<double>(after.bytes_received - before.bytes_received);
        result.messages = static_cast<double>(after.answers - before.answers);
        result.asked = static_cast<double>(after.asked - before.asked);
        result.re_requested = static_cast<double>(after.re_requested - before.re_requested);
        result.robs_lost = static_cast<double>(after.robs_lost - before.robs_lost);
        result.kernel_drops = static_cast<double>(stats_after.kernel_drops - stats_before.kernel_drops);
        result.wakes = static_cast<double>(stats_after.wakes - stats_before.wakes);
        result.cpu_seconds = process_seconds() - farm->cpu_seconds() - all_before;
    }
    if (receiver) logic.output()->close();
    return result;
}

Result<BuildResult> run_sockets(const BuildRun& run) {
    auto farm = WEIR_TRY(SourceFarm::start(run.farm));
    const SystemClock clock;
    transport::Socket socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const auto own = WEIR_TRY(transport::resolve({run.listen, 0}, true));
    if (!socket || ::bind(socket.fd(), own.front().data(), own.front().size()) != 0)
        return fail_errno(errno, "cannot open a socket on " + run.listen);
    const int buffer = static_cast<int>(run.receive_buffer.count());
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer);
    const timeval patience{.tv_sec = 0, .tv_usec = 5000};
    ::setsockopt(socket.fd(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    std::vector<transport::Address> addresses;
    for (const auto& peer : farm->peers()) {
        const auto address = WEIR_TRY(transport::parse_host_port(peer.dataflow));
        auto resolved = WEIR_TRY(transport::resolve(address, false));
        addresses.push_back(resolved.front());
    }
    // Requests as a builder's: eight events each, to one source after the other, as many as the window holds.
    constexpr std::size_t together = 64;
    const auto room = run.farm.datagram_max - wire::datagram_header_size;
    const auto answer = run.farm.rob_size + 32;
    const double answers_of_a_datagram = answer <= room ? 1.0 : static_cast<double>(room) / static_cast<double>(answer);
    std::vector<std::byte> memory(together * 65'536);
    std::array<iovec, together> places{};
    std::array<mmsghdr, together> headers{};
    for (std::size_t i = 0; i < together; ++i) {
        places[i] = {memory.data() + i * 65'536, 65'536};
        headers[i].msg_hdr.msg_iov = &places[i];
        headers[i].msg_hdr.msg_iovlen = 1;
    }
    double outstanding = 0;  // bytes asked for that have not come
    std::uint64_t requests = 0;
    std::uint32_t event = 0;
    std::size_t next = 0;
    BuildResult result;
    const auto begin = clock.now() + warm_up;
    const auto end = begin + run.duration;
    double cpu = 0;
    bool counting = false;
    while (true) {
        const auto now = clock.now();
        if (!counting && now >= begin) {
            counting = true;
            cpu = thread_seconds();
            result = {};
        }
        if (now >= end) break;
        while (outstanding + static_cast<double>(8 * answer) <= static_cast<double>(run.window.count()) ||
               outstanding <= 0) {
            wire::DataRequest request{
                .request = ++requests, .kind = wire::RequestKind::building, .events = {}, .robs = {}};
            for (std::uint32_t i = 0; i < 8; ++i) request.events.push_back(Level1Id{event + i});
            std::vector<std::byte> body;
            encode(request, body);
            std::vector<std::byte> datagram(wire::datagram_header_size);
            const ConstData part(body);
            wire::encode_datagram_header(
                std::span<std::byte, wire::datagram_header_size>(datagram.data(), wire::datagram_header_size),
                {.type = wire::DataflowType::data_request,
                 .reliable = false,
                 .from = self,
                 .run = bench_run,
                 .epoch = wire::Epoch{1},
                 .to_epoch = {},
                 .message = requests,
                 .message_size = static_cast<std::uint32_t>(body.size()),
                 .offset = 0,
                 .part_size = static_cast<std::uint32_t>(body.size())},
                std::span(&part, 1), 0);
            datagram.insert(datagram.end(), body.begin(), body.end());
            const auto& to = addresses[next];
            ::sendto(socket.fd(), datagram.data(), datagram.size(), 0, to.data(), to.size());
            outstanding += static_cast<double>(8 * answer);
            if (++next == addresses.size()) next = 0, event += 8;
        }
        const int got = ::recvmmsg(socket.fd(), headers.data(), together, MSG_WAITFORONE, nullptr);
        if (got <= 0) {
            outstanding = 0;  // the rest was lost
            continue;
        }
        for (int i = 0; i < got; ++i) {
            const auto size =
                static_cast<double>(headers[static_cast<std::size_t>(i)].msg_len) - wire::datagram_header_size;
            outstanding -= size;
            result.bytes += size;
            result.messages += answers_of_a_datagram;
        }
    }
    result.seconds = std::chrono::duration<double>(clock.now() - begin).count();
    result.cpu_seconds = thread_seconds() - cpu;
    result.events = result.messages / static_cast<double>(run.farm.sources);
    return result;
}

Result<BuildResult> run_tcp(std::chrono::milliseconds duration, std::size_t block) {
    auto listener = WEIR_TRY(transport::Listener::open({"127.0.0.1", 0}));
    const auto addresses = transport::resolve({"127.0.0.1", listener.port()}, false);
    if (!addresses) return std::unexpected(addresses.error());
    const std::jthread sender([&addresses, block](const std::stop_token& stop) {
        const transport::Socket socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket.fd(), addresses->front().data(), addresses->front().size()) != 0) return;
        const std::vector<std::byte> bytes(block);
        while (!stop.stop_requested() && ::send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
        }
    });
    std::optional<transport::Socket> socket;
    while (!socket) {
        socket = WEIR_TRY(listener.accept());
        if (!socket) std::this_thread::sleep_for(1ms);
    }
    const SystemClock clock;
    BuildResult result;
    std::vector<std::byte> memory(1 << 20);
    const auto begin = clock.now();
    const double cpu = thread_seconds();
    while (clock.now() - begin < duration) {
        const auto got = WEIR_TRY(socket->read(MutableData(memory)));
        if (got.state == transport::Transfer::State::done) result.bytes += static_cast<double>(got.count);
    }
    result.seconds = std::chrono::duration<double>(clock.now() - begin).count();
    result.cpu_seconds = thread_seconds() - cpu;
    result.messages = result.bytes / static_cast<double>(block);
    return result;
}

}  // namespace weir::app
