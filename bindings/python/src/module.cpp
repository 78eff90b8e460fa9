// SPDX-License-Identifier: Apache-2.0
// The extension behind the package weir; what users import stands in weir/__init__.py.
#include <nanobind/stl/string_view.h>

#include "bind.hpp"
#include "signature.hpp"
#include "weir/digest/algorithm.hpp"

namespace nb = nanobind;

NB_MODULE(_weir, module) {
    nb::list names;
    for (const auto algorithm : weir::digest::algorithms) names.append(nb::cast(weir::digest::name(algorithm)));
    module.attr("algorithms") = nb::tuple(names);
    module.attr("__version__") = WEIR_VERSION;

    weir::python::bind_numbers(module);
    weir::python::bind_hash(module);
    weir::python::bind_sums(module);
    weir::python::bind_file(module);
    weir::python::bind_senders(module);
    weir::python::bind_reading(module);
    weir::python::show_signatures(module);
}
