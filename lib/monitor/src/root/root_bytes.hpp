// SPDX-License-Identifier: Apache-2.0
// What ROOT's records are made of: big-endian numbers, texts, and counts of bytes in front of a version and what
// belongs to it. docs/formats/root-buffer.md describes them.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"

namespace weir::monitor {

class RootBytes {
public:
    template <std::integral T>
    void number(T value) {
        const auto at = bytes_.size();
        bytes_.resize(at + sizeof(T));
        store_big(std::span(bytes_), at, static_cast<std::make_unsigned_t<T>>(value));
    }
    void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
    void real(float value) { number(std::bit_cast<std::uint32_t>(value)); }
    void bytes(ConstData data) { bytes_.insert(bytes_.end(), data.begin(), data.end()); }

    /// TString: a length of one byte, or 255 and one of four.
    void text(std::string_view text) {
        if (text.size() < 255) {
            number(static_cast<std::uint8_t>(text.size()));
        } else {
            number(std::uint8_t{255});
            number(static_cast<std::uint32_t>(text.size()));
        }
        bytes(as_data(text));
    }
    /// TArrayD, without a head of its own.
    void array(std::span<const double> values) {
        number(static_cast<std::uint32_t>(values.size()));
        for (const auto value : values) real(value);
    }

    /// How many bytes follow, the version, and what `body` appends.
    template <class Body>
    void versioned(std::uint16_t version, Body&& body) {
        counted([&] {
            number(version);
            body();
        });
    }
    /// An object behind a pointer: its class by name, then what `body` appends.
    template <class Body>
    void object(std::string_view class_name, Body&& body) {
        counted([&] {
            number(std::uint32_t{0xffffffff});  // a class that is named here
            bytes(as_data(class_name));
            number(std::uint8_t{0});
            body();
        });
    }

    /// TObject; the bits say that it lives on the heap and is not deleted.
    void tobject(std::uint32_t bits = 0x03000000) {
        number(std::uint16_t{1});
        number(std::uint32_t{0});
        number(bits);
    }
    void tnamed(std::string_view name, std::string_view title, std::uint32_t bits = 0x03000000) {
        versioned(1, [&] {
            tobject(bits);
            text(name);
            text(title);
        });
    }

    [[nodiscard]] std::size_t size() const noexcept { return bytes_.size(); }
    [[nodiscard]] std::span<const std::byte> data() const noexcept { return bytes_; }
    void overwrite(std::size_t at, std::uint32_t value) { store_big(std::span(bytes_), at, value); }

private:
    template <class Body>
    void counted(Body&& body) {
        const auto at = bytes_.size();
        number(std::uint32_t{0});
        body();
        overwrite(at, 0x40000000U | static_cast<std::uint32_t>(bytes_.size() - at - 4));
    }

    std::vector<std::byte> bytes_;
};

}  // namespace weir::monitor
