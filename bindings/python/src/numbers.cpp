// SPDX-License-Identifier: Apache-2.0
// adler32 and the CRCs in the shape of zlib.adler32 and zlib.crc32: a number that continues from a number. Like
// there, a start value of any size is taken and its low bits count.
#include <nanobind/nanobind.h>

#include "bind.hpp"
#include "buffer.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

template <auto function, class Value>
Value run(nb::handle object, nb::int_ start) {
    const auto value = static_cast<Value>(PyLong_AsUnsignedLongLongMask(start.ptr()));
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    const Buffer buffer(object);
    return without_gil(buffer.data(), [&] { return function(buffer.data(), value); });
}

template <auto function, class Value>
void define(nb::module_& module, const char* name, Value start, const char* help) {
    module.def(name, &run<function, Value>, nb::arg("data").none(), nb::arg("value") = start, help);
}

}  // namespace

void bind_numbers(nb::module_& module) {
    using namespace checksum;
    define<adler32, std::uint32_t>(module, "adler32", adler32_start, "zlib's adler32, continuing from value.");
    define<crc32, std::uint32_t>(module, "crc32", 0, "zlib's crc32, continuing from value.");
    define<crc32c, std::uint32_t>(module, "crc32c", 0, "CRC-32C (Castagnoli), continuing from value.");
    define<crc64_xz, std::uint64_t>(module, "crc64_xz", 0, "The CRC-64 of xz, continuing from value.");
    define<crc64_nvme, std::uint64_t>(module, "crc64_nvme", 0, "The CRC-64 of NVMe and S3, continuing from value.");
    define<crc64_ecma182, std::uint64_t>(module, "crc64_ecma182", 0,
                                         "The CRC-64 of ECMA-182 and EOS, continuing from value.");
    module.def(
        "cksum",
        [](nb::handle object) {
            const Buffer buffer(object);
            return without_gil(buffer.data(), [&] { return cksum(buffer.data()); });
        },
        nb::arg("data").none(),
        "POSIX's cksum, which XRootD calls crc32. It holds the length, so it does not continue.");
}

}  // namespace weir::python
