// SPDX-License-Identifier: Apache-2.0
#include "engines/libcrypto.hpp"

#include <dlfcn.h>

namespace weir::digest {
namespace {

bool load() noexcept {
    void* const handle =
        ::dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);  // for good: sums may be made until the program ends
    if (handle == nullptr) return false;
    bool whole = true;
    const auto get = [&]<class Function>(Function*& to, const char* name) {
        to = reinterpret_cast<Function*>(::dlsym(handle, name));
        whole = whole && to != nullptr;
    };
    get(EVP_Digest, "EVP_Digest");
    get(EVP_DigestFinal_ex, "EVP_DigestFinal_ex");
    get(EVP_DigestInit_ex, "EVP_DigestInit_ex");
    get(EVP_DigestUpdate, "EVP_DigestUpdate");
    get(EVP_MD_CTX_copy_ex, "EVP_MD_CTX_copy_ex");
    get(EVP_MD_CTX_free, "EVP_MD_CTX_free");
    get(EVP_MD_CTX_new, "EVP_MD_CTX_new");
    get(EVP_blake2b512, "EVP_blake2b512");
    get(EVP_md5, "EVP_md5");
    get(EVP_sha1, "EVP_sha1");
    get(EVP_sha224, "EVP_sha224");
    get(EVP_sha256, "EVP_sha256");
    get(EVP_sha384, "EVP_sha384");
    get(EVP_sha3_256, "EVP_sha3_256");
    get(EVP_sha512, "EVP_sha512");
    get(MD5_Init, "MD5_Init");
    get(MD5_Update, "MD5_Update");
    get(SHA1_Init, "SHA1_Init");
    get(SHA1_Update, "SHA1_Update");
    get(SHA256_Init, "SHA256_Init");
    get(SHA256_Update, "SHA256_Update");
    return whole;
}

}  // namespace

bool load_libcrypto() noexcept {
    static const bool loaded = load();
    return loaded;
}

}  // namespace weir::digest
