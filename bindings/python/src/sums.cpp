// SPDX-License-Identifier: Apache-2.0
// Several sums in one pass, and the joining of sums.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string_view.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "bind.hpp"
#include "buffer.hpp"
#include "values.hpp"
#include "weir/digest/summer.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

nb::dict sums(nb::handle object, nb::handle names) {
    const auto algorithms = algorithms_of(names);
    const Buffer buffer(object);
    return dictionary_of(without_gil(buffer.data(), [&] {
        digest::SumSet set(algorithms);
        set.add(buffer.data());
        return set.values();
    }));
}

nb::object combine(std::string_view name, nb::handle a, nb::handle b, std::uint64_t length_b,
                   std::optional<std::uint64_t> length_a) {
    const auto algorithm = algorithm_of(name);
    if (algorithm == digest::Algorithm::cksum && !length_a)
        throw nb::value_error("cksum has the length in its value: length_a is needed");
    const auto whole =
        digest::combine(digest_of(algorithm, a), digest_of(algorithm, b), length_b, length_a.value_or(0));
    if (!whole) throw nb::value_error(whole.error().message().c_str());
    return shaped_like(a, *whole);
}

}  // namespace

void bind_sums(nb::module_& module) {
    module.def("sums", &sums, nb::arg("data").none(), nb::arg("algorithms"),
               "{name: hexadecimal digits} of the data, in one pass over it.");
    module.def("combine", &combine, nb::arg("name"), nb::arg("a"), nb::arg("b"), nb::arg("length_b"),
               nb::arg("length_a") = nb::none(),
               "The sum of a followed by b, from their sums (numbers, digits or bytes) and the length of b.");
}

}  // namespace weir::python
