// SPDX-License-Identifier: Apache-2.0
// A host joins with a token, once, and renews its certificate: over real sockets, with a clock that the test moves
// where the end of a token counts.
#include "weir/service/join_client.hpp"

#include <gmock/gmock.h>

#include <barrier>
#include <fstream>
#include <mutex>
#include <thread>

#include "weir/base/file.hpp"
#include "weir/service/join_service.hpp"
#include "weir/service/join_tokens.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using transport::Authority;
using transport::Certificate;
using transport::PrivateKey;

class Folder {
public:
    Folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-join-XXXXXX").native();
        path = ::mkdtemp(pattern.data());
    }
    ~Folder() { std::filesystem::remove_all(path); }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    std::filesystem::path path;
};

JoinToken some_token() { return make_join_token(transport::sha256("an authority")).value(); }

std::string refusal(const Result<std::string>& used) {
    return used                                 ? "used for " + *used
           : used.error().code == Errc::refused ? used.error().message()
                                                : "another failure: " + used.error().message();
}

TEST(JoinToken, IsOneLineOfLettersThatReadsBackAndCutOrChangedIsNeverTheSame) {
    const auto token = some_token();
    const auto text = token.text();
    EXPECT_EQ(text.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"), text.npos);
    EXPECT_EQ(parse_join_token("  " + text + "\r\n").value(), token);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto cut = parse_join_token(text.substr(0, i));
        ASSERT_FALSE(cut.has_value()) << i;
        auto changed = text;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        const auto other = parse_join_token(changed);
        if (other) EXPECT_NE(*other, token) << i;
        else EXPECT_THAT(other.error().message(), Not(HasSubstr(changed))) << "a secret is in no message";
    }
    EXPECT_FALSE(parse_join_token(text + "A").has_value());
    EXPECT_FALSE(parse_join_token(std::string(100'000, 'A')).has_value());
}

TEST(JoinTokens, CountOnceAndTheSecondUseSaysFromWhereTheFirstCame) {
    const Folder folder;
    const ManualClock clock;
    const auto token = some_token();
    const JoinTokens tokens(folder.path / "tokens", clock);
    ASSERT_TRUE(tokens.add(token, "builder-1").has_value());
    EXPECT_EQ(refusal(tokens.use(some_token(), "", "10.0.0.9")),
              "this join token is not known here; take a new one (weir run token)");
    EXPECT_THAT(refusal(tokens.use(token, "builder-2", "10.0.0.9")),
                AllOf(HasSubstr("for the host builder-1"), HasSubstr("builder-2")));
    EXPECT_EQ(refusal(tokens.use(token, "builder-1", "10.0.0.5")), "used for builder-1") << "it was not used up before";
    const JoinTokens again(folder.path / "tokens", clock);  // as after a start of run control
    EXPECT_THAT(refusal(again.use(token, "", "10.0.0.6")),
                AllOf(HasSubstr("used already"), HasSubstr("10.0.0.5"), Not(HasSubstr(token.text()))));
}

TEST(JoinTokens, EndAfterTenMinutes) {
    const Folder folder;
    ManualClock clock;
    const JoinTokens tokens(folder.path / "tokens", clock);
    const auto first = some_token(), second = some_token();
    ASSERT_TRUE(tokens.add(first, "a").has_value());
    ASSERT_TRUE(tokens.add(second, "b").has_value());
    clock.advance(10min - 1s);
    EXPECT_EQ(refusal(tokens.use(first, "", "x")), "used for a");
    clock.advance(1s);
    EXPECT_THAT(refusal(tokens.use(second, "", "x")), HasSubstr("ended on"));
    clock.advance(48h);
    ASSERT_TRUE(tokens.add(some_token(), "c").has_value());
    EXPECT_THAT(refusal(tokens.use(second, "", "x")), HasSubstr("not known")) << "the file does not grow for ever";
}

TEST(JoinTokens, OfManyWhoComeAtOnceWithOneTokenExactlyOneGetsIt) {
    const Folder folder;
    const ManualClock clock;
    const auto token = some_token();
    ASSERT_TRUE(JoinTokens(folder.path / "tokens", clock).add(token, "a").has_value());
    std::barrier begin(4);
    std::atomic<int> used{0}, refused{0};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&] {
                const JoinTokens tokens(folder.path / "tokens", clock);  // each like a process of its own
                begin.arrive_and_wait();
                const auto got = tokens.use(token, "", "x");
                // Counted for the end of all threads, which is their join.
                if (got) used.fetch_add(1, std::memory_order_relaxed);
                else if (got.error().message().contains("used already"))
                    refused.fetch_add(1, std::memory_order_relaxed);
            });
    }
    EXPECT_EQ(used.load(), 1);
    EXPECT_EQ(refused.load(), 3);
}

TEST(JoinTokens, TheirFileIsTheOwnersHoldsNoSecretAndADamagedOneIsSaidAndJoinsNobody) {
    const Folder folder;
    const ManualClock clock;
    const auto file = folder.path / "tokens";
    const JoinTokens tokens(file, clock);
    const auto token = some_token();
    ASSERT_TRUE(tokens.add(token, "a").has_value());
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(file).permissions(), perms::owner_read | perms::owner_write);
    const auto text = read_text(file, 1_MiB).value();
    EXPECT_THAT(text, AllOf(Not(HasSubstr(token.text())), Not(HasSubstr(token.text().substr(2, 20)))));
    std::ofstream(file) << text.substr(0, text.size() / 2);
    const auto used = tokens.use(token, "", "x");
    ASSERT_FALSE(used.has_value());
    EXPECT_EQ(used.error().code, Errc::corrupt);
    EXPECT_THAT(used.error().message(), AllOf(HasSubstr(file.native()), HasSubstr("damaged")));
    EXPECT_FALSE(tokens.add(some_token(), "not a host").has_value());
    EXPECT_FALSE(tokens.add(some_token(), "-x").has_value());
}

TEST(WrongTokens, TooManyOfOneAddressAreRefusedForAMinuteAndOthersGoOn) {
    ManualClock clock;
    WrongTokens wrong(clock);
    for (std::uint32_t i = 0; i < wrong_tokens_max; ++i) {
        EXPECT_FALSE(wrong.too_many("10.0.0.1"));
        wrong.add("10.0.0.1");
    }
    EXPECT_TRUE(wrong.too_many("10.0.0.1"));
    EXPECT_FALSE(wrong.too_many("10.0.0.2"));
    for (int i = 0; i < 3000; ++i) wrong.add(std::to_string(i));  // addresses are limited, too
    clock.advance(1min);
    EXPECT_FALSE(wrong.too_many("10.0.0.1"));
}

/// Run control's two ports, with its certificate of an operator.
class Joining : public ::testing::Test {
protected:
    transport::TlsFiles files(const std::string& name, const std::string& unit, const PrivateKey& key,
                              std::string certificate = {}) const {
        if (certificate.empty())
            certificate =
                authority.sign(key.public_key(), {name, unit, {"127.0.0.1"}}, clock.wall(), 1h).value().pem().value();
        const transport::TlsFiles to{folder.path / (name + ".crt"), folder.path / (name + ".key"),
                                     folder.path / "ca.crt"};
        EXPECT_TRUE(transport::write_pem(to.key, key.pem().value(), transport::Readable::by_owner).has_value());
        EXPECT_TRUE(transport::write_pem(to.certificate, certificate, transport::Readable::by_all).has_value());
        EXPECT_TRUE(
            transport::write_pem(to.authority, authority.certificate().pem().value(), transport::Readable::by_all)
                .has_value());
        return to;
    }
    ControlAccess access(const std::string& name = "partition", const std::string& unit = "weir-operator") const {
        return {files(name, unit, PrivateKey::make().value()), {"alice"}, {}};
    }
    JoinParts parts() {
        return {authority,
                {"alice"},
                tokens,
                [this](const Report& report) {
                    const std::scoped_lock lock(mutex);
                    reports.push_back(text_of(report));
                },
                clock,
                1ms};
    }
    HttpServer joins(const ControlAccess& with) {
        auto server = HttpServer::start(join_options("127.0.0.1:0", with), join_routes(parts()));
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }
    JoinToken token_for(const std::string& host) const {
        const auto token = make_join_token(authority.certificate().fingerprint()).value();
        EXPECT_TRUE(tokens->add(token, host).has_value());
        return token;
    }
    std::string try_to_join(const HttpServer& server, const JoinToken& token, const std::string& host = "") const {
        const auto made = join(server.address(), token, PrivateKey::make().value(), host, clock, 2min);
        return made ? "joined as " + made->host : made.error().message();
    }
    std::string reported() {
        const std::scoped_lock lock(mutex);
        std::string all;
        for (const auto& report : reports) all += report + "\n";
        return all;
    }

    const SystemClock clock;
    const Folder folder;
    const Authority authority = Authority::make("test", clock.wall()).value();
    const std::shared_ptr<const JoinTokens> tokens = std::make_shared<const JoinTokens>(folder.path / "tokens", clock);
    std::mutex mutex;
    std::vector<std::string> reports;
};

TEST_F(Joining, ATokenGivesTheCertificateOfAStationOnce) {
    const auto server = joins(access());
    const auto token = token_for("builder-1");
    const auto key = PrivateKey::make().value();
    const auto made = join(server.address(), token, key, "", clock, 2min);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_EQ(made->host, "builder-1");
    const auto certificate = Certificate::read(made->certificate).value();
    EXPECT_THAT(certificate.names(), ElementsAre("builder-1", "builder-1"));
    EXPECT_THAT(certificate.units(), ElementsAre("weir-station"));
    EXPECT_EQ(certificate.public_key().bytes(), key.public_key().bytes());
    EXPECT_TRUE(certificate.is_for_address("127.0.0.1")) << "where it came from";
    EXPECT_GT(certificate.ends(), clock.wall() + 24h * 6);
    EXPECT_THAT(try_to_join(server, token), AllOf(HasSubstr("used already"), HasSubstr("127.0.0.1")));
    EXPECT_THAT(reported(),
                AllOf(HasSubstr("builder-1 joined"), HasSubstr("used already"), Not(HasSubstr(token.text()))));
}

TEST_F(Joining, WhoIsRefusedReadsWhy) {
    const auto server = joins(access());
    EXPECT_THAT(try_to_join(server, make_join_token(authority.certificate().fingerprint()).value()),
                HasSubstr("not known here"));
    const auto token = token_for("builder-1");
    EXPECT_THAT(try_to_join(server, token, "builder-2"), HasSubstr("for the host builder-1"));
    EXPECT_EQ(try_to_join(server, token, "builder-1"), "joined as builder-1");
    EXPECT_THAT(try_to_join(server, token_for("alice")), HasSubstr("listed in [security]"));
}

TEST_F(Joining, NothingIsSentToAServerOfAnotherAuthorityThanTheTokens) {
    const auto server = joins(access());
    auto token = token_for("builder-1");
    token.authority = Authority::make("test", clock.wall()).value().certificate().fingerprint();
    EXPECT_THAT(try_to_join(server, token),
                AllOf(HasSubstr("its authority is another one"), HasSubstr("nothing was sent")));
    EXPECT_THAT(reported(), IsEmpty());
}

TEST_F(Joining, AHostOfThePartitionCannotStandInForRunControl) {
    const auto server = joins(access("builder-9", "weir-station"));
    EXPECT_THAT(try_to_join(server, token_for("builder-1")),
                AllOf(HasSubstr("not that of run control"), HasSubstr("nothing was sent")));
}

TEST_F(Joining, WhereNobodyListensIsSaid) {
    const auto address = joins(access()).address();  // and it is gone
    const auto made = join(address, token_for("a"), PrivateKey::make().value(), "", clock, 2min);
    ASSERT_FALSE(made.has_value());
    EXPECT_EQ(made.error().code, Errc::io);
    EXPECT_THAT(made.error().message(), AllOf(HasSubstr(address), HasSubstr("refused")));
}

TEST_F(Joining, NamesAndRolesInARequestAreWishesThatNobodyReads) {
    const auto server = joins(access());
    const auto key = PrivateKey::make().value();
    const ControlClient client(
        server.address(), 1_MiB,
        ControlTls{transport::TlsContext::for_stranger().value(), false, [](const ssl_st*) -> Result<> { return {}; }});
    const auto answer = client.post("/join", to_json({token_for("builder-1"), key.request("alice").value(), ""}), 2min);
    ASSERT_TRUE(answer.has_value() && answer->good()) << answer->body;
    const auto made = parse_host_certificate(answer->body, key.public_key(), clock.wall()).value();
    EXPECT_THAT(Certificate::read(made.certificate).value().names(), ElementsAre("builder-1", "builder-1"));
}

TEST_F(Joining, AtThePortForJoinsNothingElseIsAnswered) {
    const auto server = joins(access());
    const ControlClient client(
        server.address(), 1_MiB,
        ControlTls{transport::TlsContext::for_stranger().value(), false, [](const ssl_st*) -> Result<> { return {}; }});
    for (const auto* path : {"/status", "/metrics", "/renew", "/run"})
        EXPECT_EQ(client.get(path, 2min).value().status, 404U) << path;
    EXPECT_EQ(client.get("/join", 2min).value().status, 405U);
    EXPECT_EQ(client.post("/join", std::string(100'000, 'x'), 2min).value().status, 413U);
    EXPECT_EQ(client.post("/join", "{}", 2min).value().status, 400U);
    const ControlClient plain(server.address());
    EXPECT_FALSE(plain.get("/status", 2min).has_value());
}

TEST_F(Joining, AfterTooManyWrongTokensAnAddressWaitsAndItIsReported) {
    const auto server = joins(access());
    const auto wrong = make_join_token(authority.certificate().fingerprint()).value();
    for (std::uint32_t i = 0; i < wrong_tokens_max; ++i)
        EXPECT_THAT(try_to_join(server, wrong), HasSubstr("not known here"));
    const auto right = token_for("builder-1");
    EXPECT_THAT(try_to_join(server, right), HasSubstr("wrong join tokens came from this address"));
    EXPECT_THAT(reported(), HasSubstr("wrong join tokens came from this address"));
}

class Renewing : public Joining {
protected:
    HttpServer control() {
        HttpServerOptions options;
        options.access = access();
        options.deadline = 1h;
        const auto answer = [](const HttpRequest&, const HttpAnswer& to) { to({.status = 200, .body = "done"}); };
        auto server = HttpServer::start(options, {renew_route(parts()), {HttpRoute::Method::post, "/run", answer}});
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }
    static ControlClient client(const HttpServer& server, const transport::TlsFiles& with) {
        return ControlClient(server.address(), 1_MiB, ControlTls{transport::TlsContext::for_client(with).value()});
    }
    std::string try_to_renew(const HttpServer& server, const transport::TlsFiles& with, const PrivateKey& key) const {
        const auto made = renew(client(server, with), key, "", clock, 2min);
        return made ? "renewed for " + made->host : made.error().message();
    }
};

TEST_F(Renewing, AStationGetsAFreshCertificateForItsNameAndKeyAndNothingElse) {
    const auto server = control();
    const auto key = PrivateKey::make().value();
    const auto with = files("builder-1", "weir-station", key);
    const auto made = renew(client(server, with), key, "", clock, 2min);
    ASSERT_TRUE(made.has_value()) << made.error().message();
    EXPECT_EQ(made->host, "builder-1");
    EXPECT_GT(Certificate::read(made->certificate).value().ends(), clock.wall() + 24h * 6);
    EXPECT_EQ(try_to_renew(server, files("builder-1", "", key, made->certificate), key), "renewed for builder-1")
        << "with the fresh one";
    EXPECT_THAT(try_to_renew(server, with, PrivateKey::make().value()), HasSubstr("another key"));
    EXPECT_EQ(client(server, with).post("/run", "{}", 2min).value().status, 403U);
    EXPECT_EQ(client(server, with).post("/renew", std::string(100'000, 'x'), 2min).value().status, 403U);
}

TEST_F(Renewing, OperatorsAndReadersHaveNothingToRenew) {
    const auto server = control();
    for (const auto* unit : {"weir-operator", "weir-reader"}) {
        const auto key = PrivateKey::make().value();
        EXPECT_THAT(try_to_renew(server, files("bob", unit, key), key),
                    testing::AnyOf(HasSubstr("only the certificate of a station"), HasSubstr("gives the role reader")));
    }
}

}  // namespace
}  // namespace weir::service
