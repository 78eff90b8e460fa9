// SPDX-License-Identifier: Apache-2.0
// The bytes of any Python object that has some: bytes, bytearray, memoryview, array, numpy. While this lives
// the object cannot be resized, so the bytes may be read without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include "weir/base/data.hpp"

namespace weir::python {

class Buffer {
public:
    /// Throws as Python does: TypeError for an object without bytes (a text), ValueError for one whose
    /// bytes are gone (released, closed), BufferError for one whose bytes do not lie side by side.
    explicit Buffer(nanobind::handle object);
    ~Buffer() { PyBuffer_Release(&view_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    [[nodiscard]] ConstData data() const noexcept {
        return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
    }
    [[nodiscard]] bool read_only() const noexcept { return view_.readonly != 0; }

private:
    Py_buffer view_{};
};

/// Runs `body` without the GIL when there is enough data: below, giving it up costs more than the sum.
template <class Body>
auto without_gil(ConstData data, Body&& body) {
    constexpr std::size_t worth_it = 65536;
    if (data.size() < worth_it) return body();
    nanobind::gil_scoped_release release;
    return body();
}

}  // namespace weir::python
