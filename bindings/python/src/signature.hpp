// SPDX-License-Identifier: Apache-2.0
// What inspect.signature() and help() show of our functions. nanobind's function objects have no signature that Python
// looks for, and their type takes no attributes; builtins have one, as text before their help. So a builtin stands
// before each of them, and hands its arguments on as they are.
#pragma once

#include <nanobind/nanobind.h>

namespace weir::python {

/// Of everything that the module has: called when all of it is bound.
void show_signatures(nanobind::module_& module);

}  // namespace weir::python
