// SPDX-License-Identifier: Apache-2.0
// Names, values and error texts.
#include "values.hpp"

#include <algorithm>
#include <cstring>
#include <span>

namespace weir::c {

std::optional<digest::Algorithm> algorithm_of(const char* name) noexcept {
    if (name == nullptr) return std::nullopt;
    return digest::parse_algorithm(name);
}

weir_value value_of(const digest::Digest& digest) noexcept {
    static_assert(digest::Digest::size_max <= WEIR_VALUE_SIZE_MAX);
    weir_value value{};
    const auto bytes = digest.bytes();
    value.size = bytes.size();
    std::memcpy(value.bytes, bytes.data(), bytes.size());
    return value;
}

std::optional<digest::Digest> digest_of(digest::Algorithm algorithm, const weir_value& value) noexcept {
    if (value.size != digest::digest_size(algorithm)) return std::nullopt;
    return digest::Digest::of_bytes(algorithm, std::as_bytes(std::span(value.bytes)).first(value.size));
}

}  // namespace weir::c

using namespace weir;

const char* weir_error_text(int code) {
    switch (code) {
        case WEIR_OK: return "no error";
        case WEIR_UNKNOWN_ALGORITHM: return "there is no algorithm of this name";
        case WEIR_NOT_COMBINABLE: return "sums of this algorithm cannot be combined; adler32 and the CRCs can";
        case WEIR_INVALID: return "an argument is not valid";
        case WEIR_NO_MEMORY: return "out of memory";
        case WEIR_TOO_SMALL: return "the space for the result is too small";
        default: return "unknown error code";
    }
}

const char* weir_version() { return WEIR_VERSION; }

size_t weir_algorithm_count() { return digest::algorithms.size(); }

const char* weir_algorithm_name(size_t index) {
    // The names are literals, so they end with a zero.
    return index < digest::algorithms.size() ? digest::name(digest::algorithms[index]).data() : nullptr;
}

size_t weir_value_size(const char* name) {
    const auto algorithm = c::algorithm_of(name);
    return algorithm ? digest::digest_size(*algorithm) : 0;
}

int weir_combinable(const char* name) {
    const auto algorithm = c::algorithm_of(name);
    return algorithm && digest::combinable(*algorithm) ? 1 : 0;
}

int weir_value_hex(const weir_value* value, char* text, size_t text_size) {
    if (value == nullptr || text == nullptr || value->size > WEIR_VALUE_SIZE_MAX) return WEIR_INVALID;
    if (text_size < 2 * value->size + 1) return WEIR_TOO_SMALL;
    constexpr char digits[] = "0123456789abcdef";
    for (const auto byte : std::span(value->bytes).first(value->size)) {
        *text++ = digits[byte >> 4];
        *text++ = digits[byte & 15];
    }
    *text = '\0';
    return WEIR_OK;
}

int weir_value_parse(const char* name, const char* text, weir_value* value) {
    const auto algorithm = c::algorithm_of(name);
    if (!algorithm) return WEIR_UNKNOWN_ALGORITHM;
    if (text == nullptr || value == nullptr) return WEIR_INVALID;
    return c::guarded([&] {
        const auto digest = digest::Digest::parse(*algorithm, text);
        if (!digest) return WEIR_INVALID;
        *value = c::value_of(*digest);
        return WEIR_OK;
    });
}

uint64_t weir_value_number(const weir_value* value) {
    const auto size = std::min<std::size_t>(value->size, WEIR_VALUE_SIZE_MAX);
    std::uint64_t number = 0;
    for (const auto byte : std::span(value->bytes).first(size)) number = number << 8 | byte;
    return number;
}

int weir_value_equal(const weir_value* a, const weir_value* b) {
    return a->size == b->size && a->size <= WEIR_VALUE_SIZE_MAX && std::memcmp(a->bytes, b->bytes, a->size) == 0 ? 1
                                                                                                                 : 0;
}
