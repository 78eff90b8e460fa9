// SPDX-License-Identifier: Apache-2.0
// Certificates for tests, made when they run: an authority, and what it signs. No key is ever kept.
#pragma once

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "weir/transport/tls.hpp"

namespace weir::transport::test {

class Authority {
public:
    explicit Authority(std::string name) : name_(std::move(name)), key_(EVP_EC_gen("P-256"), &EVP_PKEY_free) {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-tls-XXXXXX").native();
        folder_ = ::mkdtemp(pattern.data());
        certificate_ = make(name_, key_.get(), 3600, true);
        write(folder_ / "ca.pem", certificate_.get(), nullptr);
    }
    ~Authority() { std::filesystem::remove_all(folder_); }
    Authority(const Authority&) = delete;
    Authority& operator=(const Authority&) = delete;

    /// A certificate for localhost, and the files that its owner needs. `seconds` below 0: it has expired. `unit`: the
    /// organizational unit of its subject; empty: none. `usage`: its extended key usage; empty: any.
    TlsFiles files(const std::string& name, long seconds = 3600, const std::string& unit = "",
                   const std::string& usage = "") const {
        const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
        const TlsFiles files{folder_ / (name + ".pem"), folder_ / (name + ".key"), folder_ / "ca.pem"};
        write(files.certificate, make(name, key.get(), seconds, false, unit, usage).get(), nullptr);
        write(files.key, nullptr, key.get());
        return files;
    }
    /// Another certificate for the key of `files`, in a file of its own.
    TlsFiles renewed(TlsFiles files, const std::string& name, long seconds = 3600) const {
        std::FILE* file = std::fopen(files.key.c_str(), "r");
        const Key key(PEM_read_PrivateKey(file, nullptr, nullptr, nullptr), &EVP_PKEY_free);
        std::fclose(file);
        files.certificate = folder_ / (name + ".renewed.pem");
        write(files.certificate, make(name, key.get(), seconds, false).get(), nullptr);
        return files;
    }
    std::filesystem::path folder() const { return folder_; }

private:
    using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
    using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

    Certificate make(const std::string& name, EVP_PKEY* key, long seconds, bool authority, const std::string& unit = "",
                     const std::string& usage = "") const {
        Certificate made(X509_new(), &X509_free);
        static long serial = 1;
        X509_set_version(made.get(), X509_VERSION_3);
        ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial++);
        X509_gmtime_adj(X509_getm_notBefore(made.get()), -7200);
        X509_gmtime_adj(X509_getm_notAfter(made.get()), seconds);
        X509_set_pubkey(made.get(), key);
        const auto entry = [](X509_NAME* to, const char* kind, const std::string& text) {
            X509_NAME_add_entry_by_txt(to, kind, MBSTRING_ASC, reinterpret_cast<const unsigned char*>(text.c_str()), -1,
                                       -1, 0);
        };
        entry(X509_get_subject_name(made.get()), "CN", name);
        if (!unit.empty()) entry(X509_get_subject_name(made.get()), "OU", unit);
        entry(X509_get_issuer_name(made.get()), "CN", name_);
        const auto extend = [&](int nid, const char* value) {
            X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, nid, value);
            X509_add_ext(made.get(), extension, -1);
            X509_EXTENSION_free(extension);
        };
        extend(NID_basic_constraints, authority ? "critical,CA:TRUE" : "CA:FALSE");
        if (!usage.empty()) extend(NID_ext_key_usage, usage.c_str());
        if (!authority) extend(NID_subject_alt_name, "DNS:localhost,IP:127.0.0.1");
        EXPECT_GT(X509_sign(made.get(), key_.get(), EVP_sha256()), 0);
        return made;
    }

    static void write(const std::filesystem::path& path, X509* certificate, EVP_PKEY* key) {
        std::FILE* file = std::fopen(path.c_str(), "w");
        ASSERT_NE(file, nullptr);
        if (certificate != nullptr) PEM_write_X509(file, certificate);
        if (key != nullptr) PEM_write_PrivateKey(file, key, nullptr, nullptr, 0, nullptr, nullptr);
        std::fclose(file);
    }

    std::string name_;
    Key key_;
    Certificate certificate_{nullptr, &X509_free};
    std::filesystem::path folder_;
};

}  // namespace weir::transport::test
