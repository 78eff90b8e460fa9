// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/tls.hpp"

#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <poll.h>

#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <numeric>
#include <vector>

#include "test_certificates.hpp"

namespace weir::transport {
namespace {

using test::Authority;
using testing::HasSubstr;

struct Pair {
    Socket client, server;
};

Pair connected_pair() {
    auto listener = Listener::open({"127.0.0.1", 0}).value();
    Pair pair;
    pair.client = begin_connect(listener.local(), {}).value();
    pollfd one{listener.fd(), POLLIN, 0};
    EXPECT_EQ(::poll(&one, 1, 60'000), 1);
    pair.server = std::move(listener.accept().value().value());
    return pair;
}

Pair secure_pair(const TlsFiles& client, const TlsFiles& server, const std::string& host = "localhost") {
    auto pair = connected_pair();
    EXPECT_TRUE(TlsContext::for_client(client).value().connect(pair.client, host));
    EXPECT_TRUE(TlsContext::for_server(server).value().accept(pair.server));
    return pair;
}

/// One side of a connection: sends its bytes and takes what comes, until it fails or the other side ends.
struct Side {
    Socket& socket;
    std::string to_send{};
    std::string received{};
    std::string failure{};
    bool ended = false;
    std::size_t sent = 0;

    void step() {
        if (ended || !failure.empty()) return;
        std::array<char, 50'000> a;
        std::array<char, 3> b;
        const std::array<iovec, 2> room{iovec{b.data(), b.size()}, iovec{a.data(), a.size()}};
        do {
            const auto read = socket.read(room);
            if (!read) {
                failure = read.error().message();
                return;
            }
            if (read->state == Transfer::State::closed) ended = true;
            if (read->state != Transfer::State::done) break;
            received.append(b.data(), std::min(read->count, b.size()));
            if (read->count > b.size()) received.append(a.data(), read->count - b.size());
        } while (socket.unread());
        while (sent < to_send.size()) {
            const auto half = (to_send.size() - sent) / 2;
            const std::array<iovec, 2> pieces{iovec{to_send.data() + sent, half},
                                              iovec{to_send.data() + sent + half, to_send.size() - sent - half}};
            const auto written = socket.write(pieces);
            if (!written) failure = written.error().message();
            if (!written || written->state != Transfer::State::done) return;
            sent += written->count;
        }
    }
};

/// Steps both until the condition holds; waits only as epoll would, for what waits_for() returns.
bool transfer(Side& one, Side& other, const std::function<bool()>& until) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (std::chrono::steady_clock::now() < deadline) {
        one.step();
        other.step();
        if (until()) return true;
        std::array<pollfd, 2> both{};
        for (auto [side, at] : {std::pair{&one, 0U}, std::pair{&other, 1U}}) {
            const auto wanted = side->socket.waits_for({.read = true, .write = side->sent < side->to_send.size()});
            const bool over = side->ended || !side->failure.empty();
            both[at] = {over ? -1 : side->socket.fd(),
                        static_cast<short>((wanted.read ? POLLIN : 0) | (wanted.write ? POLLOUT : 0)), 0};
        }
        if (::poll(both.data(), 2, 1000) == 0) return false;  // both wait for ever
    }
    return false;
}

std::string text_of(std::size_t size) {
    std::string text(size, '\0');
    std::uint32_t word = 1;
    for (auto& c : text) c = static_cast<char>((word = word * 1664525U + 1013904223U) >> 24);
    return text;
}

TEST(Tls, CarriesMuchBothWaysAtOnceThroughSmallBuffers) {
    const Authority authority("weir test");
    auto pair = secure_pair(authority.files("sender"), authority.files("recorder"));
    Side client{pair.client, text_of(3'000'000)}, server{pair.server, text_of(2'000'001)};
    EXPECT_TRUE(transfer(client, server,
                         [&] { return client.received.size() >= 2'000'001 && server.received.size() >= 3'000'000; }))
        << client.failure << server.failure;
    EXPECT_TRUE(client.received == server.to_send);
    EXPECT_TRUE(server.received == client.to_send);
    pair.client.finish_sending();
    EXPECT_TRUE(transfer(client, server, [&] { return server.ended; }));
}

TEST(Tls, ManySmallPiecesGoOutTogether) {
    const Authority authority("weir test");
    auto pair = secure_pair(authority.files("sender"), authority.files("recorder"));
    Side client{pair.client, "x"}, server{pair.server};
    ASSERT_TRUE(transfer(client, server, [&] { return server.received == "x"; }));
    const auto text = text_of(40'000);
    std::vector<iovec> pieces;
    for (std::size_t at = 0; at < text.size(); at += 100) pieces.push_back({const_cast<char*>(text.data()) + at, 100});
    EXPECT_EQ(pair.client.write(pieces).value().count, text.size());
    ASSERT_TRUE(transfer(client, server, [&] { return server.received.size() > text.size(); }));
    EXPECT_TRUE(server.received == "x" + text);
}

struct Refused {
    std::string client, server;
};

/// Both try to send a word; nothing may be received, and at least one side has an error.
Refused refused(const TlsFiles& client_files, const TlsFiles& server_files, const std::string& host = "127.0.0.1") {
    auto pair = secure_pair(client_files, server_files, host);
    Side client{pair.client, "hello"}, server{pair.server, "hello"};
    static_cast<void>(transfer(client, server, [&] {
        if (!client.failure.empty()) pair.client.close(), client.ended = true;
        if (!server.failure.empty()) pair.server.close(), server.ended = true;
        return client.ended && server.ended;
    }));
    EXPECT_EQ(server.received, "");
    return {client.failure, server.failure};
}

TEST(Tls, NothingIsReceivedFromASenderOfAnotherAuthorityOrWithAnExpiredCertificate) {
    const Authority ours("ours"), theirs("theirs");
    auto foreign = theirs.files("stranger");
    foreign.authority = ours.files("x").authority;  // it knows us; we do not know it
    EXPECT_THAT(refused(foreign, ours.files("recorder")).server, HasSubstr("certificate is not taken"));
    EXPECT_THAT(refused(ours.files("old", -10), ours.files("recorder")).server, HasSubstr("certificate has expired"));
}

TEST(Tls, ASenderConnectsOnlyToARecorderOfItsAuthorityUnderItsOwnName) {
    const Authority ours("ours"), theirs("theirs");
    EXPECT_THAT(refused(ours.files("sender"), theirs.files("recorder")).client, HasSubstr("certificate is not taken"));
    EXPECT_THAT(refused(ours.files("sender"), ours.files("old", -10)).client, HasSubstr("certificate has expired"));
    EXPECT_THAT(refused(ours.files("sender"), ours.files("recorder"), "other.example").client,
                HasSubstr("ostname mismatch"));
    EXPECT_THAT(refused(ours.files("sender"), ours.files("recorder"), "127.0.0.2").client,
                HasSubstr("IP address mismatch"));
}

TEST(Tls, PlainBytesAreRefusedAndNamedOnBothSides) {
    const Authority authority("weir test");
    {
        auto pair = connected_pair();
        ASSERT_TRUE(TlsContext::for_server(authority.files("recorder")).value().accept(pair.server));
        Side client{pair.client, "WEIR plain bytes on a port that wants TLS"}, server{pair.server};
        EXPECT_TRUE(transfer(client, server, [&] { return !server.failure.empty(); }));
        EXPECT_THAT(server.failure, HasSubstr("does not speak TLS"));
    }
    auto pair = connected_pair();
    ASSERT_TRUE(TlsContext::for_client(authority.files("sender")).value().connect(pair.client, "localhost"));
    Side client{pair.client, "hello"}, server{pair.server, "WEIR plain answer of a recorder without TLS"};
    EXPECT_TRUE(transfer(client, server, [&] { return !client.failure.empty(); }));
    EXPECT_THAT(client.failure, HasSubstr("does not speak TLS"));
}

TEST(Tls, AHandshakeCutShortOrChangedAtAnyByteNeverBecomesData) {
    const Authority authority("weir test");
    const auto files = authority.files("sender");
    // The first bytes of a client: its handshake.
    auto recorded = connected_pair();
    ASSERT_TRUE(TlsContext::for_client(files).value().connect(recorded.client, "localhost"));
    Side sender{recorded.client, "hello"}, recipient{recorded.server};
    ASSERT_TRUE(transfer(sender, recipient, [&] { return recipient.received.size() > 100; }));
    const auto context = TlsContext::for_server(files).value();
    for (std::size_t at = 0; at <= recipient.received.size(); ++at) {
        auto pair = connected_pair();
        ASSERT_TRUE(context.accept(pair.server));
        auto bytes = recipient.received.substr(0, at);
        if (at % 2 == 1) bytes = recipient.received, bytes[at - 1] = static_cast<char>(bytes[at - 1] ^ 0x41);
        Side client{pair.client, bytes}, server{pair.server};
        ASSERT_TRUE(transfer(client, server, [&] {
            if (client.sent == bytes.size()) pair.client.finish_sending();
            return server.ended || !server.failure.empty();
        })) << at;
        EXPECT_EQ(server.received, "");
    }
}

TEST(Tls, RenegotiationIsRefusedAndBringsNoData) {
    const Authority authority("weir test");
    const auto files = authority.files("sender");
    auto pair = connected_pair();
    ASSERT_TRUE(TlsContext::for_server(authority.files("recorder")).value().accept(pair.server));
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()), &SSL_CTX_free);
    SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);  // the last that has renegotiation
    ASSERT_EQ(SSL_CTX_use_certificate_chain_file(context.get(), files.certificate.c_str()), 1);
    ASSERT_EQ(SSL_CTX_use_PrivateKey_file(context.get(), files.key.c_str(), SSL_FILETYPE_PEM), 1);
    const std::unique_ptr<SSL, decltype(&SSL_free)> client(SSL_new(context.get()), &SSL_free);
    SSL_set_fd(client.get(), pair.client.fd());
    SSL_set_connect_state(client.get());
    Side server{pair.server};
    const auto agreed = [&] {
        const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
        while (std::chrono::steady_clock::now() < deadline) {
            server.step();
            const int result = SSL_do_handshake(client.get());
            if (result > 0) return true;
            if (SSL_get_error(client.get(), result) != SSL_ERROR_WANT_READ) return false;
            pollfd one{pair.client.fd(), POLLIN, 0};
            static_cast<void>(::poll(&one, 1, 10));
        }
        return false;
    };
    ASSERT_TRUE(agreed()) << server.failure;
    ASSERT_EQ(SSL_renegotiate(client.get()), 1);
    EXPECT_FALSE(agreed());
    EXPECT_EQ(server.received, "");
}

TEST(Tls, ACertificateWithoutAnEndEndsAfterEveryTimeThatThereIs) {
    const Authority authority("authority");
    constexpr long to_the_year_9600 = 240'000'000'000;
    EXPECT_EQ(TlsContext::for_server(authority.files("recorder", to_the_year_9600)).value().certificate_ends(),
              WallTime::max());
    const auto hour =
        TlsContext::for_server(authority.files("other")).value().certificate_ends() - std::chrono::system_clock::now();
    EXPECT_LE(hour, std::chrono::minutes{61});  // the clock of a machine may be set back by its keeper
    EXPECT_GT(hour, std::chrono::minutes{30});
}

TlsFiles with_unit(TlsFiles files, const std::string& unit = "weir-station") {
    files.unit = unit;
    return files;
}

/// Both send a word; what each has received.
std::pair<std::string, std::string> exchanged(Pair& pair) {
    Side client{pair.client, "from the client"}, server{pair.server, "from the server"};
    EXPECT_TRUE(transfer(client, server, [&] { return !client.received.empty() && !server.received.empty(); }))
        << client.failure << server.failure;
    return {client.received, server.received};
}

const std::pair<std::string, std::string> both_words{"from the server", "from the client"};

TEST(TlsParts, AreWhoHasOurKeyOrACertificateWithTheUnitWhateverTheAddress) {
    const Authority authority("weir test");
    const auto own = with_unit(authority.files("partition"));
    const auto other = with_unit(authority.files("host-2", 3600, "weir-station"));
    const auto ended = with_unit(authority.renewed(own, "partition", -10));
    const auto of_host_3 = with_unit(authority.files("host-3", 3600, "weir-station"));
    for (const auto& [client, server] : {std::pair{own, own}, std::pair{own, ended}, std::pair{ended, own},
                                         std::pair{of_host_3, other}, std::pair{other, of_host_3}}) {
        auto pair = secure_pair(client, server, "192.0.2.7");
        EXPECT_FALSE(pair.server.with_part());
        EXPECT_EQ(exchanged(pair), both_words);
        EXPECT_TRUE(pair.server.with_part());
        EXPECT_TRUE(pair.client.with_part());
    }
}

TEST(TlsParts, RefuseEverybodyElseOnBothSidesForTheReasonThatItIs) {
    const Authority ours("ours"), theirs("theirs");
    const auto part = with_unit(ours.files("partition", 3600, "weir-station"));
    auto foreign = with_unit(theirs.files("stranger", 3600, "weir-station"));
    foreign.authority = part.authority;
    const auto expired = with_unit(ours.files("old", -10, "weir-station"));
    const auto without = with_unit(ours.files("sender"));
    const auto reader = with_unit(ours.files("reader", 3600, "weir-reader"));
    for (const auto& [who, why] : {std::pair{foreign, "its certificate is not taken: unable to get local issuer"},
                                   std::pair{expired, "its certificate is not taken: certificate has expired"},
                                   std::pair{without, "neither our key nor the organizational unit weir-station"},
                                   std::pair{reader, "neither our key nor the organizational unit weir-station"}}) {
        EXPECT_THAT(refused(who, part).server, HasSubstr(why));
        EXPECT_THAT(refused(part, who).client, HasSubstr(why));
    }
}

TEST(TlsParts, ShareAPortWithOthersThatHaveAnAuthorityOfTheirOwn) {
    const Authority ours("ours"), theirs("theirs");
    const auto part = with_unit(ours.files("partition"));
    const auto recorder = theirs.files("recorder");
    auto server = TlsContext::for_server(recorder).value();
    server.serve_parts(TlsContext::for_server(part).value());
    const auto connected = [&](const TlsFiles& client) {
        auto pair = connected_pair();
        EXPECT_TRUE(TlsContext::for_client(client).value().connect(pair.client, "localhost"));
        EXPECT_TRUE(server.accept(pair.server));
        return pair;
    };
    auto from_part = connected(part);
    EXPECT_EQ(exchanged(from_part), both_words);
    EXPECT_TRUE(from_part.server.with_part());
    auto from_outside = connected(theirs.files("sender"));
    EXPECT_EQ(exchanged(from_outside), both_words);
    EXPECT_FALSE(from_outside.server.with_part());

    // Nobody becomes a part by saying so.
    auto pretended = theirs.files("sender", 3600, "weir-station");
    pretended.unit = "weir-station";
    for (auto who : {pretended, with_unit(ours.files("nobody"))}) {
        auto pair = connected(who);
        Side one{pair.client, "hello"}, other{pair.server, "hello"};
        EXPECT_TRUE(transfer(one, other, [&] { return !other.failure.empty(); }));
        EXPECT_EQ(other.received, "");
        EXPECT_FALSE(pair.server.with_part());
    }
}

TEST(Tls, FilesThatDoNotFitAreNamed) {
    const Authority authority("weir test");
    const auto good = authority.files("recorder");
    EXPECT_TRUE(TlsContext::for_server(good).has_value());
    const auto why = [](const TlsFiles& files) {
        const auto context = TlsContext::for_server(files);
        return context ? std::string() : context.error().message();
    };
    EXPECT_THAT(why({good.certificate, good.key, {}}), HasSubstr("--tls-ca"));
    EXPECT_THAT(why({good.certificate, authority.files("other").key, good.authority}), HasSubstr("other.key"));
    EXPECT_THAT(why({good.key, good.key, good.authority}), HasSubstr("recorder.key"));
    EXPECT_THAT(why({authority.folder() / "none.pem", good.key, good.authority}),
                testing::AllOf(HasSubstr("none.pem"), HasSubstr("No such file")));
    std::ofstream(authority.folder() / "empty.pem");
    EXPECT_THAT(why({good.certificate, good.key, authority.folder() / "empty.pem"}), HasSubstr("empty.pem"));
}

}  // namespace
}  // namespace weir::transport
