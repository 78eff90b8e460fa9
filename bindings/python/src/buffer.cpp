// SPDX-License-Identifier: Apache-2.0
#include "buffer.hpp"

#include <string>

namespace weir::python {
namespace {

std::string kind_of(nanobind::handle object) {
    return nanobind::cast<std::string>(
        nanobind::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__"));
}

}  // namespace

Buffer::Buffer(nanobind::handle object) {
    if (PyUnicode_Check(object.ptr())) {
        PyErr_SetString(PyExc_TypeError, "a text has no bytes before it is encoded: pass data.encode()");
        throw nanobind::python_error();
    }
    if (PyObject_CheckBuffer(object.ptr()) == 0) {
        const auto message =
            "an object with bytes is needed (bytes, bytearray, memoryview, array, ...), not '" + kind_of(object) + "'";
        PyErr_SetString(PyExc_TypeError, message.c_str());
        throw nanobind::python_error();
    }
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0) return;
    // An object that has none any more (a memoryview that was released, an mmap that was closed) raises that itself.
    // NumPy raises the same for bytes that do not lie side by side; those it has, piece by piece.
    if (PyErr_ExceptionMatches(PyExc_ValueError) != 0) {
        nanobind::python_error gone;
        if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_FULL_RO) != 0) {
            PyErr_Clear();
            throw gone;
        }
        PyBuffer_Release(&view_);
    }
    // Each kind of object has its own words for bytes that do not lie side by side.
    PyErr_Clear();
    const auto message =
        "the bytes of this '" + kind_of(object) + "' do not lie side by side; make a contiguous copy first";
    PyErr_SetString(PyExc_BufferError, message.c_str());
    throw nanobind::python_error();
}

}  // namespace weir::python
