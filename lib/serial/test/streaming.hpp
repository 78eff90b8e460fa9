// SPDX-License-Identifier: Apache-2.0
// Helpers of the streamer's tests: bytes from hex, objects to bytes, bytes to objects.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

namespace weir::serial {

/// "40 00 0a": spaces are for people.
inline std::string from_hex(std::string_view hex) {
    std::string bytes;
    for (std::size_t i = 0; i < hex.size(); ++i) {
        if (hex[i] == ' ') continue;
        bytes += static_cast<char>(std::stoi(std::string(hex.substr(i++, 2)), nullptr, 16));
    }
    return bytes;
}

inline std::string to_hex(std::string_view bytes) {
    std::string hex;
    for (const char c : bytes) {
        constexpr std::string_view digits = "0123456789abcdef";
        if (!hex.empty()) hex += ' ';
        (hex += digits[static_cast<unsigned char>(c) >> 4]) += digits[static_cast<unsigned char>(c) & 15];
    }
    return hex;
}

template <class T>
std::string written(const T& object, Mode mode = Mode::object_wise) {
    Writer writer({.mode = mode});
    const auto ok = writer.stream(object);
    EXPECT_TRUE(ok.has_value());
    return std::string(as_text(writer.data()));
}

template <class T>
std::string written_any(const T* object) {
    Writer writer;
    EXPECT_TRUE(writer.write_any(object).has_value());
    return std::string(as_text(writer.data()));
}

/// Reads all of `bytes`; the error is in the test's output.
template <class T>
T read(std::string_view bytes, ReaderOptions options = {}) {
    Reader reader(as_data(bytes), options);
    T object{};
    const auto ok = reader.stream(object);
    EXPECT_TRUE(ok.has_value()) << ok.error().context;
    EXPECT_TRUE(reader.at_end());
    return object;
}

/// Why `bytes` are no T.
template <class T>
Error refusal(std::string_view bytes, ReaderOptions options = {}) {
    Reader reader(as_data(bytes), options);
    T object{};
    const auto ok = reader.stream(object);
    EXPECT_FALSE(ok.has_value());
    EXPECT_EQ(reader.position(), 0u);
    return ok ? Error{} : ok.error();
}

}  // namespace weir::serial
