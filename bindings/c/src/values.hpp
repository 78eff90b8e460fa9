// SPDX-License-Identifier: Apache-2.0
// Between the shapes of weir.h and those of the libraries. Nothing is thrown across the C edge: what can
// throw runs inside guarded().
#pragma once

#include <cstddef>
#include <new>
#include <optional>

#include "weir.h"
#include "weir/base/data.hpp"
#include "weir/digest/digest.hpp"

namespace weir::c {

/// Runs `body`, which returns a code of weir.h. Memory is all that can be missing here.
template <class Body>
[[nodiscard]] int guarded(Body&& body) noexcept {
    try {
        return body();
    } catch (...) {
        return WEIR_NO_MEMORY;
    }
}

[[nodiscard]] inline ConstData data_of(const void* data, std::size_t size) noexcept {
    return {static_cast<const std::byte*>(data), data == nullptr ? 0 : size};
}

/// NULL is no name.
[[nodiscard]] std::optional<digest::Algorithm> algorithm_of(const char* name) noexcept;

[[nodiscard]] weir_value value_of(const digest::Digest& digest) noexcept;

/// Nothing when the size is not that of the algorithm.
[[nodiscard]] std::optional<digest::Digest> digest_of(digest::Algorithm algorithm, const weir_value& value) noexcept;

}  // namespace weir::c
