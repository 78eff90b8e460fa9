// SPDX-License-Identifier: Apache-2.0
#include "values.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <string>

#include "buffer.hpp"

namespace nb = nanobind;

namespace weir::python {

digest::Algorithm algorithm_of(std::string_view name) {
    if (const auto algorithm = digest::parse_algorithm(name)) return *algorithm;
    throw nb::value_error(("there is no algorithm '" + std::string(name.substr(0, 80)) + "'; there are " +
                           std::string(digest::algorithm_names()))
                              .c_str());
}

std::vector<digest::Algorithm> algorithms_of(nb::handle names) {
    std::vector<digest::Algorithm> algorithms;
    if (nb::isinstance<nb::str>(names)) {
        algorithms.push_back(algorithm_of(nb::cast<std::string>(names)));
    } else {
        for (const auto name : nb::iter(names)) {
            if (!nb::isinstance<nb::str>(name)) throw nb::type_error("the name of an algorithm is a text (str)");
            algorithms.push_back(algorithm_of(nb::cast<std::string>(name)));
        }
    }
    if (algorithms.empty()) throw nb::value_error("no algorithm is named");
    return algorithms;
}

nb::dict dictionary_of(const std::vector<digest::Digest>& values) {
    nb::dict result;
    for (const auto& digest : values) result[nb::cast(digest::name(digest.algorithm()))] = nb::cast(digest.hex());
    return result;
}

nb::bytes bytes_of(const digest::Digest& digest) {
    const auto bytes = digest.bytes();
    return nb::bytes(bytes.data(), bytes.size());
}

digest::Digest digest_of(digest::Algorithm algorithm, nb::handle value) {
    const auto size = digest::digest_size(algorithm);
    if (nb::isinstance<nb::str>(value)) {
        const auto digest = digest::Digest::parse(algorithm, nb::cast<std::string>(value));
        if (!digest) throw nb::value_error(digest.error().message().c_str());
        return *digest;
    }
    if (PyLong_Check(value.ptr())) {
        const auto number = PyLong_AsUnsignedLongLong(value.ptr());
        if (PyErr_Occurred() != nullptr) throw nb::python_error();
        if (size > 8 || (size < 8 && number >> (8 * size) != 0)) {
            throw nb::value_error(("the number is no value of " + std::string(digest::name(algorithm))).c_str());
        }
        return digest::Digest::of_number(algorithm, number);
    }
    const Buffer bytes(value);
    if (bytes.data().size() != size) {
        throw nb::value_error(
            ("a value of " + std::string(digest::name(algorithm)) + " has " + std::to_string(size) + " bytes").c_str());
    }
    return digest::Digest::of_bytes(algorithm, bytes.data());
}

nb::object shaped_like(nb::handle like, const digest::Digest& digest) {
    if (nb::isinstance<nb::str>(like)) return nb::cast(digest.hex());
    if (PyLong_Check(like.ptr())) return nb::cast(digest.number());
    return bytes_of(digest);
}

}  // namespace weir::python
