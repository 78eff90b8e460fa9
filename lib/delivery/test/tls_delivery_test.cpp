// SPDX-License-Identifier: Apache-2.0
// The protocol under TLS: what tls_test.cpp of transport shows for sockets, here for senders and a receiver.
#include <gmock/gmock.h>

#include <array>

#include "end_to_end.hpp"
#include "test_certificates.hpp"
#include "weir/delivery/weir_delivery.h"

namespace weir::delivery {
namespace {

using namespace test;
using ::testing::AllOf;
using ::testing::HasSubstr;
using transport::test::Authority;

ReceiverOptions secured(const transport::TlsFiles& files) {
    ReceiverOptions options;
    options.tls = files;
    return options;
}

/// Named as its certificate, and one of several.
std::unique_ptr<Sender> sender_with(const Recorder& recorder, const transport::TlsFiles& files) {
    auto options = to_recorder(recorder, files.any() ? files.certificate.stem().native() + "-1" : "sender-1");
    options.tls = files;
    return Sender::open(std::move(options)).value();
}

TEST(DeliveryOverTls, EventsOfEverySizeArriveOnceAndAreAcknowledged) {
    const Authority authority("weir test");
    Recorder recorder(secured(authority.files("recorder")));
    recorder.start();
    const auto sender = sender_with(recorder, authority.files("sender"));
    std::uint64_t sent = 0;
    for (const std::size_t size : {1U, 100U, 16'384U, 16'385U, 70'000U, 1'000'000U}) {
        for (int n = 0; n < 20; ++n) {
            const std::vector<std::byte> payload(size, static_cast<std::byte>(n));
            ASSERT_TRUE(sender->send(described(++sent), payload));
        }
    }
    EXPECT_TRUE(sender->flush(60s).value());
    EXPECT_EQ(recorder.sink.taken(), sent);
    EXPECT_TRUE(recorder.sink.each_once());
    EXPECT_EQ(recorder.stats().insecure, 0U);
}

TEST(DeliveryOverTls, AnEventThatIsAnsweredBeforeTheOnesBehindItHaveLeftIsNoneThatWasNeverSent) {
    const Authority authority("weir test");
    Recorder recorder(secured(authority.files("recorder")));
    auto options = to_recorder(recorder, "sender-1");
    options.tls = authority.files("sender");
    options.socket.send_buffer = 16_KiB;  // many are encrypted at once, and are sent piece by piece
    const auto sender = Sender::open(std::move(options)).value();
    const std::vector<std::byte> payload(50'000, std::byte{7});
    for (std::uint64_t id = 1; id <= 60; ++id) ASSERT_TRUE(sender->send(described(id), payload));
    recorder.start();
    const auto flushed = sender->flush(60s);
    ASSERT_TRUE(flushed.has_value()) << flushed.error().message();
    EXPECT_EQ(sender->stats().reconnects, 0U) << sender->stats().last_problem;
    EXPECT_EQ(sender->stats().resent, 0U);
    EXPECT_EQ(recorder.sink.taken(), 60U);
}

TEST(DeliveryOverTls, WhoeverShowsNoGoodCertificateIsClosedCountedAndNamedAndAGoodSenderDoesNotNotice) {
    const Authority ours("ours"), theirs("theirs");
    Recorder recorder(secured(ours.files("recorder")));
    recorder.start();
    const auto good = sender_with(recorder, ours.files("good"));
    auto stranger_files = theirs.files("stranger");
    stranger_files.authority = ours.files("x").authority;
    const auto stranger = sender_with(recorder, stranger_files);
    ASSERT_TRUE(eventually([&] { return recorder.reported("was disconnected") >= 1; }));
    ASSERT_TRUE(eventually([&] {
        return stranger->stats().last_problem.find("does not take our certificate") != std::string::npos;
    })) << stranger->stats().last_problem;
    const auto expired = sender_with(recorder, ours.files("old", -10));
    ASSERT_TRUE(eventually([&] { return recorder.reported("was disconnected") >= 3; }));
    ASSERT_TRUE(good->send(described(1), as_data("event")));
    EXPECT_TRUE(good->flush(60s).value());
    EXPECT_EQ(good->stats().reconnects, 0U);
    EXPECT_FALSE(stranger->stats().connected);
    EXPECT_GE(recorder.stats().insecure, 3U);
    EXPECT_EQ(recorder.sink.taken(), 1U);
}

TEST(DeliveryOverTls, PartsOfOurOwnSystemAndSendersFromOutsideComeToOnePortWithCertificatesOfTheirOwn) {
    const Authority ours("ours"), theirs("theirs");
    const auto part = [](transport::TlsFiles files) {
        files.unit = "weir-station";
        return files;
    };
    auto options = secured(theirs.files("recorder"));
    options.tls_of_parts = part(ours.files("host-1", 3600, "weir-station"));
    Recorder recorder(options);
    recorder.start();
    std::uint64_t sent = 0;
    const auto arrives = [&](const std::string& name, const transport::TlsFiles& files) {
        auto to = to_recorder(recorder, name);
        to.tls = files;
        const auto sender = Sender::open(to).value();
        EXPECT_TRUE(sender->send(described(++sent), as_data("event")));
        return sender->flush(60s).value_or(false);
    };
    EXPECT_TRUE(arrives("sfi-1", part(ours.files("host-2", 3600, "weir-station"))));  // with any name
    EXPECT_TRUE(arrives("sender-1", theirs.files("sender")));
    EXPECT_EQ(recorder.stats().insecure, 0U);

    const auto stranger = sender_with(recorder, part(theirs.files("eve", 3600, "weir-station")));
    const auto without_role = sender_with(recorder, part(ours.files("nobody")));
    EXPECT_TRUE(eventually([&] { return recorder.reported("nor the organizational unit weir-station") >= 1; }));
    EXPECT_TRUE(eventually([&] { return !stranger->stats().last_problem.empty(); }));
    EXPECT_EQ(recorder.sink.taken(), 2U);
}

TEST(DeliveryOverTls, ACertificateSpeaksForItsOwnNameOnly) {
    const Authority authority("weir test");
    Recorder recorder(secured(authority.files("recorder")));
    recorder.start();
    const auto files = authority.files("filter");
    for (const auto* name : {"filter", "filter-1", "filter:2", "filter.3", "filter_4"}) {
        auto options = to_recorder(recorder, name);
        options.tls = files;
        const auto sender = Sender::open(options).value();
        ASSERT_TRUE(sender->send(described(1), as_data("event")));
        EXPECT_TRUE(sender->flush(60s).value()) << name;
    }
    for (const auto* name : {"filters", "other", "fil", "other-filter"}) {
        auto options = to_recorder(recorder, name);
        options.tls = files;
        const auto sender = Sender::open(options).value();
        ASSERT_TRUE(sender->send(described(1), as_data("event")));
        const auto flushed = sender->flush(60s);
        ASSERT_FALSE(flushed.has_value()) << name;
        EXPECT_THAT(flushed.error().message(), AllOf(HasSubstr("not_allowed"), HasSubstr("made out to filter")));
    }
    EXPECT_EQ(recorder.sink.taken(), 5U);
    EXPECT_EQ(recorder.stats().closed[wire::index(wire::ByeReason::not_allowed)], 4U);

    auto open = secured(authority.files("recorder"));
    open.tls_any_name = true;
    Recorder lenient(open);
    lenient.start();
    auto options = to_recorder(lenient, "other");
    options.tls = files;
    const auto sender = Sender::open(options).value();
    ASSERT_TRUE(sender->send(described(1), as_data("event")));
    EXPECT_TRUE(sender->flush(60s).value());
}

TEST(DeliveryOverTls, AReceiverSaysWhenItsCertificateEnds) {
    const Authority authority("weir test");
    const Recorder plain, secure(secured(authority.files("recorder", 1800)));
    EXPECT_FALSE(plain.receiver->certificate_ends().has_value());
    const auto remaining = secure.receiver->certificate_ends().value() - std::chrono::system_clock::now();
    EXPECT_GT(remaining, 0s);
    EXPECT_LE(remaining, 1801s);
}

TEST(DeliveryOverTls, PlainOnATlsPortAndTlsOnAPlainPortAreNamedToTheSender) {
    const Authority authority("weir test");
    Recorder secure(secured(authority.files("recorder"))), open;
    secure.start();
    open.start();
    const auto plain = sender_with(secure, {});
    EXPECT_TRUE(eventually([&] { return plain->stats().last_problem.find("wants TLS") != std::string::npos; }))
        << plain->stats().last_problem;
    const auto tls = sender_with(open, authority.files("sender"));
    EXPECT_TRUE(eventually([&] { return tls->stats().last_problem.find("does not speak TLS") != std::string::npos; }))
        << tls->stats().last_problem;
    EXPECT_TRUE(eventually([&] { return secure.stats().insecure >= 1; }));  // counted after the alert was sent
    EXPECT_GE(open.reported("was disconnected"), 1U);
}

TEST(DeliveryOverTls, AHandshakeThatIsBegunAndNotFinishedMeetsTheHeaderDeadline) {
    const Authority authority("weir test");
    auto options = secured(authority.files("recorder"));
    options.header_deadline = 50ms;
    options.farewell = 50ms;
    Recorder recorder(options);
    recorder.start();
    const auto half = transport::begin_connect(
                          transport::resolve({"127.0.0.1", recorder.receiver->port()}, false).value().front(), {})
                          .value();
    EXPECT_TRUE(eventually([&] { return recorder.reported("in time") == 1; }));
    EXPECT_TRUE(eventually([&] { return recorder.stats().connections == 0; }));
}

TEST(DeliveryOverTls, AProgramInCNamesTheSameThreeFiles) {
    const Authority authority("weir test");
    Recorder recorder(secured(authority.files("recorder")));
    recorder.start();
    const auto files = authority.files("from-c");
    const auto host = to_recorder(recorder).host;
    weir_sender_options options{};
    options.host = host.c_str();
    options.name = "from-c";
    options.run = number(run);
    options.tls_certificate = files.certificate.c_str();
    options.tls_key = files.key.c_str();
    std::array<char, 200> why{};
    EXPECT_EQ(weir_sender_create(&options, why.data(), why.size()), nullptr);
    EXPECT_THAT(why.data(), HasSubstr("three files"));
    options.tls_ca = files.authority.c_str();
    weir_sender* sender = weir_sender_create(&options, why.data(), why.size());
    ASSERT_NE(sender, nullptr) << why.data();
    const char* stream = "physics_Main";
    const weir_event event{.global_id = 1, .level1_id = 1, .lumi_block = 1, .streams = &stream, .stream_count = 1};
    EXPECT_EQ(weir_sender_send(sender, &event, "hello", 5, nullptr), WEIR_DELIVERY_OK);
    EXPECT_EQ(weir_sender_flush(sender, 60'000), WEIR_DELIVERY_OK);
    weir_sender_destroy(sender);
    EXPECT_EQ(recorder.sink.taken(), 1U);
}

TEST(DeliveryOverTls, OneFileWithoutTheOthersIsAnErrorOfUse) {
    auto options = SenderOptions{.host = "localhost:1"};
    options.tls.certificate = "only.pem";
    EXPECT_EQ(Sender::open(options).error().code, Errc::usage);
}

}  // namespace
}  // namespace weir::delivery
