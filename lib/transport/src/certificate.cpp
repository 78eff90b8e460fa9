// SPDX-License-Identifier: Apache-2.0
#include "weir/transport/certificate.hpp"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/sha.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>

#include "tls_session.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/file.hpp"
#include "x509.hpp"

namespace weir::transport {
namespace {

using Request = std::unique_ptr<X509_REQ, EndWith<&X509_REQ_free>>;

constexpr std::size_t chain_size_max = 1024 * 1024;  // certificates of authorities may stand behind a certificate

Result<> check_size(std::string_view pem, const char* what, std::size_t most = pem_size_max) {
    if (pem.size() > most)
        return fail(Errc::limit,
                    fmt::format("{} has {} bytes, and more than {} are not taken", what, pem.size(), most));
    return {};
}

/// Which keys are taken from outside: others are slow to use, or too weak.
Result<> check_kind(const EVP_PKEY* key) {
    const auto bits = EVP_PKEY_get_bits(key);
    const bool curve = EVP_PKEY_is_a(key, "EC") == 1 && bits >= 256 && bits <= 521;
    const bool edwards = EVP_PKEY_is_a(key, "ED25519") == 1;
    const bool rsa = EVP_PKEY_is_a(key, "RSA") == 1 && bits >= 2048 && bits <= 4096;
    if (curve || edwards || rsa) return {};
    return fail(Errc::unsupported,
                "its key is neither of an elliptic curve (P-256 to P-521, Ed25519) nor RSA of 2048 to 4096 bits");
}

std::vector<std::shared_ptr<X509>> all_of(std::string_view pem) {
    constexpr std::size_t certificates_max = 1000;
    std::vector<std::shared_ptr<X509>> all;
    const auto bio = bio_of(pem);
    while (bio && all.size() < certificates_max) {
        std::shared_ptr<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, &no_password, nullptr), &X509_free);
        if (!certificate) break;
        all.push_back(std::move(certificate));
    }
    ERR_clear_error();  // the end of the text is an error there
    return all;
}

}  // namespace

std::string utc_text(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count();
    return fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

Digest sha256(std::string_view bytes) {
    Digest digest{};
    SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
           reinterpret_cast<unsigned char*>(digest.data()));
    return digest;
}

Result<std::string> random_secret(std::size_t size) {
    std::string secret(size, '\0');
    if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(secret.data()), static_cast<int>(size)) != 1)
        return fail_openssl(Errc::io, "the system gives no random numbers");
    return secret;
}

bool same_secret(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string PublicKey::bytes() const {
    unsigned char* der = nullptr;
    const int size = i2d_PUBKEY(key_.get(), &der);
    const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(
        der, [](unsigned char* memory) { OPENSSL_free(memory); });
    if (size <= 0) return {};
    return {reinterpret_cast<const char*>(der), static_cast<std::size_t>(size)};
}

Result<PrivateKey> PrivateKey::make() {
    ERR_clear_error();
    std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
    if (!key) return fail_openssl(Errc::io, "cannot make a key");
    return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::read(std::string_view pem) {
    WEIR_TRY(check_size(pem, "a key"));
    ERR_clear_error();
    const auto bio = bio_of(pem);
    if (!bio) return fail(Errc::io, "no memory for a key");
    std::shared_ptr<EVP_PKEY> key(PEM_read_bio_PrivateKey(bio.get(), nullptr, &no_password, nullptr), &EVP_PKEY_free);
    if (!key) return fail_openssl(Errc::corrupt, "no private key in PEM without a password");
    return PrivateKey(std::move(key));
}

Result<std::string> PrivateKey::pem() const {
    ERR_clear_error();
    const OwnedBio bio(BIO_new(BIO_s_secmem()));
    if (!bio || PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
        return fail_openssl(Errc::io, "cannot write a key");
    return text_of(bio.get());
}

Result<std::string> PrivateKey::request(const std::string& name) const {
    ERR_clear_error();
    const Request request(X509_REQ_new());
    const OwnedBio bio(BIO_new(BIO_s_mem()));
    if (!request || !bio || X509_REQ_set_version(request.get(), X509_REQ_VERSION_1) != 1 ||
        X509_NAME_add_entry_by_NID(X509_REQ_get_subject_name(request.get()), NID_commonName, MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.data()), static_cast<int>(name.size()),
                                   -1, 0) != 1 ||
        X509_REQ_set_pubkey(request.get(), key_.get()) != 1 ||
        X509_REQ_sign(request.get(), key_.get(), EVP_sha256()) <= 0 ||
        PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1)
        return fail_openssl(Errc::usage, fmt::format("cannot make a request for a certificate of \"{}\"", name));
    return text_of(bio.get());
}

Result<PublicKey> key_of_request(std::string_view pem) {
    WEIR_TRY(check_size(pem, "a request for a certificate"));
    ERR_clear_error();
    const auto bio = bio_of(pem);
    if (!bio) return fail(Errc::io, "no memory for a request");
    const Request request(PEM_read_bio_X509_REQ(bio.get(), nullptr, &no_password, nullptr));
    if (!request) return fail_openssl(Errc::corrupt, "no request for a certificate in PEM");
    std::shared_ptr<EVP_PKEY> key(X509_REQ_get_pubkey(request.get()), &EVP_PKEY_free);
    if (!key) return fail_openssl(Errc::unsupported, "the request is about a key that is not known here");
    if (auto taken = check_kind(key.get()); !taken)
        return fail(taken.error().code, "the request for a certificate is not taken: " + taken.error().context);
    if (X509_REQ_verify(request.get(), key.get()) != 1) {
        ERR_clear_error();
        return fail(Errc::corrupt, "the request is not signed with the key that it is about");
    }
    return PublicKey(std::move(key));
}

Result<Certificate> Certificate::read(std::string_view pem) {
    WEIR_TRY(check_size(pem, "a certificate", chain_size_max));
    ERR_clear_error();
    const auto bio = bio_of(pem);
    if (!bio) return fail(Errc::io, "no memory for a certificate");
    std::shared_ptr<X509> certificate(PEM_read_bio_X509(bio.get(), nullptr, &no_password, nullptr), &X509_free);
    if (!certificate) return fail_openssl(Errc::corrupt, "no certificate in PEM");
    if (X509_get0_pubkey(certificate.get()) == nullptr)
        return fail_openssl(Errc::unsupported, "the certificate is of a key that is not known here");
    return Certificate(std::move(certificate));
}

Result<std::string> Certificate::pem() const {
    ERR_clear_error();
    const OwnedBio bio(BIO_new(BIO_s_mem()));
    if (!bio || PEM_write_bio_X509(bio.get(), certificate_.get()) != 1)
        return fail_openssl(Errc::io, "cannot write a certificate");
    return text_of(bio.get());
}

Digest Certificate::fingerprint() const {
    Digest digest{};
    unsigned int size = 0;
    static_cast<void>(
        X509_digest(certificate_.get(), EVP_sha256(), reinterpret_cast<unsigned char*>(digest.data()), &size));
    return digest;
}

WallTime Certificate::begins() const { return time_of(X509_get0_notBefore(certificate_.get())); }
WallTime Certificate::ends() const { return time_of(X509_get0_notAfter(certificate_.get())); }
std::vector<std::string> Certificate::names() const { return names_of(certificate_.get()); }
std::vector<std::string> Certificate::units() const { return units_of(certificate_.get()); }

PublicKey Certificate::public_key() const {
    auto* key = X509_get0_pubkey(certificate_.get());
    EVP_PKEY_up_ref(key);
    return PublicKey(std::shared_ptr<EVP_PKEY>(key, &EVP_PKEY_free));
}

bool Certificate::is_for_address(const std::string& address) const {
    const bool is = X509_check_ip_asc(certificate_.get(), address.c_str(), 0) == 1;
    ERR_clear_error();
    return is;
}

Result<> check_chain(std::string_view certificate, std::string_view authority, WallTime now) {
    const auto chain = all_of(certificate), anchors = all_of(authority);
    if (chain.empty()) return fail(Errc::corrupt, "no certificate in PEM");
    if (anchors.empty()) return fail(Errc::corrupt, "no authority in PEM");
    const std::unique_ptr<X509_STORE, EndWith<&X509_STORE_free>> store(X509_STORE_new());
    const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> between(sk_X509_new_null(),
                                                                             [](auto* all) { sk_X509_free(all); });
    if (!store || !between) return fail(Errc::io, "no memory to look at certificates");
    for (const auto& anchor : anchors) X509_STORE_add_cert(store.get(), anchor.get());
    for (std::size_t i = 1; i < chain.size(); ++i) sk_X509_push(between.get(), chain[i].get());
    for (const auto purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
        const std::unique_ptr<X509_STORE_CTX, EndWith<&X509_STORE_CTX_free>> context(X509_STORE_CTX_new());
        if (!context || X509_STORE_CTX_init(context.get(), store.get(), chain.front().get(), between.get()) != 1)
            return fail(Errc::io, "no memory to look at certificates");
        X509_STORE_CTX_set_purpose(context.get(), purpose);
        X509_STORE_CTX_set_time(context.get(), 0, std::chrono::system_clock::to_time_t(now));
        if (X509_verify_cert(context.get()) == 1) continue;
        const char* reason = X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get()));
        ERR_clear_error();
        return fail(Errc::refused,
                    fmt::format("{} (as a {})", reason, purpose == X509_PURPOSE_SSL_SERVER ? "server" : "client"));
    }
    ERR_clear_error();
    return {};
}

Result<> write_pem(const std::filesystem::path& path, std::string_view text, Readable readable) {
    auto fresh = path;
    fresh += ".new";
    if (::unlink(fresh.c_str()) != 0 && errno != ENOENT)
        return fail_errno(errno, fmt::format("cannot remove {}", fresh.native()));
    const auto cannot = [&](int why) { return fail_errno(why, fmt::format("cannot write {}", path.native())); };
    // The rights at the moment of its creation: nobody else can have opened it before.
    const Descriptor file(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                                 readable == Readable::by_owner ? 0600 : 0644));
    if (!file) return cannot(errno);
    for (std::size_t done = 0; done < text.size();) {
        const auto count = ::write(file.get(), text.data() + done, text.size() - done);
        if (count < 0 && errno != EINTR) return cannot(errno);
        done += static_cast<std::size_t>(std::max<ssize_t>(count, 0));
    }
    if (::fsync(file.get()) != 0) return cannot(errno);
    if (::rename(fresh.c_str(), path.c_str()) != 0) return cannot(errno);
    return sync_directory(path.has_parent_path() ? path.parent_path() : ".");
}

}  // namespace weir::transport
