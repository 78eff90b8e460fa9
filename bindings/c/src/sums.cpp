// SPDX-License-Identifier: Apache-2.0
// Sums by name: at once, in pieces, several in one pass, combined.
#include <memory>
#include <span>
#include <vector>

#include "values.hpp"
#include "weir/digest/summer.hpp"

using namespace weir;

/// The set of one is what a single sum is.
struct weir_summer {
    explicit weir_summer(std::span<const digest::Algorithm> wanted) : sums(wanted), count(wanted.size()) {}

    digest::SumSet sums;
    std::size_t count;
};

namespace {

/// WEIR_OK, or what is wrong with the names.
int parse_names(const char* const* names, std::size_t count, std::vector<digest::Algorithm>& algorithms) {
    if (names == nullptr || count == 0) return WEIR_INVALID;
    algorithms.reserve(count);
    for (const char* name : std::span(names, count)) {
        const auto algorithm = c::algorithm_of(name);
        if (!algorithm) return WEIR_UNKNOWN_ALGORITHM;
        algorithms.push_back(*algorithm);
    }
    return WEIR_OK;
}

}  // namespace

int weir_sum(const char* name, const void* data, size_t size, weir_value* value) {
    const auto algorithm = c::algorithm_of(name);
    if (!algorithm) return WEIR_UNKNOWN_ALGORITHM;
    if (value == nullptr || (data == nullptr && size != 0)) return WEIR_INVALID;
    return c::guarded([&] {
        *value = c::value_of(digest::sum(*algorithm, c::data_of(data, size)));
        return WEIR_OK;
    });
}

int weir_sums(const char* const* names, size_t count, const void* data, size_t size, weir_value* values) {
    if (values == nullptr || (data == nullptr && size != 0)) return WEIR_INVALID;
    return c::guarded([&]() -> int {
        std::vector<digest::Algorithm> algorithms;
        if (const int wrong = parse_names(names, count, algorithms)) return wrong;
        digest::SumSet sums(algorithms);
        sums.add(c::data_of(data, size));
        for (const auto& digest : sums.values()) *values++ = c::value_of(digest);
        return WEIR_OK;
    });
}

weir_summer* weir_summer_new(const char* name, int* error) { return weir_summer_new_set(&name, 1, error); }

weir_summer* weir_summer_new_set(const char* const* names, size_t count, int* error) {
    std::unique_ptr<weir_summer> summer;
    const int code = c::guarded([&]() -> int {
        std::vector<digest::Algorithm> algorithms;
        if (const int wrong = parse_names(names, count, algorithms)) return wrong;
        summer = std::make_unique<weir_summer>(algorithms);
        return WEIR_OK;
    });
    if (error != nullptr) *error = code;
    return summer.release();
}

void weir_summer_add(weir_summer* summer, const void* data, size_t size) { summer->sums.add(c::data_of(data, size)); }

int weir_summer_value(const weir_summer* summer, size_t index, weir_value* value) {
    if (summer == nullptr || value == nullptr || index >= summer->count) return WEIR_INVALID;
    return c::guarded([&] {
        *value = c::value_of(summer->sums.values()[index]);
        return WEIR_OK;
    });
}

void weir_summer_reset(weir_summer* summer) { summer->sums.reset(); }

void weir_summer_free(weir_summer* summer) { delete summer; }

int weir_combine(const char* name, const weir_value* a, const weir_value* b, uint64_t length_of_b, uint64_t length_of_a,
                 weir_value* whole) {
    const auto algorithm = c::algorithm_of(name);
    if (!algorithm) return WEIR_UNKNOWN_ALGORITHM;
    if (!digest::combinable(*algorithm)) return WEIR_NOT_COMBINABLE;
    if (a == nullptr || b == nullptr || whole == nullptr) return WEIR_INVALID;
    const auto first = c::digest_of(*algorithm, *a);
    const auto second = c::digest_of(*algorithm, *b);
    if (!first || !second) return WEIR_INVALID;
    return c::guarded([&] {
        *whole = c::value_of(*digest::combine(*first, *second, length_of_b, length_of_a));
        return WEIR_OK;
    });
}
