// SPDX-License-Identifier: Apache-2.0
// OpenSSL's libcrypto, opened with the first sum that it makes. Of all libraries it costs a program most at its start
// (thousands of symbols are looked up), and adler32, the CRCs, xxHash and blake3 do not need it. The functions have
// OpenSSL's own names, here in weir::digest; each is set once, by load_libcrypto().
#pragma once

#define OPENSSL_SUPPRESS_DEPRECATED  // for functions that show their state: the reason is in lanes_openssl.cpp
#include <openssl/evp.h>
#include <openssl/md5.h>
#include <openssl/sha.h>

namespace weir::digest {

/// Before any of the functions below. Any thread; once it has been called it costs nothing. False: there is no
/// libcrypto.so.3 here, and our own portable code makes the sums, several times slower.
[[nodiscard]] bool load_libcrypto() noexcept;

inline decltype(&::EVP_Digest) EVP_Digest;
inline decltype(&::EVP_DigestFinal_ex) EVP_DigestFinal_ex;
inline decltype(&::EVP_DigestInit_ex) EVP_DigestInit_ex;
inline decltype(&::EVP_DigestUpdate) EVP_DigestUpdate;
inline decltype(&::EVP_MD_CTX_copy_ex) EVP_MD_CTX_copy_ex;
inline decltype(&::EVP_MD_CTX_free) EVP_MD_CTX_free;
inline decltype(&::EVP_MD_CTX_new) EVP_MD_CTX_new;
inline decltype(&::EVP_blake2b512) EVP_blake2b512;
inline decltype(&::EVP_md5) EVP_md5;
inline decltype(&::EVP_sha1) EVP_sha1;
inline decltype(&::EVP_sha224) EVP_sha224;
inline decltype(&::EVP_sha256) EVP_sha256;
inline decltype(&::EVP_sha384) EVP_sha384;
inline decltype(&::EVP_sha3_256) EVP_sha3_256;
inline decltype(&::EVP_sha512) EVP_sha512;
inline decltype(&::MD5_Init) MD5_Init;
inline decltype(&::MD5_Update) MD5_Update;
inline decltype(&::SHA1_Init) SHA1_Init;
inline decltype(&::SHA1_Update) SHA1_Update;
inline decltype(&::SHA256_Init) SHA256_Init;
inline decltype(&::SHA256_Update) SHA256_Update;

}  // namespace weir::digest
