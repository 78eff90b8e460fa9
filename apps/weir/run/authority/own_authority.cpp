// SPDX-License-Identifier: Apache-2.0
#include "run/authority/own_authority.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <optional>

#include "weir/base/file.hpp"
#include "weir/transport/certificate.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using transport::Readable;

constexpr auto own_validity = std::chrono::hours(24 * 365);  // of the partition's own certificate
constexpr Bytes authority_file_max = 64_KiB;

struct AuthorityFiles {
    std::filesystem::path ca_certificate, ca_key, certificate, key;
    explicit AuthorityFiles(const std::filesystem::path& folder)
        : ca_certificate(folder / "ca.crt"),
          ca_key(folder / "ca.key"),
          certificate(folder / "partition.crt"),
          key(folder / "partition.key") {}
};

/// Under which other machines and this one reach it.
std::vector<std::string> addresses_of_this_machine() {
    constexpr std::size_t addresses_max = 60;
    std::vector<std::string> all{"127.0.0.1", "::1"};
    ::ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) return all;
    const std::unique_ptr<::ifaddrs, void (*)(::ifaddrs*)> owned(list, &::freeifaddrs);
    for (const auto* at = list; at != nullptr; at = at->ifa_next) {
        if (at->ifa_addr == nullptr || all.size() >= addresses_max) continue;
        std::array<char, INET6_ADDRSTRLEN> text{};
        const void* address = nullptr;
        if (at->ifa_addr->sa_family == AF_INET) address = &reinterpret_cast<const sockaddr_in*>(at->ifa_addr)->sin_addr;
        if (at->ifa_addr->sa_family == AF_INET6) {
            const auto& six = reinterpret_cast<const sockaddr_in6*>(at->ifa_addr)->sin6_addr;
            if (!IN6_IS_ADDR_LINKLOCAL(&six)) address = &six;  // of an interface, and so not one for others
        }
        if (address == nullptr || ::inet_ntop(at->ifa_addr->sa_family, address, text.data(), text.size()) == nullptr)
            continue;
        if (std::ranges::find(all, text.data()) == all.end()) all.emplace_back(text.data());
    }
    return all;
}

std::vector<std::string> names_of_this_machine() {
    auto all = addresses_of_this_machine();
    all.emplace_back("localhost");
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return all;
    const std::string host = name.data();
    const bool good =
        !host.empty() && host.front() != '-' && host.front() != '.' && std::ranges::all_of(host, [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
                   c == '_';
        });
    if (good && host != "localhost") all.push_back(host);
    return all;
}

/// A key that others can read is no secret.
Result<std::string> read_key(const std::filesystem::path& path) {
    struct ::stat status{};
    if (::stat(path.c_str(), &status) != 0) return fail_errno(errno, fmt::format("cannot read {}", path.native()));
    if ((status.st_mode & 077U) != 0)
        return fail(Errc::usage,
                    fmt::format("{} may be read by others (mode {:04o}); chmod 600 it, and if somebody may "
                                "have read it, remove {} for a new authority",
                                path.native(), status.st_mode & 07777U, path.parent_path().native()));
    return read_text(path, authority_file_max);
}

Result<transport::Authority> read_authority(const std::filesystem::path& folder) {
    const AuthorityFiles names(folder);
    const auto certificate = WEIR_TRY(read_text(names.ca_certificate, authority_file_max));
    const auto key = WEIR_TRY(read_key(names.ca_key));
    auto authority = transport::Authority::read(certificate, key);
    if (!authority)
        return fail(authority.error().code,
                    fmt::format("{} is damaged: {}; remove it for a new authority, under which everybody needs a new "
                                "certificate",
                                folder.native(), authority.error().message()));
    return authority;
}

Result<> write_own(const AuthorityFiles& names, const transport::Authority& authority, const transport::PrivateKey& key,
                   const std::string& partition, WallTime now) {
    const auto name = partition.empty() || partition.size() > 64 ? std::string("partition") : partition;
    const auto made = WEIR_TRY(
        authority.sign(key.public_key(),
                       {name, fmt::format("weir-{}", service::name(service::Role::operation)), names_of_this_machine()},
                       now, own_validity));
    const auto text = WEIR_TRY(made.pem());
    return transport::write_pem(names.certificate, text, Readable::by_all);
}

Result<> make_authority(const std::filesystem::path& folder, const std::string& partition, WallTime now) {
    auto fresh = folder;
    fresh += ".new";
    std::error_code failed;
    std::filesystem::remove_all(fresh, failed);  // of a start that was cut short
    if (failed) return fail_errno(failed.value(), fmt::format("cannot remove {}", fresh.native()));
    if (::mkdir(fresh.c_str(), 0700) != 0) return fail_errno(errno, fmt::format("cannot make {}", fresh.native()));
    const auto authority = WEIR_TRY(transport::Authority::make(partition, now));
    const auto key = WEIR_TRY(transport::PrivateKey::make());
    const auto ca_certificate = WEIR_TRY(authority.certificate().pem()), ca_key = WEIR_TRY(authority.key().pem());
    const auto own_key = WEIR_TRY(key.pem());
    const AuthorityFiles names(fresh);
    WEIR_TRY(transport::write_pem(names.ca_key, ca_key, Readable::by_owner));
    WEIR_TRY(transport::write_pem(names.key, own_key, Readable::by_owner));
    WEIR_TRY(transport::write_pem(names.ca_certificate, ca_certificate, Readable::by_all));
    WEIR_TRY(write_own(names, authority, key, partition, now));
    std::filesystem::rename(fresh, folder, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot write {}", folder.native()));
    return sync_directory(folder.parent_path());
}

}  // namespace

Result<OwnAuthority> OwnAuthority::prepare(const std::filesystem::path& directory, const std::string& partition,
                                           const Clock& clock) {
    const auto folder = authority_folder(directory);
    std::error_code failed;
    const bool there = std::filesystem::exists(folder, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot look at {}", folder.native()));
    if (!there) WEIR_TRY(make_authority(folder, partition, clock.wall()));
    auto authority = WEIR_TRY(read_authority(folder));
    OwnAuthority own(folder, std::move(authority));
    WEIR_TRY(own.keep_certificate(partition, clock));
    return own;
}

Result<OwnAuthority> OwnAuthority::open(const std::filesystem::path& directory) {
    const auto folder = authority_folder(directory);
    std::error_code unknown;
    if (!std::filesystem::exists(folder, unknown))
        return fail(
            Errc::refused,
            fmt::format("{} has no authority; weir run makes it at its start when [security] of the partition "
                        "file says own_authority = true. With tls_ca it is the laboratory's authority that makes "
                        "certificates",
                        directory.native()));
    auto authority = WEIR_TRY(read_authority(folder));
    return OwnAuthority(folder, std::move(authority));
}

Result<> OwnAuthority::keep_certificate(const std::string& partition, const Clock& clock) const {
    const AuthorityFiles names(folder_);
    const auto key_text = WEIR_TRY(read_key(names.key));
    const auto key = transport::PrivateKey::read(key_text);
    if (!key) return fail(key.error().code, fmt::format("{}: {}", names.key.native(), key.error().message()));
    const auto now = clock.wall();
    const auto serves = [&] {
        const auto text = read_text(names.certificate, authority_file_max);
        const auto certificate = text ? transport::Certificate::read(*text) : fail(Errc::io, "not there");
        const auto anchor = authority_.certificate().pem();
        return certificate && anchor && certificate->public_key().bytes() == key->public_key().bytes() &&
               certificate->ends() - now > own_validity / 2 && transport::check_chain(*text, *anchor, now) &&
               std::ranges::all_of(addresses_of_this_machine(),
                                   [&](const auto& address) { return certificate->is_for_address(address); });
    };
    return serves() ? Result<>{} : write_own(names, authority_, *key, partition, now);
}

std::vector<std::string> listed_names(const PartitionSettings& settings) {
    auto all = settings.security.operators;
    all.insert(all.end(), settings.security.readers.begin(), settings.security.readers.end());
    return all;
}

}  // namespace weir::app
