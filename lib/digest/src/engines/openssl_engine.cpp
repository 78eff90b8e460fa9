// SPDX-License-Identifier: Apache-2.0
// md5, the sha family and blake2b of one stream by OpenSSL, which uses the SHA instructions where there are some. Where
// it is not installed, or a policy forbids one of them (md5 on a machine in FIPS mode), our own portable code makes it:
// it is there to find damage, and files that have an md5 can be checked everywhere.
#include <array>

#include "engines/engines.hpp"
#include "engines/libcrypto.hpp"
#include "weir/base/assert.hpp"
#include "weir/digest/portable.hpp"

namespace weir::digest {
namespace {

struct FreeContext {
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, FreeContext>;

const EVP_MD* method(Algorithm algorithm) {
    switch (algorithm) {
        case Algorithm::md5: return EVP_md5();
        case Algorithm::sha1: return EVP_sha1();
        case Algorithm::sha224: return EVP_sha224();
        case Algorithm::sha384: return EVP_sha384();
        case Algorithm::sha512: return EVP_sha512();
        case Algorithm::sha3_256: return EVP_sha3_256();
        case Algorithm::blake2b: return EVP_blake2b512();
        default: return EVP_sha256();
    }
}

class OpensslEngine final : public Engine {
public:
    explicit OpensslEngine(Algorithm algorithm) : algorithm_(algorithm), context_(EVP_MD_CTX_new()) {}

    /// False: OpenSSL may not.
    [[nodiscard]] bool begin() noexcept {
        return context_ && EVP_DigestInit_ex(context_.get(), method(algorithm_), nullptr) == 1;
    }

    void add(ConstData data) override {
        const bool added = EVP_DigestUpdate(context_.get(), data.data(), data.size()) == 1;
        WEIR_ASSERT(added);  // fails only for a context that was not begun
    }

    [[nodiscard]] Digest value() const override {
        // Finishing spoils the context, so a copy is finished.
        const Context copy(EVP_MD_CTX_new());
        std::array<std::byte, EVP_MAX_MD_SIZE> bytes{};
        unsigned size = 0;
        const bool made = copy && EVP_MD_CTX_copy_ex(copy.get(), context_.get()) == 1 &&
                          EVP_DigestFinal_ex(copy.get(), reinterpret_cast<unsigned char*>(bytes.data()), &size) == 1;
        WEIR_ASSERT(made);
        return Digest::of_bytes(algorithm_, ConstData(bytes).first(size));
    }

    void reset() override {
        const bool begun = begin();
        WEIR_ASSERT(begun);  // it could once
    }

    [[nodiscard]] std::unique_ptr<Engine> clone() const override {
        auto copy = std::make_unique<OpensslEngine>(algorithm_);
        const bool copied = copy->context_ && EVP_MD_CTX_copy_ex(copy->context_.get(), context_.get()) == 1;
        WEIR_ASSERT(copied);
        return copy;
    }

private:
    const Algorithm algorithm_;
    Context context_;
};

}  // namespace

Digest openssl_at_once(Algorithm algorithm, ConstData data) {
    std::array<std::byte, EVP_MAX_MD_SIZE> bytes{};
    unsigned size = 0;
    if (load_libcrypto() && EVP_Digest(data.data(), data.size(), reinterpret_cast<unsigned char*>(bytes.data()), &size,
                                       method(algorithm), nullptr) == 1)
        return Digest::of_bytes(algorithm, ConstData(bytes).first(size));
    const auto portable = make_portable_engine(algorithm);
    portable->add(data);
    return portable->value();
}

std::unique_ptr<Engine> make_openssl_engine(Algorithm algorithm) {
    if (!load_libcrypto()) return make_portable_engine(algorithm);
    auto engine = std::make_unique<OpensslEngine>(algorithm);
    if (!engine->begin()) return make_portable_engine(algorithm);
    return engine;
}

}  // namespace weir::digest
