// SPDX-License-Identifier: Apache-2.0
// What the tests of this library share: a sink that remembers, a receiver around it on a free port of
// loopback, and a peer that sends exactly the bytes that a test gives it.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "weir/base/testing/eventually.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/delivery/sender.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/wire/frame_assembler.hpp"

namespace weir::delivery::test {

using namespace std::chrono_literals;
using testing::eventually;

inline constexpr RunNumber run{358395};

/// Takes events and acknowledges them at once, or keeps them, or answers "full".
class RecordingSink final : public EventSink {
public:
    std::optional<RunNumber> joined_run() override {
        const std::scoped_lock lock(mutex);
        return accepted_run;
    }
    std::optional<Refusal> hello(SessionId, const wire::Hello& hello) override {
        const std::scoped_lock lock(mutex);
        if (hello.session.run != accepted_run)
            return Refusal{wire::ByeReason::wrong_run, "another run is being recorded"};
        return std::nullopt;
    }
    Taken take(IncomingEvent& event) override {
        const std::scoped_lock lock(mutex);
        if (full) return Taken::full;
        const auto sequence = number(event.meta.sequence);
        ++times_taken[{event.session, sequence}];
        payloads.emplace_back(as_text(event.payload.data()));
        EXPECT_EQ(checksum::crc32c(event.payload.data()), event.payload_crc);
        EXPECT_EQ(event.meta.payload_crc, event.payload_crc);
        last_meta = event.meta;
        metas[number(event.meta.global_id)] = event.meta;
        const Answer answer{event.session, event.meta.sequence};
        if (reject_all) receiver->reject(answer, wire::RejectReason::streams_exceeded, "no more streams");
        else if (answers) receiver->acknowledge(std::span(&answer, 1));
        else held.push_back(std::move(event));
        return Taken::yes;
    }
    void not_passed_on(SessionId session, const wire::EventMeta& event, wire::RejectReason,
                       CreditHold& credit) override {
        const std::scoped_lock lock(mutex);
        if (!holds_not_passed_on) return;
        unanswered_events.push_back({session, event.sequence});
        credits.push_back(std::move(credit));
    }
    AnswerTime not_passed_on_is_answered() const override {
        return holds_not_passed_on ? AnswerTime::later : AnswerTime::now;
    }
    void answer_not_passed_on() {
        std::vector<Answer> all;
        {
            const std::scoped_lock lock(mutex);
            all.swap(unanswered_events);
            credits.clear();
        }
        receiver->answer(all);
    }
    std::size_t not_passed_on_count() const {
        const std::scoped_lock lock(mutex);
        return unanswered_events.size();
    }

    void acknowledge_held() {
        std::vector<IncomingEvent> events;
        {
            const std::scoped_lock lock(mutex);
            events.swap(held);
        }
        std::vector<Answer> all;
        for (const auto& event : events) all.push_back({event.session, event.meta.sequence});
        receiver->acknowledge(all);
    }
    std::size_t taken() const {
        const std::scoped_lock lock(mutex);
        return payloads.size();
    }
    std::size_t holding() const {
        const std::scoped_lock lock(mutex);
        return held.size();
    }
    void set_full(bool is) {
        const std::scoped_lock lock(mutex);
        full = is;
    }
    bool each_once() const {
        const std::scoped_lock lock(mutex);
        return std::ranges::all_of(times_taken, [](const auto& item) { return item.second == 1; });
    }

    mutable std::mutex mutex;
    Receiver* receiver = nullptr;
    RunNumber accepted_run = run;
    bool full = false;
    bool answers = true;
    bool reject_all = false;
    bool holds_not_passed_on = false;  // their answers wait for answer_not_passed_on(); set before it begins
    std::vector<Answer> unanswered_events;
    std::vector<CreditHold> credits;
    std::map<std::pair<SessionId, std::uint64_t>, int> times_taken;
    std::vector<std::string> payloads;
    std::vector<IncomingEvent> held;
    wire::EventMeta last_meta;
    std::map<std::uint64_t, wire::EventMeta> metas;  // the last one of each global id
};

inline std::uint64_t sum(const auto& counts) { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }

/// The sums that ReceiverStats promises, at any time.
inline void expect_balanced(const ReceiverStats& stats) {
    EXPECT_EQ(stats.received,
              stats.passed_on + stats.duplicates + sum(stats.rejected_here) + stats.discarded + stats.waiting);
    EXPECT_EQ(stats.passed_on, stats.acknowledged + sum(stats.rejected_by_sink) + stats.returned + stats.in_hand);
}

struct Recorder {
    explicit Recorder(ReceiverOptions options = {}, Bytes memory = Bytes{64U << 20}) : pool(memory) {
        if (options.event_size_max > Bytes{1U << 20}) options.event_size_max = Bytes{1U << 20};
        options.threads = options.threads == 0 ? 2 : options.threads;
        auto opened = Receiver::open(options, pool, sink, [this](const Report& report) {
            const std::scoped_lock lock(mutex);
            reports.push_back(report);
        });
        EXPECT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message());
        receiver = std::move(*opened);
        EXPECT_TRUE(receiver->listen().has_value());  // so that a peer can connect before start()
        sink.receiver = receiver.get();
    }
    ~Recorder() {
        receiver->stop(0ms);
        expect_balanced(receiver->stats());
        sink.held.clear();
        receiver.reset();
        EXPECT_EQ(pool.stats().in_use, Bytes{0});
    }
    Recorder& start() {
        receiver->start();
        return *this;
    }
    ReceiverStats stats() const {
        auto now = receiver->stats();
        expect_balanced(now);
        return now;
    }
    /// How many reports have this in their text.
    std::size_t reported(std::string_view text) {
        const std::scoped_lock lock(mutex);
        return static_cast<std::size_t>(
            std::ranges::count_if(reports, [&](const Report& report) { return text_of(report).contains(text); }));
    }

    memory::BufferPool pool;
    RecordingSink sink;
    std::mutex mutex;
    std::vector<Report> reports;
    std::unique_ptr<Receiver> receiver;
};

/// One of several at a port, one after the other.
inline std::unique_ptr<Recorder> recorder_at(const transport::ReservedPort& port) {
    const auto lent = port.lend();
    ReceiverOptions options;
    options.listen = port.address();
    return std::make_unique<Recorder>(options);
}

inline SenderOptions to_recorder(const Recorder& recorder, std::string name = "sender-1") {
    SenderOptions options;
    options.host = "127.0.0.1:" + std::to_string(recorder.receiver->port());
    options.name = std::move(name);
    options.run = run;
    options.backoff_first = 2ms;
    options.backoff_last = 20ms;
    return options;
}

inline EventDescription described(std::uint64_t id) {
    EventDescription event;
    event.global_id = GlobalEventId{id};
    event.tags = {{"physics", "Main", true, {}, {}}};
    return event;
}

/// A peer that is a plain socket: sends any bytes, receives messages.
class RawPeer {
public:
    explicit RawPeer(std::uint16_t port) {
        const auto address = transport::resolve({"127.0.0.1", port}, false).value().front();
        socket_ = transport::begin_connect(address, {}).value();
        pollfd one{socket_.fd(), POLLOUT, 0};
        EXPECT_EQ(::poll(&one, 1, 60'000), 1);
        EXPECT_EQ(socket_.pending_error(), 0);
    }

    /// False when the other side has closed.
    bool send_bytes(ConstData bytes) {
        while (!bytes.empty()) {
            const auto written = socket_.write(bytes);
            if (!written || written->state == transport::Transfer::State::closed) return false;
            bytes = bytes.subspan(written->count);
            pollfd one{socket_.fd(), POLLOUT, 0};
            if (written->state == transport::Transfer::State::would_block && ::poll(&one, 1, 60'000) != 1) return false;
        }
        return true;
    }
    template <class Message>
    bool send_message(const Message& message) {
        std::vector<std::byte> bytes;
        wire::encode(message, bytes);
        return send_bytes(bytes);
    }

    /// The type of the next message, its meta in `meta`; 0 when the connection ended or nothing came in time.
    int receive(std::chrono::milliseconds within = 60s) {
        const auto until = std::chrono::steady_clock::now() + within;
        while (true) {
            const auto step = assembler_.feed(input_);
            if (step == wire::FrameAssembler::Step::message) {
                if (assembler_.header().is(wire::MessageType::alive) && !wants_alive) continue;  // comes at any time
                meta.assign(assembler_.meta().begin(), assembler_.meta().end());
                return assembler_.header().type;
            }
            if (step != wire::FrameAssembler::Step::more) return 0;
            const auto remaining =
                std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
            pollfd one{socket_.fd(), POLLIN, 0};
            if (remaining.count() <= 0 || ::poll(&one, 1, static_cast<int>(remaining.count())) != 1) return 0;
            room_.resize(65536);
            const auto read = socket_.read(room_);
            if (!read || read->state != transport::Transfer::State::done) return 0;
            input_ = ConstData(room_).first(read->count);
        }
    }
    bool receive_welcome() { return receive() == static_cast<int>(wire::MessageType::welcome); }
    /// The reason of a BYE that must come (after any answers).
    std::optional<wire::ByeReason> receive_bye() {
        while (const int type = receive()) {
            if (type == static_cast<int>(wire::MessageType::bye)) return wire::decode_bye(meta).value().reason;
        }
        return std::nullopt;
    }
    void close() { socket_.close(); }

    std::vector<std::byte> meta;
    bool wants_alive = false;  // receive() answers ALIVE too

private:
    transport::Socket socket_;
    wire::FrameAssembler assembler_;
    std::vector<std::byte> room_;
    ConstData input_;
};

inline wire::Hello hello_as(std::string name, Sequence oldest = Sequence{1}) {
    wire::Hello hello;
    hello.session = {std::move(name), 7, 0, run};
    hello.oldest_held = oldest;
    return hello;
}

inline std::vector<std::byte> hello_bytes(const std::string& name) {
    std::vector<std::byte> bytes;
    encode(hello_as(name), bytes);
    return bytes;
}

inline void append(std::vector<std::byte>& to, const std::vector<std::byte>& more) {
    to.insert(to.end(), more.begin(), more.end());
}

inline std::vector<std::byte> event_message(std::uint64_t sequence, std::string_view payload,
                                            std::uint64_t oldest = 1) {
    wire::EventMeta meta;
    meta.sequence = Sequence{sequence};
    meta.oldest_held = Sequence{oldest};
    meta.payload_crc = checksum::crc32c(as_data(payload));
    meta.tags = {{"physics", "Main", true, {}, {}}};
    std::vector<std::byte> bytes;
    wire::encode(meta, payload.size(), bytes);
    const auto data = as_data(payload);
    bytes.insert(bytes.end(), data.begin(), data.end());
    return bytes;
}

}  // namespace weir::delivery::test
