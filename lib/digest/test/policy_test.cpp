// SPDX-License-Identifier: Apache-2.0
// A machine whose policy forbids OpenSSL to make a sum (FIPS mode).
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include "samples.hpp"
#include "weir/digest/self_test.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

/// Asks OpenSSL for implementations with a property that none has.
class Forbidden {
public:
    Forbidden() { EVP_set_default_properties(nullptr, "weir.test=yes"); }
    ~Forbidden() { EVP_set_default_properties(nullptr, ""); }
    Forbidden(const Forbidden&) = delete;
    Forbidden& operator=(const Forbidden&) = delete;
};

TEST(Policy, WhatOpensslMayNotMakeIsMadeByPortableCode) {
    const auto data = test::random_bytes(10'000, 41);
    for (const auto algorithm : {Algorithm::md5, Algorithm::sha1, Algorithm::sha224, Algorithm::sha256,
                                 Algorithm::sha384, Algorithm::sha512, Algorithm::sha3_256, Algorithm::blake2b}) {
        const auto right = sum(algorithm, data);
        const Forbidden forbidden;
        EXPECT_EQ(EVP_Q_digest(nullptr, "MD5", nullptr, data.data(), data.size(), nullptr, nullptr), 0)
            << "it is forbidden";
        EXPECT_EQ(sum(algorithm, data), right) << name(algorithm);
        Summer summer(algorithm);
        summer.add(ConstData(data).first(77));
        auto copy = summer;
        copy.add(ConstData(data).subspan(77));
        EXPECT_EQ(copy.value(), right) << name(algorithm);
        summer.reset();
        summer.add(data);
        EXPECT_EQ(summer.value(), right) << name(algorithm);
        EXPECT_TRUE(self_test().has_value());
    }
}

}  // namespace
}  // namespace weir::digest
