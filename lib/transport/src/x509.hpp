// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects with owners, and its failures as ours.
#pragma once

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/clock.hpp"
#include "weir/base/result.hpp"

namespace weir::transport {

template <auto end>
struct EndWith {
    template <class T>
    void operator()(T* object) const noexcept {
        end(object);
    }
};
using OwnedBio = std::unique_ptr<BIO, EndWith<&BIO_free>>;

/// What OpenSSL says of its last failure.
inline std::unexpected<Error> fail_openssl(Errc code, std::string_view what) {
    const char* reason = ERR_reason_error_string(ERR_peek_error());
    auto text = fmt::format("{}: {}", what, reason != nullptr ? reason : "not what it should be");
    ERR_clear_error();
    return fail(code, std::move(text));
}

/// Reads from the text; nullptr: no memory.
inline OwnedBio bio_of(std::string_view text) {
    return OwnedBio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}
/// What was written into it.
inline std::string text_of(BIO* bio) {
    char* data = nullptr;
    const auto size = BIO_get_mem_data(bio, &data);
    return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

/// A key that is encrypted is refused, and nobody is asked for its password.
inline int no_password(char*, int, int, void*) { return -1; }

/// Within the range of nanoseconds since 1970; the year 9999 of a certificate without an end is beyond it.
inline WallTime time_of(const ASN1_TIME* time) {
    std::tm broken{};
    if (ASN1_TIME_to_tm(time, &broken) != 1) return WallTime::max();
    const auto seconds = static_cast<std::int64_t>(::timegm(&broken));
    if (seconds > std::chrono::floor<std::chrono::seconds>(WallTime::max()).time_since_epoch().count())
        return WallTime::max();
    if (seconds < std::chrono::ceil<std::chrono::seconds>(WallTime::min()).time_since_epoch().count())
        return WallTime::min();
    return WallTime(std::chrono::seconds(seconds));
}

}  // namespace weir::transport
