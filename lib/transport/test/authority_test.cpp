// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/authority.hpp"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "weir/base/file.hpp"
#include "weir/transport/tls.hpp"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

WallTime now() { return SystemClock().wall(); }

class AuthorityOfAPartition : public ::testing::Test {
protected:
    AuthorityOfAPartition() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-authority-XXXXXX").native();
        folder = ::mkdtemp(pattern.data());
    }
    ~AuthorityOfAPartition() override { std::filesystem::remove_all(folder); }

    /// As a program finds it on a disk.
    TlsFiles files(const Authority& authority, const Subject& subject, std::chrono::seconds validity = 1h) const {
        const auto key = PrivateKey::make().value();
        const auto certificate = authority.sign(key.public_key(), subject, now(), validity).value();
        const TlsFiles to{folder / (subject.name + ".crt"), folder / (subject.name + ".key"), folder / "ca.crt"};
        EXPECT_TRUE(write_pem(to.key, key.pem().value(), Readable::by_owner).has_value());
        EXPECT_TRUE(write_pem(to.certificate, certificate.pem().value(), Readable::by_all).has_value());
        EXPECT_TRUE(write_pem(to.authority, authority.certificate().pem().value(), Readable::by_all).has_value());
        return to;
    }
    static ::mode_t rights_of(const std::filesystem::path& path) {
        struct ::stat status{};
        EXPECT_EQ(::stat(path.c_str(), &status), 0);
        return status.st_mode & 07777U;
    }

    std::filesystem::path folder;
};

TEST_F(AuthorityOfAPartition, WhatItSignsIsTakenByServersAndClientsWithItsNameRoleAndAddresses) {
    const auto authority = Authority::make("test beam", now()).value();
    const auto written =
        files(authority, {"builder-1", "weir-station", {"10.77.0.5", "::1", "builder-1.daq"}}, 24h * 7);
    EXPECT_TRUE(TlsContext::for_server(written).has_value());
    EXPECT_TRUE(TlsContext::for_client(written).has_value());
    const auto read = Certificate::read(read_text(written.certificate, 64_KiB).value()).value();
    EXPECT_THAT(read.names(), ElementsAre("builder-1", "builder-1.daq"));
    EXPECT_THAT(read.units(), ElementsAre("weir-station"));
    EXPECT_TRUE(read.is_for_address("10.77.0.5"));
    EXPECT_TRUE(read.is_for_address("::1"));
    EXPECT_FALSE(read.is_for_address("10.77.0.6"));
    EXPECT_LE(read.begins(), now());
    EXPECT_GT(read.ends(), now() + 24h * 6);
    EXPECT_LE(read.ends(), now() + 24h * 7);
    const auto anchor = authority.certificate().pem().value();
    EXPECT_TRUE(check_chain(read.pem().value(), anchor, now()).has_value());
    const auto late = check_chain(read.pem().value(), anchor, now() + 24h * 8);
    ASSERT_FALSE(late.has_value());
    EXPECT_THAT(late.error().message(), HasSubstr("expired"));
}

TEST_F(AuthorityOfAPartition, ItIsReadBackFromItsFilesAndAnotherKeyIsNotTakenForIts) {
    const auto authority = Authority::make("p", now()).value(), other = Authority::make("p", now()).value();
    const auto certificate = authority.certificate().pem().value();
    const auto again = Authority::read(certificate, authority.key().pem().value());
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(again->certificate().fingerprint(), authority.certificate().fingerprint());
    EXPECT_NE(other.certificate().fingerprint(), authority.certificate().fingerprint());
    const auto mixed = Authority::read(certificate, other.key().pem().value());
    ASSERT_FALSE(mixed.has_value());
    EXPECT_THAT(mixed.error().message(), HasSubstr("not that of its certificate"));
    EXPECT_FALSE(check_chain(other.sign(other.key().public_key(), {"x", ""}, now(), 1h).value().pem().value(),
                             certificate, now())
                     .has_value());
}

TEST_F(AuthorityOfAPartition, ItSignsNoAuthorities) {
    const auto authority = Authority::make("p", now()).value();
    const auto key = PrivateKey::make().value();
    const auto signed_one = authority.sign(key.public_key(), {"below", "weir-operator"}, now(), 1h).value();
    const auto below = Authority::read(signed_one.pem().value(), key.pem().value());
    EXPECT_FALSE(below.has_value());
}

TEST_F(AuthorityOfAPartition, OfARequestOnlyTheKeyIsTaken) {
    const auto authority = Authority::make("p", now()).value();
    const auto key = PrivateKey::make().value();
    const auto request = key.request("operator").value();
    const auto wanted = key_of_request(request);
    ASSERT_TRUE(wanted.has_value()) << wanted.error().message();
    EXPECT_EQ(wanted->bytes(), key.public_key().bytes());
    const auto made = authority.sign(*wanted, {"host-1", "weir-station"}, now(), 1h).value();
    EXPECT_THAT(made.names(), ElementsAre("host-1"));
    EXPECT_THAT(made.units(), ElementsAre("weir-station"));
}

TEST_F(AuthorityOfAPartition, ARequestThatIsCutOrChangedAnywhereIsNeverTakenForAnotherKey) {
    const auto key = PrivateKey::make().value();
    const auto request = key.request("host-1").value();
    for (std::size_t i = 0; i < request.size(); ++i) {
        const auto cut = key_of_request(std::string_view(request).substr(0, i));
        auto changed = request;
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        const auto other = key_of_request(changed);
        for (const auto& read : {cut, other}) {  // the last line's end may be missing
            if (read) EXPECT_EQ(read->bytes(), key.public_key().bytes()) << i;
            else EXPECT_THAT(read.error().message(), Not(HasSubstr("\n")));
        }
    }
    EXPECT_FALSE(key_of_request(std::string(pem_size_max + 1, 'x')).has_value());
}

TEST_F(AuthorityOfAPartition, NamesThatNoCertificateCanHaveAreUsageErrors) {
    const auto authority = Authority::make("p", now()).value();
    const auto key = PrivateKey::make().value().public_key();
    for (const auto& subject : {Subject{"", "u"}, Subject{std::string(65, 'x'), "u"}, Subject{"x", "u", {"not a host"}},
                                Subject{"x", "u", {"a,DNS:b"}}}) {
        const auto made = authority.sign(key, subject, now(), 1h);
        ASSERT_FALSE(made.has_value());
        EXPECT_EQ(made.error().code, Errc::usage);
    }
    EXPECT_TRUE(Authority::make(std::string(100, 'n') + "\xc3\xa9", now()).has_value()) << "its name is shortened";
    EXPECT_TRUE(Authority::make(std::string(50, 'n') + "\xc3\xa9", now()).has_value()) << "not within a character";
}

TEST_F(AuthorityOfAPartition, AKeyIsReadableByItsOwnerOnlyWhateverLayThereBefore) {
    const auto path = folder / "x.key";
    for (const auto* old : {"x.key", "x.key.new"}) {
        ASSERT_TRUE(write_pem(folder / old, "old", Readable::by_all).has_value());
        ASSERT_TRUE(write_pem(path, "secret", Readable::by_owner).has_value());
        EXPECT_EQ(rights_of(path), 0600U);
        EXPECT_EQ(read_text(path, 1_KiB).value(), "secret");
    }
    std::filesystem::create_symlink(folder / "elsewhere", folder / "x.key.new");
    ASSERT_TRUE(write_pem(path, "secret", Readable::by_owner).has_value());
    EXPECT_FALSE(std::filesystem::exists(folder / "elsewhere")) << "a link is not followed";
}

}  // namespace
}  // namespace weir::transport
