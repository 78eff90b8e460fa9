// SPDX-License-Identifier: Apache-2.0
// weir.new() and its objects.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include "bind.hpp"
#include "buffer.hpp"
#include "hash.hpp"
#include "values.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

void update(Hash& hash, nb::handle object) {
    const Buffer buffer(object);
    // Another thread may hold the object's lock and wait for the GIL, so even a short update releases it.
    nb::gil_scoped_release release;
    hash.add(buffer.data());
}

digest::Digest value(const Hash& hash) {
    nb::gil_scoped_release release;
    return hash.value();
}

/// As hashlib has it: what an HMAC would fill up to.
std::size_t block_size(digest::Algorithm algorithm) noexcept {
    using digest::Algorithm;
    switch (algorithm) {
        case Algorithm::md5:
        case Algorithm::sha1:
        case Algorithm::sha224:
        case Algorithm::sha256:
        case Algorithm::blake3:
        case Algorithm::xxh3_64:
        case Algorithm::xxh3_128: return 64;
        case Algorithm::sha384:
        case Algorithm::sha512:
        case Algorithm::blake2b: return 128;
        case Algorithm::sha3_256: return 136;
        case Algorithm::xxh32: return 16;
        case Algorithm::xxh64:
        case Algorithm::hwh64: return 32;
        default: return 1;
    }
}

}  // namespace

void bind_hash(nb::module_& module) {
    nb::class_<Hash>(module, "Hash", "A sum made piece by piece, in the shape of hashlib's objects. Made by new().")
        .def_prop_ro("name", [](const Hash& hash) { return digest::name(hash.algorithm()); })
        .def_prop_ro("digest_size", [](const Hash& hash) { return digest::digest_size(hash.algorithm()); })
        .def_prop_ro("block_size", [](const Hash& hash) { return block_size(hash.algorithm()); })
        .def("update", &update, nb::arg("data").none(), "Adds data; other threads run meanwhile.")
        .def(
            "digest", [](const Hash& hash) { return bytes_of(value(hash)); }, "The value of everything added so far.")
        .def(
            "hexdigest", [](const Hash& hash) { return value(hash).hex(); }, "The same in lower-case digits.")
        .def(
            "copy",
            [](const Hash& hash) {
                nb::gil_scoped_release release;
                return hash.copy();
            },
            "An object that goes on from here alone.")
        .def("__repr__",
             [](const Hash& hash) { return "<weir.Hash '" + std::string(digest::name(hash.algorithm())) + "'>"; });

    module.def(
        "new",
        [](std::string_view name, nb::handle data) {
            Hash hash(algorithm_of(name));
            update(hash, data);
            return hash;
        },
        nb::arg("name"), nb::arg("data").none() = nb::bytes("", 0), "A Hash of this algorithm, with the data added.");
}

}  // namespace weir::python
