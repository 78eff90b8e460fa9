// SPDX-License-Identifier: Apache-2.0
// The files of a machine that joined a partition, and when its certificate is renewed.
#include "host/join.hpp"

#include <gmock/gmock.h>

#include "run/authority/own_authority.hpp"
#include "weir/base/file.hpp"
#include "weir/service/join_service.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

/// Goes as the machine's does, and may be moved.
class MovedClock final : public Clock {
public:
    [[nodiscard]] SteadyTime now() const noexcept override { return system.now(); }
    [[nodiscard]] WallTime wall() const noexcept override { return system.wall() + by; }
    SystemClock system;
    std::chrono::hours by{0};
};

class JoinedMachine : public ::testing::Test {
protected:
    JoinedMachine() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-host-XXXXXX").native();
        folder = ::mkdtemp(pattern.data());
        auto prepared = OwnAuthority::prepare(folder, "test", clock);
        EXPECT_TRUE(prepared.has_value()) << prepared.error().message();
        own.emplace(std::move(prepared.value()));
        access.tls = own_files(folder);
    }
    ~JoinedMachine() override { std::filesystem::remove_all(folder); }

    service::JoinParts parts() {
        return {own->authority(),
                {},
                std::make_shared<const service::JoinTokens>(own->tokens_file(), clock),
                {},
                clock,
                1ms};
    }
    service::HttpServer joins() {
        auto server =
            service::HttpServer::start(service::join_options("127.0.0.1:0", access), service::join_routes(parts()));
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }
    service::HttpServer control() {
        service::HttpServerOptions options;
        options.access = access;
        auto server = service::HttpServer::start(options, {service::renew_route(parts())});
        EXPECT_TRUE(server.has_value()) << server.error().message();
        return std::move(server.value());
    }
    std::string token_for(const std::string& host) {
        const auto token = service::make_join_token(own->authority().certificate().fingerprint()).value();
        EXPECT_TRUE(service::JoinTokens(own->tokens_file(), clock).add(token, host).has_value());
        return token.text() + "\n";
    }

    MovedClock clock;
    std::filesystem::path folder;
    std::optional<OwnAuthority> own;
    service::ControlAccess access;
};

TEST_F(JoinedMachine, HasItsFilesAndRenewsThemWhenHalfOfTheirTimeIsOver) {
    const auto server = joins();
    const auto directory = folder / "host";
    const auto joined = join_partition(server.address(), token_for("builder-1"), directory, "builder-1", clock);
    ASSERT_TRUE(joined.has_value()) << joined.error().message();
    EXPECT_EQ(joined->host, "builder-1");
    const auto files = host_files(directory);
    using std::filesystem::perms;
    EXPECT_EQ(std::filesystem::status(files.key).permissions(), perms::owner_read | perms::owner_write);
    EXPECT_TRUE(transport::TlsContext::for_server(files).has_value());
    EXPECT_FALSE(certificate_is_due(directory, clock).value());
    clock.by = 24h * 3;
    EXPECT_FALSE(certificate_is_due(directory, clock).value());
    clock.by = 24h * 4;
    EXPECT_TRUE(certificate_is_due(directory, clock).value());

    const auto before = read_text(files.key, 64_KiB).value();
    const auto run_control = control();
    const auto renewed = renew_certificate(run_control.address(), directory, clock);
    ASSERT_TRUE(renewed.has_value()) << renewed.error().message();
    EXPECT_EQ(renewed->host, "builder-1");
    EXPECT_GT(renewed->ends, joined->ends);
    EXPECT_EQ(read_text(files.key, 64_KiB).value(), before) << "the key is the same";
    EXPECT_FALSE(certificate_is_due(directory, clock).value());
}

TEST_F(JoinedMachine, ATokenIsNotUsedUpForADirectoryThatCannotBeWritten) {
    const auto server = joins();
    const auto token = token_for("builder-1");
    ASSERT_TRUE(transport::write_pem(folder / "file", "x", transport::Readable::by_all).has_value());
    const auto failed = join_partition(server.address(), token, folder / "file", "", clock);
    ASSERT_FALSE(failed.has_value());
    EXPECT_THAT(failed.error().message(), HasSubstr("file"));
    EXPECT_TRUE(join_partition(server.address(), token, folder / "host", "", clock).has_value());
}

TEST_F(JoinedMachine, ThePartitionsCertificateIsMadeAnewWithItsKeyBeforeItEnds) {
    const auto file = own_files(folder);
    const auto text = [](const std::filesystem::path& path) { return read_text(path, 64_KiB).value(); };
    const auto certificate = text(file.certificate), key = text(file.key), authority = text(file.authority);
    ASSERT_TRUE(OwnAuthority::prepare(folder, "test", clock).has_value());
    EXPECT_EQ(text(file.certificate), certificate) << "a second start uses what is there";
    clock.by = 24h * 200;
    ASSERT_TRUE(OwnAuthority::prepare(folder, "test", clock).has_value());
    EXPECT_NE(text(file.certificate), certificate);
    EXPECT_EQ(text(file.key), key);
    EXPECT_EQ(text(file.authority), authority);
}

TEST_F(JoinedMachine, AnAuthoritysKeyThatOthersCanReadIsRefused) {
    const auto key = authority_folder(folder) / "ca.key";
    std::filesystem::permissions(key, std::filesystem::perms::group_read, std::filesystem::perm_options::add);
    const auto opened = OwnAuthority::open(folder);
    ASSERT_FALSE(opened.has_value());
    EXPECT_THAT(opened.error().message(), AllOf(HasSubstr(key.native()), HasSubstr("may be read by others")));
}

TEST_F(JoinedMachine, AStartThatWasCutShortLeavesNoHalfAnAuthority) {
    const auto other = folder / "other";
    std::filesystem::create_directories(other / "authority.new");
    ASSERT_TRUE(
        transport::write_pem(other / "authority.new" / "ca.key", "half", transport::Readable::by_owner).has_value());
    ASSERT_TRUE(OwnAuthority::prepare(other, "test", clock).has_value());
    EXPECT_FALSE(std::filesystem::exists(other / "authority.new"));
    EXPECT_FALSE(OwnAuthority::open(folder / "none").has_value());
}

}  // namespace
}  // namespace weir::app
