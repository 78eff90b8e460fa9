// SPDX-License-Identifier: Apache-2.0
#include "signature.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace weir::python {
namespace {

using Size = Py_ssize_t;
using Call = PyObject*(PyObject*, PyObject* const*, Size, PyObject*);  // METH_FASTCALL | METH_KEYWORDS

struct Signed {
    const char* name;
    const char* parameters;  // as in _weir.pyi, without types
};

constexpr std::array functions = {
    Signed{"adler32", "data, value=1"},
    Signed{"crc32", "data, value=0"},
    Signed{"crc32c", "data, value=0"},
    Signed{"crc64_xz", "data, value=0"},
    Signed{"crc64_nvme", "data, value=0"},
    Signed{"crc64_ecma182", "data, value=0"},
    Signed{"cksum", "data"},
    Signed{"new", "name, data=b''"},
    Signed{"sums", "data, algorithms"},
    Signed{"sum", "path, algorithms='adler32'"},
    Signed{"combine", "name, a, b, length_b, length_a=None"},
};
constexpr std::array hash_methods = {
    Signed{"update", "$self, data"},
    Signed{"digest", "$self"},
    Signed{"hexdigest", "$self"},
    Signed{"copy", "$self"},
};

/// "name(parameters)\n--\n\nhelp" is what Python takes apart again.
std::string documentation(const Signed& of, nb::handle bound) {
    const nb::object help = bound.attr("__nb_signature__")[0][1];  // an object: accessors own nothing
    return std::string(of.name) + "(" + of.parameters + ")\n--\n\n" +
           (help.is_none() ? "" : nb::cast<nb::str>(help).c_str());
}

/// Lives as long as the process, as the definitions of every extension do.
PyMethodDef& define(const Signed& of, nb::handle bound, Call* call) {
    auto* const text = new std::string(documentation(of, bound));
    return *new PyMethodDef{of.name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call)),
                            METH_FASTCALL | METH_KEYWORDS, text->c_str()};
}

/// A builtin function with the bound one as its self.
PyObject* call_function(PyObject* bound, PyObject* const* arguments, Size count, PyObject* keywords) {
    return PyObject_Vectorcall(bound, arguments, static_cast<std::size_t>(count), keywords);
}

std::array<PyObject*, hash_methods.size()> bound_methods{};

/// A builtin method has no other self than the object.
template <std::size_t index>
PyObject* call_method(PyObject* self, PyObject* const* arguments, Size count, PyObject* keywords) {
    const auto all = count + (keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords));
    std::vector<PyObject*> with_self{self};
    with_self.insert(with_self.end(), arguments, arguments + all);
    return PyObject_Vectorcall(bound_methods[index], with_self.data(), static_cast<std::size_t>(count) + 1, keywords);
}

template <std::size_t... index>
void show_methods(nb::handle type, std::index_sequence<index...>) {
    const auto show = [&](std::size_t at, Call* call) {
        const auto& of = hash_methods[at];
        const nb::object bound = type.attr(of.name);
        bound_methods[at] = nb::object(bound).release().ptr();
        auto& definition = define(of, bound, call);
        auto* const made = PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &definition);
        type.attr(of.name) = nb::steal(made);
    };
    (show(index, &call_method<index>), ...);
}

}  // namespace

void show_signatures(nb::module_& module) {
    const nb::object module_name = module.attr("__name__");
    for (const auto& of : functions) {
        const nb::object bound = module.attr(of.name);
        auto* const made = PyCFunction_NewEx(&define(of, bound, call_function), bound.ptr(), module_name.ptr());
        module.attr(of.name) = nb::steal(made);
    }
    show_methods(module.attr("Hash"), std::make_index_sequence<hash_methods.size()>{});
}

}  // namespace weir::python
