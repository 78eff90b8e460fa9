// SPDX-License-Identifier: Apache-2.0
// Plans as classes make them (members of 1, 2, 4 and 8 bytes with gaps between them, headers, flags, arrays of
// characters) and as none does (any byte anywhere), made at run time; and byte by byte, what writing and reading by
// them means.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "weir/serial/record_plan.hpp"

namespace weir::serial::test {

/// A plan with tables of its own.
class OwnedPlan {
public:
    OwnedPlan(std::vector<WireByte> bytes, std::size_t object_size)
        : bytes_(std::move(bytes)),
          fields_(bytes_.size()),
          narrow_(steps_max<16>(bytes_.size())),
          wide_(steps_max<64>(bytes_.size())),
          plan_(prepare(bytes_, object_size, fields_, narrow_, wide_)) {}
    OwnedPlan(const OwnedPlan&) = delete;
    OwnedPlan& operator=(const OwnedPlan&) = delete;

    [[nodiscard]] const RecordPlan& plan() const noexcept { return plan_; }
    [[nodiscard]] std::span<const WireByte> bytes() const noexcept { return bytes_; }

    /// By the definition, byte by byte.
    void write(const std::byte* objects, std::size_t count, std::byte* wire) const {
        for (std::size_t i = 0; i < count * bytes_.size(); ++i) {
            const auto& byte = bytes_[i % bytes_.size()];
            const auto* const object = objects + i / bytes_.size() * plan_.object_size;
            wire[i] = byte.is == WireByte::Is::constant ? std::byte{byte.value} : object[byte.index];
        }
    }
    void read(const std::byte* wire, std::size_t count, std::byte* objects) const {
        for (std::size_t i = 0; i < count * bytes_.size(); ++i) {
            const auto& byte = bytes_[i % bytes_.size()];
            if (byte.is == WireByte::Is::constant) continue;
            (objects + i / bytes_.size() * plan_.object_size)[byte.index] = wire[i];
        }
    }

private:
    std::vector<WireByte> bytes_;
    std::vector<RecordField> fields_;
    std::vector<RecordStep<16>> narrow_;
    std::vector<RecordStep<64>> wide_;
    RecordPlan plan_;
};

using Random = std::mt19937_64;

/// Members one behind the other, aligned or packed, after a header or not, the last followed by a gap or not.
inline OwnedPlan plan_of_class(Random& random) {
    std::vector<WireByte> bytes;
    const auto constants = [&](std::size_t count) {
        while (count-- > 0) bytes.push_back(constant_byte(static_cast<std::uint8_t>(random())));
    };
    if (random() % 2 == 0) constants(random() % 3 == 0 ? random() % 40 : 10);
    std::size_t place = random() % 4 == 0 ? random() % 100 : 0;
    const auto aligned = random() % 2 == 0;
    for (auto members = 1 + random() % (random() % 4 == 0 ? 30 : 5); members > 0; --members) {
        const auto size = std::size_t{1} << random() % 4;
        if (aligned) place = (place + size - 1) / size * size;
        const auto kind = random() % 12;
        if (kind == 0) place += random() % 80;
        if (kind == 1) constants(1 + random() % 6);
        if (kind == 2) {
            bytes.push_back(flag_byte(place++));
        } else if (kind == 3) {
            for (auto count = 1 + random() % 50; count > 0; --count) bytes.push_back(object_byte(place++));
        } else {
            for (auto i = size; i-- > 0;) bytes.push_back(object_byte(place + i));
            place += size;
        }
    }
    if (random() % 3 == 0) place += random() % 40;
    return {std::move(bytes), aligned ? (place + 7) / 8 * 8 : place};
}

/// Integers without a header and without gaps: what is turned in place, and what has almost that form.
inline OwnedPlan plan_of_integers(Random& random) {
    std::vector<WireByte> bytes;
    const auto size = std::size_t{1} << random() % 4;
    const auto members = 1 + random() % 6;
    for (std::size_t place = 0; place < members * size; place += size)
        for (auto i = size; i-- > 0;) bytes.push_back(object_byte(place + i));
    return {std::move(bytes), members * size + (random() % 3 == 0 ? random() % 9 : 0)};
}

/// Any bytes of the object in any order, with constants and flags between them.
inline OwnedPlan plan_of_anything(Random& random) {
    const auto object_size = 1 + random() % 150;
    std::vector<WireByte> bytes;
    for (std::size_t i = 0; i < object_size; ++i)
        if (random() % 3 != 0) bytes.push_back(random() % 20 == 0 ? flag_byte(i) : object_byte(i));
    for (auto count = random() % 12; count > 0 || bytes.empty(); count -= count > 0)
        bytes.push_back(constant_byte(static_cast<std::uint8_t>(random())));
    std::shuffle(bytes.begin(), bytes.end(), random);
    return {std::move(bytes), object_size};
}

inline OwnedPlan random_plan(Random& random) {
    const auto kind = random() % 8;
    if (kind == 0) return plan_of_anything(random);
    if (kind == 1) return plan_of_integers(random);
    return plan_of_class(random);
}

}  // namespace weir::serial::test
