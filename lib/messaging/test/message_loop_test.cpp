// SPDX-License-Identifier: Apache-2.0
#include "weir/messaging/message_loop.hpp"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "test_certificates.hpp"
#include "weir/base/endian.hpp"
#include "weir/transport/reserved_port.hpp"
#include "weir/transport/udp_socket.hpp"

namespace weir::messaging {
namespace {

using namespace std::chrono_literals;
using wire::DataflowType;
using wire::StationId;

constexpr StationId one{1}, two{2};
constexpr RunNumber run{7};
constexpr const char* unit = "weir-station";
using transport::test::Authority;

/// A station on loopback: sends numbers to the other one, reliably and once, and counts what it receives.
class Node final : public MessageHandler {
public:
    explicit Node(StationId self, MessageLoopOptions options = {}) : id(self), other(self == one ? two : one) {
        options.endpoint.self = id;
        static std::atomic<std::uint64_t> epochs{0};
        options.endpoint.epoch = wire::Epoch{++epochs};
        loop = MessageLoop::open(options, pool, clock).value();
        loop->endpoint().set_run(run);
    }
    ~Node() override { stop(); }

    void start() {
        thread = std::jthread([this](const std::stop_token& stop) { loop->run(stop, *this); });
    }
    void stop() { thread = {}; }
    void on_message(const IncomingMessage& message, SteadyTime) override {
        if (pause.load()) std::this_thread::sleep_for(30ms);
        (message.type == DataflowType::built ? reliable : sent).fetch_add(1);
        bytes.fetch_add(message.body.size());
        if (message.type != DataflowType::built) return;
        if (!numbers.insert(load_little<std::uint64_t>(message.body)).second) doubled.fetch_add(1);
    }
    void on_peer(StationId, PeerChange change, SteadyTime) override {
        if (change == PeerChange::appeared) appeared.store(true);
    }
    std::optional<SteadyTime> step(SteadyTime now) override {
        while (sent_count < to_send) {
            std::vector<std::byte> message(size);
            store_little(message, 0, sent_count);
            if (!loop->endpoint().send_reliably(other, DataflowType::built, message)) return now + 1ms;
            loop->endpoint().send(other, DataflowType::data, message);
            ++sent_count;
        }
        return std::nullopt;
    }
    [[nodiscard]] std::size_t in_flight() {
        std::atomic<std::size_t> open{~std::size_t{0}};
        loop->call([&] {
            open.store(loop->endpoint().reliable_in_flight() + (to_send - sent_count));
            open.notify_one();
        });
        open.wait(~std::size_t{0});
        return open.load();
    }
    [[nodiscard]] LinkPeer as_peer(LinkKind link, bool watched = true) const {
        return {id, {"127.0.0.1", loop->port()}, link, watched};
    }

    StationId id{}, other{};
    SystemClock clock;
    memory::BufferPool pool{Bytes{64U << 20}};
    std::unique_ptr<MessageLoop> loop;
    std::uint64_t to_send = 0, sent_count = 0;
    std::size_t size = 100;
    std::atomic<std::uint64_t> reliable{0}, sent{0}, bytes{0}, doubled{0};
    std::atomic<bool> pause{false}, appeared{false};
    std::set<std::uint64_t> numbers;
    std::jthread thread;
};

template <class Done>
bool wait_for(Done done, std::chrono::milliseconds at_most = 120'000ms) {
    const auto end = std::chrono::steady_clock::now() + at_most;
    while (!done()) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(1ms);
    }
    return true;
}

/// A call that had begun before is done, and what it sent has left.
bool has_a_turn(Node& node) {
    std::atomic<bool> here{false};
    node.loop->call([&] { here = true; });
    return wait_for([&] { return here.load(); });
}

void introduce(Node& a, Node& b, LinkKind link) {
    ASSERT_TRUE(a.loop->set_peers({b.as_peer(link)}).has_value());
    ASSERT_TRUE(b.loop->set_peers({a.as_peer(link)}).has_value());
}

enum class Kind { udp, tcp, tls };

class Links : public ::testing::TestWithParam<std::tuple<Kind, InputThread>> {
protected:
    void SetUp() override {
        if (std::get<0>(GetParam()) != Kind::tls) return;
        authority_.emplace("weir test");
        options_.tls = authority_->files("partition");
        options_.tls.unit = unit;
    }
    LinkKind link_ = std::get<0>(GetParam()) == Kind::udp ? LinkKind::udp : LinkKind::tcp;
    std::optional<Authority> authority_;
    MessageLoopOptions options_{.input = std::get<1>(GetParam())};
};

TEST_P(Links, CarryAThousandMessagesInBothDirections) {
    for (const std::size_t size : {100U, 30'000U}) {
        options_.datagram_max = 1472;
        Node a(one, options_), b(two, options_);
        introduce(a, b, link_);
        a.to_send = b.to_send = size == 100 ? 1000 : 50;
        a.size = b.size = size;
        a.start();
        b.start();
        EXPECT_TRUE(wait_for([&] { return a.reliable == a.to_send && b.reliable == b.to_send; }))
            << a.reliable << " " << b.reliable;
        EXPECT_TRUE(wait_for([&] { return a.in_flight() == 0 && b.in_flight() == 0; }));
        a.stop();
        b.stop();
        EXPECT_EQ(a.doubled + b.doubled, 0U);
        const auto stats = b.loop->stats();
        EXPECT_EQ(stats.endpoint.malformed + stats.endpoint.inconsistent, 0U);
        EXPECT_EQ(stats.tcp_connections, link_ == LinkKind::tcp ? 1U : 0U);
        if (link_ == LinkKind::udp) {
            EXPECT_GT(stats.receive_calls, 0U);
            EXPECT_GT(stats.wakes, 0U);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(MessageLoop, Links,
                         ::testing::Combine(::testing::Values(Kind::udp, Kind::tcp, Kind::tls),
                                            ::testing::Values(InputThread::none, InputThread::wake_per_batch,
                                                              InputThread::wake_per_datagram)));

TEST(MessageLoop, TakesEverythingThatGathers) {
    MessageLoopOptions options{.datagram_max = 1472};
    options.gather = 50us;
    Node a(one, options), b(two, options);
    introduce(a, b, LinkKind::udp);
    a.to_send = b.to_send = 5000;
    a.start();
    b.start();
    EXPECT_TRUE(wait_for([&] { return a.reliable == a.to_send && b.reliable == b.to_send; }))
        << a.reliable << " " << b.reliable;
    EXPECT_TRUE(wait_for([&] { return a.in_flight() == 0 && b.in_flight() == 0; }));
    EXPECT_EQ(a.doubled + b.doubled, 0U);
}

TEST(MessageLoop, AStopEndsTheTimeInWhichDatagramsGather) {
    MessageLoopOptions options{.datagram_max = 1472};
    options.gather = 1min;
    Node a(one), b(two, options);
    introduce(a, b, LinkKind::udp);
    a.start();
    b.start();
    ASSERT_TRUE(wait_for([&] { return b.appeared.load(); }));
    b.pause = true;  // so that they are there together
    a.loop->call([&] {
        const std::vector<std::byte> message(100);
        for (int i = 0; i < 50; ++i) a.loop->endpoint().send(two, DataflowType::data, message);
    });
    ASSERT_TRUE(wait_for([&] { return b.sent > 0; }));
    ASSERT_TRUE(has_a_turn(a));
    b.pause = false;
    ASSERT_TRUE(wait_for([&] { return b.sent == 50; }));
    std::this_thread::sleep_for(10ms);  // now it waits for more
    const auto begin = std::chrono::steady_clock::now();
    b.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 10s);
}

TEST(MessageLoop, ReportsWhatTheKernelDroppedWhileTheLogicWasBusy) {
    MessageLoopOptions options{.receive_buffer = Bytes{64U << 10}};
    Node a(one), b(two, options);
    introduce(a, b, LinkKind::udp);
    EXPECT_LE(b.loop->stats().receive_buffer, Bytes{128U << 10});
    a.start();
    b.start();
    ASSERT_TRUE(wait_for([&] { return b.appeared.load(); }));
    b.pause = true;
    a.loop->call([&] {
        const std::vector<std::byte> message(1000);
        for (int i = 0; i < 2000; ++i) a.loop->endpoint().send(two, DataflowType::data, message);
    });
    ASSERT_TRUE(wait_for([&] { return b.sent > 0; }));
    ASSERT_TRUE(has_a_turn(a));
    b.pause = false;
    EXPECT_TRUE(wait_for([&] {
        // The kernel's count is read when the next datagrams come.
        a.loop->call([&] { a.loop->endpoint().send(two, DataflowType::data, ConstData{}); });
        return b.loop->stats().kernel_drops > 0;
    }));
    EXPECT_LT(b.sent, 2000U);
}

TEST(MessageLoop, TakesAPortOnceAndReportsASecondUseInOneLine) {
    Node a(one);
    MessageLoopOptions options{.listen = {"127.0.0.1", a.loop->port()}};
    options.endpoint.self = two;
    options.endpoint.epoch = wire::Epoch{1};
    const auto second = MessageLoop::open(options, a.pool, a.clock);
    ASSERT_FALSE(second.has_value());
    EXPECT_NE(second.error().message().find("two stations on one port?"), std::string::npos);
    EXPECT_EQ(second.error().message().find('\n'), std::string::npos);
}

TEST(MessageLoop, StopsAtOnceThoughNothingHappens) {
    Node a(one);
    a.start();
    std::this_thread::sleep_for(5ms);
    const auto begin = std::chrono::steady_clock::now();
    a.stop();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 500ms);
}

TEST(MessageLoop, FindsOutWhetherDatagramsOfFullSizeReachEveryPeer) {
    Node a(one), b(two);
    introduce(a, b, LinkKind::udp);
    b.start();
    const auto reached = a.loop->probe(60s, a);
    EXPECT_TRUE(reached.has_value()) << reached.error().message();
}

TEST(MessageLoop, NamesThePeerThatDoesNotAnswer) {
    Node a(one), b(two);
    introduce(a, b, LinkKind::udp);
    const auto reached = a.loop->probe(50ms, a);
    ASSERT_FALSE(reached.has_value());
    EXPECT_NE(reached.error().message().find("station 2 at 127.0.0.1:"), std::string::npos)
        << reached.error().message();
    EXPECT_NE(reached.error().message().find("does not answer"), std::string::npos);
}

TEST(MessageLoop, ConnectsAgainWhenAPeerIsReplaced) {
    const auto port = transport::ReservedPort::take({"127.0.0.1", 0}).value();
    Node a(one);
    const auto introduced = [&] {
        const auto lent = port.lend();  // until it listens there
        auto node = std::make_unique<Node>(two, MessageLoopOptions{.listen = port.address()});
        introduce(a, *node, LinkKind::tcp);
        return node;
    };
    auto b = introduced();
    a.start();
    b->start();
    ASSERT_TRUE(wait_for([&] { return b->appeared.load(); }));
    b.reset();
    a.stop();
    const auto again = introduced();
    a.start();
    again->start();
    EXPECT_TRUE(wait_for([&] { return again->appeared.load(); }));
}

/// A probe of station `from` with the highest epoch, as an attacker or a misconfigured program would send it.
std::vector<std::byte> probe_of_a_later_process(StationId from, std::uint32_t key) {
    const std::vector<std::byte> body(24);
    std::vector<std::byte> datagram(wire::datagram_header_size + body.size());
    const wire::DatagramHeader header{.type = DataflowType::probe,
                                      .from = from,
                                      .epoch = wire::Epoch{~std::uint64_t{0}},
                                      .message = 1,
                                      .message_size = 24,
                                      .part_size = 24};
    const ConstData piece = body;
    wire::encode_datagram_header(std::span(datagram).first<wire::datagram_header_size>(), header, std::span(&piece, 1),
                                 key);
    return datagram;
}

TEST(MessageLoop, DiscardsADatagramFromAnotherAddressThanThatOfTheStationItNames) {
    Node a(one), b(two);
    introduce(a, b, LinkKind::udp);
    a.start();
    b.start();
    ASSERT_TRUE(wait_for([&] { return a.appeared.load() && b.appeared.load(); }));

    auto foreign = transport::open_udp({"127.0.0.1", 0}, {}).value();
    transport::DatagramSender sender(foreign.fd(), 1, false);
    const transport::Address to = transport::resolve({"127.0.0.1", a.loop->port()}, false).value().front();
    const auto forged = probe_of_a_later_process(two, 0);
    const ConstData piece = forged;
    sender.send(to, std::span(&piece, 1));
    sender.flush();
    ASSERT_TRUE(wait_for([&] { return a.loop->stats().foreign_address == 1; }));

    b.loop->call([&] { b.to_send = 100; });  // messages of the real station still arrive
    EXPECT_TRUE(wait_for([&] { return a.reliable.load() == 100; }));
}

TEST(MessageLoop, ConnectsByTcpBetweenTwoAddressesOfOneMachine) {
    Node a(one, {.listen = {"127.0.0.2", 0}}), b(two, {.listen = {"127.0.0.1", 0}});
    ASSERT_TRUE(a.loop->set_peers({{two, {"127.0.0.1", b.loop->port()}, LinkKind::tcp, true}}).has_value());
    ASSERT_TRUE(b.loop->set_peers({{one, {"127.0.0.2", a.loop->port()}, LinkKind::tcp, true}}).has_value());
    a.start();
    b.start();
    EXPECT_TRUE(wait_for([&] { return a.appeared.load() && b.appeared.load(); }));
}

TEST(MessageLoop, ClosesAConnectionWithDatagramsOfAnotherStation) {
    Node a(one);
    ASSERT_TRUE(
        a.loop->set_peers({{two, {"127.0.0.1", 1}, LinkKind::udp}, {StationId{3}, {"127.0.0.1", 2}, LinkKind::tcp}})
            .has_value());
    a.start();
    const transport::Address to = transport::resolve({"127.0.0.1", a.loop->port()}, false).value().front();
    auto foreign = transport::begin_connect(to, {}).value();
    pollfd ready{foreign.fd(), POLLOUT, 0};
    ASSERT_EQ(::poll(&ready, 1, 60'000), 1);
    auto bytes = probe_of_a_later_process(StationId{3}, 0);  // accepted: its host is right
    const auto forged = probe_of_a_later_process(two, 0);
    bytes.insert(bytes.end(), forged.begin(), forged.end());
    ASSERT_TRUE(foreign.write(bytes).has_value());
    EXPECT_TRUE(wait_for([&] { return a.loop->stats().foreign_address == 1; }));
    EXPECT_TRUE(wait_for([&] { return a.loop->stats().tcp_connections == 0; }));
}

transport::TlsFiles with_unit(transport::TlsFiles files) {
    files.unit = unit;
    return files;
}

TEST(SecureLinks, JoinStationsThatHaveCertificatesOfTheirOwnWithTheUnitOfParts) {
    const Authority authority("weir test");
    Node a(one, {.tls = with_unit(authority.files("host-1", 3600, unit))}),
        b(two, {.tls = with_unit(authority.files("host-2", 3600, unit))});
    introduce(a, b, LinkKind::tcp);
    a.to_send = b.to_send = 200;
    a.start();
    b.start();
    EXPECT_TRUE(wait_for([&] { return a.reliable == 200 && b.reliable == 200; }, 120'000ms));
    EXPECT_EQ(a.loop->stats().insecure + b.loop->stats().insecure, 0U);
}

/// Reports of a loop's thread, for another one.
class Reported {
public:
    [[nodiscard]] Reporter reporter() {
        return [this](const Report& report) {
            const std::scoped_lock lock(mutex_);
            text_ += text_of(report) + "\n";
        };
    }
    [[nodiscard]] bool has(const std::string& words) const {
        const std::scoped_lock lock(mutex_);
        return text_.find(words) != std::string::npos;
    }

private:
    mutable std::mutex mutex_;
    std::string text_;
};

TEST(SecureLinks, NeverCarryADatagramOfAStationWithoutTheRightCertificateAndReportWhy) {
    const Authority ours("ours"), theirs("theirs");
    auto foreign = theirs.files("stranger", 3600, unit);
    foreign.authority = ours.files("x").authority;
    struct Wrong {
        transport::TlsFiles files;
        const char* why;
    };
    for (const auto& [files, why] : {Wrong{with_unit(foreign), "its certificate is not taken: unable to get"},
                                     Wrong{with_unit(ours.files("old", -10, unit)), "certificate has expired"},
                                     Wrong{with_unit(ours.files("sender")), "nor the organizational unit weir-station"},
                                     Wrong{{}, "does not speak TLS"}}) {
        Reported reported;  // outlives the loops
        const auto good = with_unit(ours.files("partition", 3600, unit));
        for (const bool they_connect : {true, false}) {
            // The station with the lower number connects; a plain one that is connected to waits for a datagram.
            if (!they_connect && !files.any()) continue;
            Node us(they_connect ? two : one, {.tls = good, .report = reported.reporter()});
            Node them(they_connect ? one : two, {.tls = files});
            introduce(us, them, LinkKind::tcp);
            them.to_send = 1;
            us.start();
            them.start();
            EXPECT_TRUE(wait_for([&] { return us.loop->stats().insecure > 1; }, 120'000ms)) << why;
            us.stop();
            EXPECT_TRUE(reported.has(why)) << why;
            EXPECT_EQ(us.reliable + us.sent, 0U);
            EXPECT_FALSE(us.appeared);
        }
    }
}

TEST(MessageLoop, ListensAtTcpFromTheFirstPeerOnThatIsLinkedToOverTcp) {
    const auto answered = [](const Node& node) {
        const auto to = transport::resolve({"127.0.0.1", node.loop->port()}, false).value().front();
        const auto socket = transport::begin_connect(to, {});
        if (!socket) return false;
        pollfd ready{socket->fd(), POLLOUT, 0};
        EXPECT_EQ(::poll(&ready, 1, 60'000), 1);
        return socket->pending_error() == 0;
    };
    Node a(one), b(two);
    EXPECT_FALSE(answered(a));
    introduce(a, b, LinkKind::udp);
    EXPECT_FALSE(answered(a));
    introduce(a, b, LinkKind::tcp);
    EXPECT_TRUE(answered(a));
}

}  // namespace
}  // namespace weir::messaging
