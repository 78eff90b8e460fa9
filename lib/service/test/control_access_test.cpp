// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_access.hpp"

#include <gmock/gmock.h>

#include <condition_variable>
#include <mutex>

#include "test_certificates.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/http_server.hpp"
#include "weir/transport/socket.hpp"

namespace weir::service {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using transport::test::Authority;

/// What the server said of those that it refused.
class Refusals {
public:
    void add(const std::string& why) {
        const std::scoped_lock lock(mutex_);
        all_.push_back(why);
        changed_.notify_all();
    }
    std::string next() {
        std::unique_lock lock(mutex_);
        if (!changed_.wait_for(lock, 2min, [&] { return taken_ < all_.size(); })) return "none came";
        return all_[taken_++];
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<std::string> all_;
    std::size_t taken_ = 0;
};

class SecuredPort : public ::testing::Test {
protected:
    HttpServer serve(ControlAccess access = {}, const std::string& listen = "127.0.0.1:0") {
        if (!access.tls.any()) access.tls = ours.files("partition");
        HttpServerOptions options;
        options.listen = listen;
        options.deadline = 1h;  // a machine may be busy with something else
        options.access = std::move(access);
        options.refused = [this](const HttpRefusal& refusal) { refusals.add(refusal.why); };
        const auto answer = [](const char* text) {
            return [text](const HttpRequest&, const HttpAnswer& to) { to({.status = 200, .body = text}); };
        };
        auto server = HttpServer::start(options, {{HttpRoute::Method::get, "/status", answer("asked")},
                                                  {HttpRoute::Method::post, "/run", answer("commanded")}});
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }
    static ControlClient client(const HttpServer& server, const transport::TlsFiles& files, bool own = false) {
        auto context = transport::TlsContext::for_client(files).value();
        if (own) context.trust_own_key();
        return ControlClient(server.address(), 1_MiB, ControlTls{std::move(context), own});
    }
    static std::string ask(const ControlClient& client) { return text_of(client.get("/status", 60s)); }
    static std::string command(const ControlClient& client) { return text_of(client.post("/run", "{}", 60s)); }
    static std::string text_of(const Result<ControlAnswer>& answer) {
        return !answer ? answer.error().message() : answer->good() ? answer->body : answer->error();
    }

    Refusals refusals;
    Authority ours{"ours"}, theirs{"theirs"};
};

TEST_F(SecuredPort, AnOperatorCommandsAReaderAsksAndWhoHasNoRoleDoesNeither) {
    const auto server = serve();
    const auto alice = client(server, ours.files("alice", 3600, "weir-operator"));
    EXPECT_EQ(ask(alice), "asked");
    EXPECT_EQ(command(alice), "commanded");

    for (const auto& [name, role] : {std::pair("bob", "reader"), std::pair("ros-1", "station")}) {
        const auto other = client(server, ours.files(name, 3600, "weir-" + std::string(role)));
        EXPECT_EQ(ask(other), "asked");
        const auto why = command(other);
        EXPECT_THAT(why, AllOf(HasSubstr(name), HasSubstr(role), HasSubstr("needs the role operator")));
        EXPECT_EQ(refusals.next(), why);
    }

    const auto nobody = client(server, ours.files("nobody", 3600, "accounting"));
    EXPECT_THAT(ask(nobody), AllOf(HasSubstr("nobody"), HasSubstr("gives no role")));
    EXPECT_THAT(command(nobody), HasSubstr("gives no role"));
    EXPECT_THAT(text_of(nobody.get("/nothing", 60s)), HasSubstr("gives no role")) << "it learns of no path";
}

TEST_F(SecuredPort, TheRoleOfACertificateWithoutOneIsThatOfItsNameInTheLists) {
    const auto server = serve({.tls = {}, .operators = {"carol"}, .readers = {"dave"}});
    EXPECT_EQ(command(client(server, ours.files("carol"))), "commanded");
    EXPECT_EQ(ask(client(server, ours.files("dave"))), "asked");
    EXPECT_THAT(command(client(server, ours.files("dave"))), HasSubstr("gives the role reader"));
    EXPECT_THAT(ask(client(server, ours.files("erin"))), HasSubstr("gives no role"));
}

TEST_F(SecuredPort, WhoHasThePartitionsOwnKeyIsAnOperatorAndANamesakeIsNot) {
    ControlAccess access;
    access.tls = ours.files("own");
    const auto server = serve(access);
    EXPECT_EQ(command(client(server, access.tls)), "commanded");
    EXPECT_EQ(command(client(server, ours.renewed(access.tls, "own"))), "commanded") << "renewed, with the same key";
    const auto namesake = ours.files("own");  // in the same files
    EXPECT_THAT(command(client(server, namesake)), HasSubstr("gives no role"));
}

TEST_F(SecuredPort, PartsOfAPartitionGoOnWhenTheirCertificateHasEndedAndOthersAreToldThatItHas) {
    ControlAccess access;
    access.tls = ours.files("ended", -60);
    const auto server = serve(access);
    EXPECT_EQ(command(client(server, access.tls, true)), "commanded");
    EXPECT_THAT(command(client(server, ours.files("alice", 3600, "weir-operator"))),
                HasSubstr("certificate has expired"));
}

TEST_F(SecuredPort, APartOfThePartitionBelievesOnlyWhoHasThePartitionsKey) {
    const auto server = serve();  // of another key, and of the same authority
    EXPECT_THAT(command(client(server, ours.files("other", 3600, "weir-operator"), true)),
                HasSubstr("not the partition's own"));
}

TEST_F(SecuredPort, ACertificateForServersOrClientsAloneIsRefusedWhereItIsRead) {
    const auto server = ours.files("server", 3600, "", "serverAuth"),
               asker = ours.files("asker", 3600, "", "clientAuth");
    EXPECT_TRUE(transport::TlsContext::for_server(server).has_value());
    EXPECT_TRUE(transport::TlsContext::for_client(asker).has_value());
    const auto as_client = transport::TlsContext::for_client(server);
    ASSERT_FALSE(as_client.has_value());
    EXPECT_THAT(as_client.error().message(), AllOf(HasSubstr("server.pem"), HasSubstr("clientAuth")));
    EXPECT_FALSE(transport::TlsContext::for_server(asker).has_value());
}

TEST_F(SecuredPort, WhoIsExpiredForeignOrWithoutACertificateIsRefusedByALineThatSaysWhich) {
    const auto server = serve({.tls = {}, .operators = {"late", "stranger"}, .readers = {}});
    EXPECT_THAT(ask(client(server, ours.files("late", -60))), HasSubstr("does not take our certificate"));
    EXPECT_THAT(refusals.next(), HasSubstr("certificate has expired"));

    auto stranger = theirs.files("stranger");
    stranger.authority = ours.files("known").authority;
    EXPECT_THAT(ask(client(server, stranger)), HasSubstr("does not take our certificate"));
    EXPECT_THAT(refusals.next(), HasSubstr("its certificate is not taken"));

    const ControlClient plain("127.0.0.1:" + std::to_string(server.port()));
    EXPECT_FALSE(plain.get("/status", 60s).has_value());
    EXPECT_THAT(refusals.next(), HasSubstr("does not speak TLS"));

    EXPECT_EQ(ask(client(server, ours.files("alice", 3600, "weir-reader"))), "asked") << "others go on";
}

TEST_F(SecuredPort, AClientDoesNotBelieveAServerOfAnotherAuthority) {
    const auto server = serve();
    EXPECT_THAT(ask(client(server, theirs.files("alice", 3600, "weir-operator"))),
                HasSubstr("its certificate is not taken"));
}

TEST_F(SecuredPort, WhoNeverBeginsItsHandshakeKeepsNobodyOut) {
    const auto server = serve();  // whose deadline is an hour: places come back by nothing else
    std::vector<transport::Socket> idle;
    for (int i = 0; i < 40; ++i) {
        const auto addresses = transport::resolve({"127.0.0.1", server.port()}, false);
        auto socket = transport::begin_connect(addresses.value().front(), {});
        ASSERT_TRUE(socket.has_value());
        idle.push_back(std::move(*socket));
    }
    EXPECT_EQ(ask(client(server, ours.files("alice", 3600, "weir-reader"))), "asked");
}

TEST_F(SecuredPort, WhatOtherMachinesReachIsServedWithTlsOnly) {
    for (const char* everywhere : {"0.0.0.0:0", "[::]:0"}) {
        HttpServerOptions options;
        options.listen = everywhere;
        const auto open = HttpServer::start(options, {});
        ASSERT_FALSE(open.has_value()) << everywhere;
        EXPECT_EQ(open.error().code, Errc::usage);
        EXPECT_THAT(open.error().message(), HasSubstr("needs TLS"));
    }
    const auto server = serve({}, "0.0.0.0:0");
    EXPECT_EQ(ask(client(server, ours.files("alice", 3600, "weir-reader"))), "asked");
}

TEST_F(SecuredPort, CertificatesThatDoNotFitAreNamedAtTheStart) {
    HttpServerOptions options;
    options.access = ControlAccess{.tls = ours.files("partition")};
    options.access->tls.key = ours.files("other").key;
    const auto none = HttpServer::start(options, {});
    ASSERT_FALSE(none.has_value());
    EXPECT_THAT(none.error().message(), HasSubstr("other.key"));
}

}  // namespace
}  // namespace weir::service
