// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/digest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/base/hex.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::digest {
namespace {

std::unexpected<Error> no_value(Algorithm algorithm, std::string_view text) {
    return fail(Errc::corrupt, fmt::format("\"{}\" is not a value of {}, which has {} hexadecimal digits",
                                           text.substr(0, 80), name(algorithm), 2 * digest_size(algorithm)));
}

}  // namespace

Digest Digest::of_number(Algorithm algorithm, std::uint64_t value) noexcept {
    Digest digest(algorithm);
    const auto size = digest_size(algorithm);
    WEIR_ASSERT(size == 4 || size == 8);
    if (size == 4) store_big<std::uint32_t>(digest.bytes_, 0, static_cast<std::uint32_t>(value));
    else store_big<std::uint64_t>(digest.bytes_, 0, value);
    return digest;
}

Digest Digest::of_bytes(Algorithm algorithm, ConstData bytes) noexcept {
    Digest digest(algorithm);
    WEIR_ASSERT(bytes.size() == digest_size(algorithm));
    std::ranges::copy(bytes, digest.bytes_.begin());
    return digest;
}

Result<Digest> Digest::parse(Algorithm algorithm, std::string_view text, bool decimal) {
    const auto size = digest_size(algorithm);
    if (decimal) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        if (error != std::errc{} || end != text.data() + text.size() || size > 8 || (size == 4 && value >> 32 != 0))
            return fail(Errc::corrupt,
                        fmt::format("\"{}\" is not a decimal value of {}", text.substr(0, 80), name(algorithm)));
        return of_number(algorithm, value);
    }
    // Only numbers lose leading zeros; a short md5 is a broken one.
    if (text.empty() || text.size() > 2 * size || (text.size() < 2 * size && size > 8))
        return no_value(algorithm, text);
    Digest digest(algorithm);
    std::size_t position = 2 * size - text.size();
    for (const char c : text) {
        const int value = hex_digit(c);
        if (value < 0) return no_value(algorithm, text);
        digest.bytes_[position / 2] |= static_cast<std::byte>(position % 2 == 0 ? value << 4 : value);
        ++position;
    }
    return digest;
}

std::uint64_t Digest::number() const noexcept {
    const auto size = digest_size(algorithm_);
    return size == 4 ? load_big<std::uint32_t>(bytes_, 0) : load_big<std::uint64_t>(bytes_, size - 8);
}

std::string Digest::hex() const { return hex_of(bytes()); }

Result<Digest> combine(const Digest& a, const Digest& b, std::uint64_t length_of_b, std::uint64_t length_of_a) {
    using namespace checksum;
    const auto algorithm = a.algorithm();
    if (b.algorithm() != algorithm)
        return fail(Errc::usage,
                    fmt::format("a sum of {} and one of {} cannot be combined", name(algorithm), name(b.algorithm())));
    const auto a32 = static_cast<std::uint32_t>(a.number());
    const auto b32 = static_cast<std::uint32_t>(b.number());
    const auto joined = [&](std::uint64_t value) { return Digest::of_number(algorithm, value); };
    switch (algorithm) {
        case Algorithm::adler32: return joined(adler32_combine(a32, b32, length_of_b));
        case Algorithm::crc32: return joined(crc32_combine(a32, b32, length_of_b));
        case Algorithm::cksum: return joined(cksum_combine(a32, length_of_a, b32, length_of_b));
        case Algorithm::crc32c: return joined(crc32c_combine(a32, b32, length_of_b));
        case Algorithm::crc64_xz: return joined(crc64_xz_combine(a.number(), b.number(), length_of_b));
        case Algorithm::crc64_nvme: return joined(crc64_nvme_combine(a.number(), b.number(), length_of_b));
        case Algorithm::crc64_ecma182: return joined(crc64_ecma182_combine(a.number(), b.number(), length_of_b));
        default: break;
    }
    return fail(Errc::usage, fmt::format("sums of {} cannot be combined; adler32 and the CRCs can", name(algorithm)));
}

}  // namespace weir::digest
