// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_input.hpp"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>

#include "figures/thread_timer.hpp"
#include "readout/board/datagram_board.hpp"
#include "readout/board/front_end.hpp"
#include "readout/measured/input_measure.hpp"
#include "readout/measured/measured_readout.hpp"
#include "readout/plugin/readout_plugins.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/udp_socket.hpp"
#include "weir/wire/dataflow.hpp"
#include "weir/wire/input_block.hpp"
#include "weir/wire/message.hpp"

namespace weir::app {
namespace {

constexpr std::array<std::uint32_t, 2> fragment_sizes{1000, 10'000};
constexpr auto source = input_source;
constexpr std::chrono::microseconds clear_interval{200};

Result<InputFigures> measure_readout(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    readout::ReadoutStationOptions options{.feed = readout::FeedKind::network, .sources = {source}};
    options.input.emplace();
    const auto readout = WEIR_TRY(MeasuredReadout::start(std::move(options)));
    auto& loop = readout->loop();

    std::atomic<FrontEnd*> known_board{nullptr};
    Clearer clearer(
        loop.endpoint(), MeasuredReadout::readout_id,
        [&] {
            const auto* const board = known_board.load(std::memory_order_acquire);  // with the release below
            return board == nullptr ? 0 : board->acknowledged();
        },
        clear_interval);
    NamedThread clearing(nullptr, "clearer", [&](const std::stop_token& stop) { loop.run(stop, clearer); });
    const auto port = static_cast<std::uint16_t>(readout->station().status().counters["input_port"]);
    InputFigures figures;
    std::optional<Error> failure;
    {
        FrontEnd board(WEIR_TRY(FrontEnd::connect(port)), {.source = source, .fragment_size = fragment_size});
        known_board.store(&board, std::memory_order_release);
        figures = measure_between(
            time, [&] { return static_cast<double>(readout->station().status().ledger.received); },
            [&] { return readout->processor_seconds(); });
        failure = board.failure();
        clearing.request_stop();
        clearing.join();
    }
    if (failure) return std::unexpected(*failure);
    WEIR_TRY(readout->finish());
    return figures;
}

/// Reads messages of one size and their meta, checks the payload's crc32c and copies the payload into a ring of as many
/// fragments as a readout holds.
class BareLoop {
public:
    BareLoop(transport::Socket connection, std::uint32_t fragment_size)
        : connection_(std::move(connection)), ring_(std::size_t{4096} * fragment_size + 2 * wire::block_size_usual) {
        thread_ = NamedThread(nullptr, "bare loop", [this] { run(); });
    }
    ~BareLoop() { ::shutdown(connection_.fd(), SHUT_RDWR); }

    [[nodiscard]] double bytes() const noexcept { return static_cast<double>(bytes_.load(std::memory_order_relaxed)); }
    [[nodiscard]] double processor() const noexcept { return processor_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool intact() const noexcept { return intact_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t meta_size = 40;  // of an EVENT without tags
    static constexpr std::size_t head_size = wire::frame_header_size + meta_size;

    void run() {
        std::vector<std::byte> in(head_size);
        std::size_t at = 0;
        if (!read(MutableData(in))) return;
        while (true) {
            const auto header = wire::decode_header(in);
            if (!header || header->meta_size != meta_size) return intact_.store(false, std::memory_order_relaxed);
            const auto meta = ConstData(in).subspan(wire::frame_header_size, meta_size);
            const auto event = wire::decode_event(meta, header->flags);
            if (!wire::header_intact(ConstData(in).first(wire::frame_header_size), meta) || !event)
                return intact_.store(false, std::memory_order_relaxed);
            const auto size = static_cast<std::size_t>(header->payload_size);
            message_.resize(size + head_size);
            if (!read(message_)) return;  // the payload, and the next head with it: one call for a message
            const auto payload = ConstData(message_).first(size);
            if (checksum::crc32c(payload) != event->payload_crc) intact_.store(false, std::memory_order_relaxed);
            if (at + size > ring_.size()) at = 0;
            std::memcpy(ring_.data() + at, payload.data(), size);
            at += size;
            std::memcpy(in.data(), message_.data() + size, head_size);
            bytes_.fetch_add(size, std::memory_order_relaxed);
            processor_.store(thread_seconds(), std::memory_order_relaxed);
        }
    }
    bool read(MutableData to) {
        return ::recv(connection_.fd(), to.data(), to.size(), MSG_WAITALL) == static_cast<ssize_t>(to.size());
    }

    const transport::Socket connection_;
    std::vector<std::byte> ring_, message_;
    std::atomic<std::uint64_t> bytes_{0};  // relaxed: figures
    std::atomic<double> processor_{0};
    std::atomic<bool> intact_{true};
    NamedThread thread_;
};

Result<InputFigures> measure_bare(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    auto listener = WEIR_TRY(transport::Listener::open({"127.0.0.1", 0}));
    auto sending = WEIR_TRY(FrontEnd::connect(listener.port()));
    transport::Socket receiving(::accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!receiving) return fail_errno(errno, "cannot accept a connection of this machine");
    BareLoop loop(std::move(receiving), fragment_size);
    const FrontEnd board(std::move(sending), {.source = source, .fragment_size = fragment_size, .asks = false});
    const std::vector<std::byte> payload(fragment_size);
    const auto record = static_cast<double>(wire::encoded_size(
        wire::InputFragment{.source = source, .level1_id = Level1Id{}, .status_words = {}, .payload = payload}));
    const auto figures = measure_between(time, [&] { return loop.bytes() / record; }, [&] { return loop.processor(); });
    if (!loop.intact()) return fail(Errc::corrupt, "the bare loop has received a damaged message");
    return figures;
}

/// Of what a board sent between two looks; what waits in the kernel at either look makes it inexact.
double lost_share(std::uint64_t sent, double taken) {
    return sent == 0 ? 0 : std::max(0.0, 1 - taken / static_cast<double>(sent));
}

Result<InputFigures> measure_datagrams(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    readout::ReadoutStationOptions options{.feed = readout::FeedKind::network, .sources = {source}};
    options.datagrams.emplace();
    options.store.events_max = 16'384;  // what comes between two looks of the clearer
    const auto readout = WEIR_TRY(MeasuredReadout::start(std::move(options)));
    auto& loop = readout->loop();
    const auto known = [&] { return readout->station().status().sources.front(); };
    Clearer clearer(
        loop.endpoint(), MeasuredReadout::readout_id,
        [&] {
            const auto s = known();
            return static_cast<std::uint32_t>(s.arrived + s.lost + s.late + s.duplicated + s.refused);
        },
        std::chrono::milliseconds(1));
    NamedThread clearing(nullptr, "clearer", [&](const std::stop_token& stop) { loop.run(stop, clearer); });
    const auto port = static_cast<std::uint16_t>(readout->station().status().counters["input_udp_port"]);
    InputFigures figures;
    {
        const DatagramBoard board(WEIR_TRY(DatagramBoard::connect(port)),
                                  {.source = source, .fragment_size = fragment_size});
        const auto sent = board.sent();
        const auto before = known().arrived;
        figures = measure_between(
            time, [&] { return static_cast<double>(known().arrived); }, [&] { return readout->processor_seconds(); });
        figures.lost = lost_share(board.sent() - sent, static_cast<double>(known().arrived - before));
        clearing.request_stop();
        clearing.join();
    }
    WEIR_TRY(readout->finish());
    return figures;
}

/// Takes datagrams by the batch and copies what is behind their header into a ring of as many fragments as a readout
/// holds.
class BareDatagrams {
public:
    BareDatagrams(transport::Socket socket, transport::EventLoop loop, std::uint32_t fragment_size)
        : socket_(std::move(socket)), loop_(std::move(loop)), ring_(std::size_t{4096} * fragment_size) {
        thread_ = NamedThread(nullptr, "bare datagrams", [this](const std::stop_token& stop) { run(stop); });
    }
    ~BareDatagrams() {
        thread_.request_stop();
        loop_.wake();
    }
    [[nodiscard]] double taken() const noexcept { return static_cast<double>(taken_.load(std::memory_order_relaxed)); }
    [[nodiscard]] double processor() const noexcept { return processor_.load(std::memory_order_relaxed); }

private:
    void run(const std::stop_token& stop) {
        transport::DatagramBatch batch(64);
        const SystemClock clock;
        std::size_t at = 0;
        while (!stop.stop_requested()) {
            if (batch.receive(socket_.fd()) == 0) static_cast<void>(loop_.wait(std::nullopt, clock.now()));
            std::uint64_t count = 0;
            batch.for_each([&](ConstData datagram, const transport::Address&) {
                const auto payload = datagram.subspan(std::min(datagram.size(), DatagramBoard::header_size));
                if (at + payload.size() > ring_.size()) at = 0;
                std::memcpy(ring_.data() + at, payload.data(), payload.size());
                at += payload.size();
                ++count;
            });
            taken_.fetch_add(count, std::memory_order_relaxed);
            processor_.store(thread_seconds(), std::memory_order_relaxed);
        }
    }

    const transport::Socket socket_;
    transport::EventLoop loop_;
    std::vector<std::byte> ring_;
    std::atomic<std::uint64_t> taken_{0};  // relaxed: figures
    std::atomic<double> processor_{0};
    NamedThread thread_;
};

Result<InputFigures> measure_bare_datagrams(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    auto socket = WEIR_TRY(transport::open_udp({"127.0.0.1", 0}, {.receive_buffer = 64_MiB}));
    auto wait = WEIR_TRY(transport::EventLoop::create());
    WEIR_TRY(wait.add(socket.fd(), {.read = true}, 0));
    const auto port = socket.local().port();
    const BareDatagrams loop(std::move(socket), std::move(wait), fragment_size);
    const DatagramBoard board(WEIR_TRY(DatagramBoard::connect(port)),
                              {.source = source, .fragment_size = fragment_size});
    const auto sent = board.sent();
    const auto before = loop.taken();
    auto figures = measure_between(time, [&] { return loop.taken(); }, [&] { return loop.processor(); });
    figures.lost = lost_share(board.sent() - sent, loop.taken() - before);
    return figures;
}

}  // namespace

Result<std::vector<BenchRow>> input_rows(const ReadoutBenchOptions& options) {
    using Measure = PluginInput::Measure;
    struct Case {
        std::uint32_t size;
        bool bare;
        const char* name;
        const char* ratio;  // of the one before it to this one
        Measure measure;
        bool loses = false;
        std::vector<double> rates{}, cpu{}, lost{};
    };
    std::vector<Case> cases;
    const auto plugins = plugin_inputs();
    for (const auto size : fragment_sizes) {
        if (options.measures("tcp")) {
            cases.push_back({size, false, "tcp", "", measure_readout});
            cases.push_back({size, true, "bare loop", "input_rate_to_bare_loop", measure_bare});
        }
        if (options.measures("udp")) {
            cases.push_back({size, false, "udp", "", measure_datagrams, true});
            cases.push_back(
                {size, true, "bare loop of datagrams", "input_udp_rate_to_bare_loop", measure_bare_datagrams, true});
        }
        for (const auto& plugin : plugins) {
            if (!options.measures(plugin.name)) continue;
            cases.push_back({size, false, plugin.name, "", plugin.measure});
            cases.push_back({size, true, plugin.bare_name, plugin.ratio, plugin.measure_bare});
        }
    }
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (auto& one : cases) {
            const auto figures = WEIR_TRY(one.measure(one.size, options.input_time));
            one.rates.push_back(figures.rate);
            one.cpu.push_back(figures.cpu);
            one.lost.push_back(figures.lost);
        }
        if (!options.json) fmt::print(stderr, "input: round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        const auto& one = cases[i];
        const boost::json::object parameters{{"input", one.name}, {"fragment_size", one.size}};
        rows.push_back({.name = "input_rate",
                        .peer = one.bare,
                        .parameters = parameters,
                        .value = spread_of(one.rates),
                        .unit = "fragments/s"});
        rows.push_back({.name = "input_cpu",
                        .peer = one.bare,
                        .parameters = parameters,
                        .value = spread_of(one.cpu),
                        .unit = "s/fragment"});
        if (one.loses)
            rows.push_back({.name = "input_lost",
                            .peer = one.bare,
                            .parameters = parameters,
                            .value = spread_of(one.lost),
                            .unit = "of those sent"});
        if (!one.bare) continue;
        std::vector<double> ratios;  // of neighbours in time
        for (std::size_t r = 0; r < one.rates.size(); ++r) ratios.push_back(cases[i - 1].rates[r] / one.rates[r]);
        rows.push_back({.name = one.ratio,
                        .peer = false,
                        .parameters = {{"fragment_size", one.size}},
                        .value = spread_of(std::move(ratios)),
                        .unit = "ratio"});
    }
    return rows;
}

}  // namespace weir::app
