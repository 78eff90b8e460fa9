// SPDX-License-Identifier: Apache-2.0
// Names and values between Python and the libraries.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <vector>

#include "weir/digest/digest.hpp"

namespace weir::python {

/// ValueError, with all names, when there is none like this.
[[nodiscard]] digest::Algorithm algorithm_of(std::string_view name);

/// A name, or an iterable of names: of these, in this order.
[[nodiscard]] std::vector<digest::Algorithm> algorithms_of(nanobind::handle names);

/// {name: hexadecimal digits}, in the order of the values.
[[nodiscard]] nanobind::dict dictionary_of(const std::vector<digest::Digest>& values);

[[nodiscard]] nanobind::bytes bytes_of(const digest::Digest& digest);

/// A value as Python has it: a number, bytes or hexadecimal digits.
[[nodiscard]] digest::Digest digest_of(digest::Algorithm algorithm, nanobind::handle value);

/// The digest in the shape of `like`.
[[nodiscard]] nanobind::object shaped_like(nanobind::handle like, const digest::Digest& digest);

}  // namespace weir::python
