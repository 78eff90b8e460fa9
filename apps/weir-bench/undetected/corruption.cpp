// SPDX-License-Identifier: Apache-2.0
#include "undetected/corruption.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "weir/base/endian.hpp"

namespace weir::app {
namespace {

constexpr std::size_t stride = 16;   // bytes of a word on the bus
constexpr std::size_t distance = 4;  // bytes between two lanes that are confused
constexpr std::size_t page = 4096;

unsigned below(Randomness& random, unsigned limit) { return static_cast<unsigned>(random() % limit); }

std::byte& lane(MutableData data, std::size_t word, std::size_t which) { return data[word * stride + which]; }

void swap_pages(MutableData data, std::size_t a, std::size_t b, std::size_t size) {
    std::swap_ranges(data.begin() + static_cast<std::ptrdiff_t>(a),
                     data.begin() + static_cast<std::ptrdiff_t>(a + size),
                     data.begin() + static_cast<std::ptrdiff_t>(b));
}

void flip_bit(MutableData data, std::size_t bit) { data[bit / 8] ^= std::byte{1} << bit % 8; }

/// `count` different bits within `span` bits from `begin` on.
void flip_bits(MutableData data, std::size_t begin, std::size_t span, unsigned count, Randomness& random) {
    std::vector<std::size_t> chosen;
    while (chosen.size() < count) {
        const auto bit = begin + random() % span;
        if (std::ranges::find(chosen, bit) == chosen.end()) chosen.push_back(bit);
    }
    for (const auto bit : chosen) flip_bit(data, bit);
}

Corruption of_lanes(std::string name, std::uint64_t sites,
                    std::function<void(MutableData, unsigned bit, std::size_t word, Randomness&)> one) {
    const auto words = static_cast<std::size_t>(sites);
    return {std::move(name), words * stride, sites,
            [one = std::move(one), words](MutableData data, Randomness& random) {
                const unsigned bit = below(random, 8);
                for (std::size_t word = 0; word < words; ++word) one(data, bit, word, random);
            }};
}

}  // namespace

const char* name(DataKind kind) noexcept {
    switch (kind) {
        case DataKind::random: return "random";
        case DataKind::pedestal: return "pedestal";
        case DataKind::hits: return "hits";
    }
    return "";
}

void fill(MutableData data, DataKind kind, Randomness& random) {
    if (kind == DataKind::random) {
        std::size_t at = 0;
        for (; at + 8 <= data.size(); at += 8) store_little<std::uint64_t>(data, at, random());
        for (; at < data.size(); ++at) data[at] = static_cast<std::byte>(random());
        return;
    }
    // The sum of four small numbers stands for a normal distribution; its width is that of electronics' noise.
    const auto noise = [&random] {
        const auto bits = random();
        return static_cast<std::int64_t>((bits & 7) + (bits >> 3 & 7) + (bits >> 6 & 7) + (bits >> 9 & 7)) - 14;
    };
    std::uint16_t channel = 0;
    for (std::size_t at = 0; at + 2 <= data.size(); at += 2) {
        std::uint16_t word = 0;
        if (kind == DataKind::pedestal) word = static_cast<std::uint16_t>(200 + noise() / 2);
        else if (at % 4 == 0) word = channel = static_cast<std::uint16_t>((channel + 1 + random() % 40) % 8192);
        else word = static_cast<std::uint16_t>(std::abs(noise()) * 8);
        store_little<std::uint16_t>(data, at, word);
    }
}

std::vector<Corruption> lane_corruptions(std::uint64_t sites) {
    std::vector<Corruption> all;
    all.push_back(of_lanes("bit swapped between two lanes 4 bytes apart", sites,
                           [](MutableData data, unsigned bit, std::size_t word, Randomness&) {
                               auto& a = lane(data, word, 3);
                               auto& b = lane(data, word, 3 + distance);
                               const auto mask = std::byte{1} << bit;
                               const auto difference = (a ^ b) & mask;
                               a ^= difference;
                               b ^= difference;
                           }));
    all.push_back(of_lanes("byte swapped between the lanes", sites,
                           [](MutableData data, unsigned, std::size_t word, Randomness&) {
                               std::swap(lane(data, word, 3), lane(data, word, 3 + distance));
                           }));
    all.push_back(of_lanes("two bits swapped inside a byte", sites,
                           [](MutableData data, unsigned bit, std::size_t word, Randomness&) {
                               auto& a = lane(data, word, 3);
                               const auto value = std::to_integer<unsigned>(a);
                               const unsigned other = (bit + 3) % 8;
                               const unsigned differ = (value >> bit ^ value >> other) & 1;
                               a = static_cast<std::byte>(value ^ (differ << bit | differ << other));
                           }));
    all.push_back(of_lanes("bit of a lane flips at random", sites,
                           [](MutableData data, unsigned bit, std::size_t word, Randomness& random) {
                               if ((random() & 1) != 0) lane(data, word, 3) ^= std::byte{1} << bit;
                           }));
    all.push_back(
        of_lanes("bit of a lane stuck at 1", sites, [](MutableData data, unsigned bit, std::size_t word, Randomness&) {
            lane(data, word, 3) |= std::byte{1} << bit;
        }));
    const auto words = static_cast<std::size_t>(sites);
    all.push_back({"bit of a lane one word late", words * stride, sites, [words](MutableData data, Randomness& random) {
                       const auto mask = std::byte{1} << below(random, 8);
                       for (std::size_t word = words - 1; word > 0; --word)
                           lane(data, word, 3) = (lane(data, word, 3) & ~mask) | (lane(data, word - 1, 3) & mask);
                   }});
    return all;
}

std::vector<Corruption> block_corruptions() {
    constexpr std::size_t size = 16 * page;
    std::vector<Corruption> all;
    all.push_back({"two 4 KiB pages swapped", size, 0, [](MutableData data, Randomness& random) {
                       const auto a = random() % 16;
                       const auto b = (a + 1 + random() % 15) % 16;
                       swap_pages(data, a * page, b * page, page);
                   }});
    all.push_back({"two sectors of 512 bytes swapped", size, 0, [](MutableData data, Randomness& random) {
                       const auto a = random() % 128;
                       const auto b = (a + 1 + random() % 127) % 128;
                       swap_pages(data, a * 512, b * 512, 512);
                   }});
    all.push_back({"a 4 KiB page is that before it", size, 0, [](MutableData data, Randomness& random) {
                       const auto a = 1 + random() % 15;
                       std::memcpy(data.data() + a * page, data.data() + (a - 1) * page, page);
                   }});
    all.push_back({"a 4 KiB page is zeros", size, 0, [](MutableData data, Randomness& random) {
                       std::memset(data.data() + random() % 16 * page, 0, page);
                   }});
    all.push_back({"a byte lost, one added at the end", size, 0, [](MutableData data, Randomness& random) {
                       const auto at = random() % data.size();
                       std::memmove(data.data() + at, data.data() + at + 1, data.size() - at - 1);
                       data.back() = static_cast<std::byte>(random());
                   }});
    all.push_back({"bytes of words of 4 reversed", size, 0, [](MutableData data, Randomness&) {
                       for (std::size_t at = 0; at + 4 <= data.size(); at += 4) {
                           std::swap(data[at], data[at + 3]);
                           std::swap(data[at + 1], data[at + 2]);
                       }
                   }});
    return all;
}

std::vector<Corruption> bit_corruptions() {
    constexpr std::size_t size = 4096;
    std::vector<Corruption> all;
    for (const unsigned count : {1U, 2U, 3U, 4U}) {
        all.push_back(
            {fmt::format("{} random bit{}", count, count == 1 ? "" : "s"), size, count,
             [count](MutableData data, Randomness& random) { flip_bits(data, 0, data.size() * 8, count, random); }});
    }
    all.push_back({"burst of at most 32 bits", size, 1, [](MutableData data, Randomness& random) {
                       const auto begin = random() % (data.size() * 8 - 32);
                       flip_bits(data, begin, 32, 1 + below(random, 31), random);
                   }});
    all.push_back({"+1, -1, -1, +1 at equal distances", size, 4, [](MutableData data, Randomness& random) {
                       const auto gap = 1 + random() % 64;
                       const auto begin = random() % (data.size() - 3 * gap);
                       const auto at = [&](std::size_t i) -> std::byte& { return data[begin + i * gap]; };
                       const auto value = [&](std::size_t i) { return std::to_integer<unsigned>(at(i)); };
                       if (value(0) == 255 || value(1) == 0 || value(2) == 0 || value(3) == 255)
                           return;  // would wrap around
                       at(0) = static_cast<std::byte>(value(0) + 1);
                       at(1) = static_cast<std::byte>(value(1) - 1);
                       at(2) = static_cast<std::byte>(value(2) - 1);
                       at(3) = static_cast<std::byte>(value(3) + 1);
                   }});
    return all;
}

}  // namespace weir::app
