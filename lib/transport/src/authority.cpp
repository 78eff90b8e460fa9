// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/authority.hpp"

#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <array>
#include <optional>

#include "weir/base/utf8.hpp"
#include "x509.hpp"

namespace weir::transport {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t name_size_max = 64;   // ub-common-name of RFC 5280
constexpr std::size_t host_size_max = 253;  // of DNS
constexpr std::size_t hosts_max = 64;
constexpr auto clocks_differ = 5min;
constexpr auto authority_validity = 24h * 3653;

using Made = std::shared_ptr<X509>;

std::unexpected<Error> not_made(const std::string& name) {
    return fail_openssl(Errc::io, fmt::format("cannot make a certificate for \"{}\"", name));
}

bool add_name(X509_NAME* to, int kind, const std::string& text) {
    return X509_NAME_add_entry_by_NID(to, kind, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                      static_cast<int>(text.size()), -1, 0) == 1;
}

/// An extension whose text is ours; nothing from outside may become part of it.
bool extend(X509* certificate, X509* issuer, int kind, const char* text) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    const std::unique_ptr<X509_EXTENSION, EndWith<&X509_EXTENSION_free>> extension(
        X509V3_EXT_conf_nid(nullptr, &context, kind, text));
    return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool is_host_name(const std::string& text) {
    if (text.empty() || text.size() > host_size_max || text.front() == '.' || text.front() == '-') return false;
    return std::ranges::all_of(text, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
               c == '_';
    });
}

/// An address in numbers, or a name of a host.
bool add_host(GENERAL_NAMES* to, const std::string& host) {
    std::unique_ptr<GENERAL_NAME, EndWith<&GENERAL_NAME_free>> name(GENERAL_NAME_new());
    if (!name) return false;
    if (auto* address = a2i_IPADDRESS(host.c_str()); address != nullptr) {
        GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address);
    } else {
        ERR_clear_error();
        if (!is_host_name(host)) return false;
        auto* text = ASN1_IA5STRING_new();
        if (text == nullptr) return false;
        GENERAL_NAME_set0_value(name.get(), GEN_DNS, text);
        if (ASN1_STRING_set(text, host.data(), static_cast<int>(host.size())) != 1) return false;
    }
    if (sk_GENERAL_NAME_push(to, name.get()) <= 0) return false;
    static_cast<void>(name.release());  // the list has it
    return true;
}

bool add_hosts(X509* certificate, const std::vector<std::string>& hosts) {
    if (hosts.empty()) return true;
    const std::unique_ptr<GENERAL_NAMES, EndWith<&GENERAL_NAMES_free>> names(GENERAL_NAMES_new());
    if (!names) return false;
    for (const auto& host : hosts) {
        if (!add_host(names.get(), host)) return false;
    }
    return X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) == 1;
}

bool set_serial(X509* certificate) {
    std::array<unsigned char, 16> bytes{};
    if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
    bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7F) | 0x40);  // positive, and of one length
    const std::unique_ptr<BIGNUM, EndWith<&BN_free>> number(BN_bin2bn(bytes.data(), bytes.size(), nullptr));
    return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_times(X509* certificate, WallTime now, std::chrono::seconds validity) {
    const auto begin = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(now - clocks_differ));
    const auto end = std::chrono::system_clock::to_time_t(
        std::chrono::time_point_cast<std::chrono::system_clock::duration>(now + validity));
    return ASN1_TIME_set(X509_getm_notBefore(certificate), begin) != nullptr &&
           ASN1_TIME_set(X509_getm_notAfter(certificate), end) != nullptr;
}

/// The beginning of a partition's name, of which the authority's own has room for so much.
std::string shortened(const std::string& text, std::size_t size_max) {
    auto size = std::min(text.size(), size_max);
    while (size > 0 && size < text.size() && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
    return text.substr(0, size);
}

}  // namespace

Result<Authority> Authority::make(const std::string& partition, WallTime now) {
    auto key = WEIR_TRY(PrivateKey::make());
    ERR_clear_error();
    const std::string prefix = "authority of ";
    const auto name = prefix + shortened(partition, name_size_max - prefix.size());
    const Made made(X509_new(), &X509_free);
    if (!made || X509_set_version(made.get(), X509_VERSION_3) != 1 || !set_serial(made.get()) ||
        !set_times(made.get(), now, authority_validity) || X509_set_pubkey(made.get(), key.native()) != 1 ||
        !add_name(X509_get_subject_name(made.get()), NID_commonName, name) ||
        X509_set_issuer_name(made.get(), X509_get_subject_name(made.get())) != 1 ||
        !extend(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
        !extend(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
        !extend(made.get(), made.get(), NID_subject_key_identifier, "hash") ||
        X509_sign(made.get(), key.native(), EVP_sha256()) <= 0)
        return not_made(name);
    return Authority(Certificate(made), std::move(key));
}

Result<Authority> Authority::read(std::string_view certificate, std::string_view key) {
    auto read = WEIR_TRY(Certificate::read(certificate));
    auto its_key = WEIR_TRY(PrivateKey::read(key));
    if (X509_check_private_key(read.native(), its_key.native()) != 1) {
        ERR_clear_error();
        return fail(Errc::corrupt, "the authority's key is not that of its certificate");
    }
    if (X509_check_ca(read.native()) == 0) return fail(Errc::corrupt, "the certificate is not that of an authority");
    return Authority(std::move(read), std::move(its_key));
}

Result<Certificate> Authority::sign(const PublicKey& key, const Subject& subject, WallTime now,
                                    std::chrono::seconds validity) const {
    if (subject.name.empty() || subject.name.size() > name_size_max)
        return fail(Errc::usage, fmt::format("a certificate's name has 1 to {} bytes", name_size_max));
    if (subject.hosts.size() > hosts_max)
        return fail(Errc::limit, fmt::format("a certificate for more than {} addresses", hosts_max));
    ERR_clear_error();
    const Made made(X509_new(), &X509_free);
    if (!made || X509_set_version(made.get(), X509_VERSION_3) != 1 || !set_serial(made.get()) ||
        !set_times(made.get(), now, validity) || X509_set_pubkey(made.get(), key.native()) != 1 ||
        !add_name(X509_get_subject_name(made.get()), NID_commonName, subject.name) ||
        (!subject.unit.empty() &&
         !add_name(X509_get_subject_name(made.get()), NID_organizationalUnitName, subject.unit)) ||
        X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.native())) != 1 ||
        !extend(made.get(), certificate_.native(), NID_basic_constraints, "critical,CA:FALSE") ||
        !extend(made.get(), certificate_.native(), NID_key_usage, "critical,digitalSignature") ||
        !extend(made.get(), certificate_.native(), NID_ext_key_usage, "serverAuth,clientAuth") ||
        !extend(made.get(), certificate_.native(), NID_subject_key_identifier, "hash") ||
        !extend(made.get(), certificate_.native(), NID_authority_key_identifier, "keyid"))
        return not_made(subject.name);
    if (!add_hosts(made.get(), subject.hosts)) {
        ERR_clear_error();
        return fail(Errc::usage, fmt::format("a certificate for \"{}\" cannot have these addresses and names of hosts",
                                             subject.name));
    }
    if (X509_sign(made.get(), key_.native(), EVP_sha256()) <= 0) return not_made(subject.name);
    return Certificate(made);
}

}  // namespace weir::transport
