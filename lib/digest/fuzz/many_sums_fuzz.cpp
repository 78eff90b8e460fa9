// SPDX-License-Identifier: Apache-2.0
// Any bytes, cut anywhere and dealt out to any streams: each has the sum that it has alone. And BLAKE3 in pieces is
// that of the whole.
#include <algorithm>
#include <vector>

#include "weir/base/assert.hpp"
#include "weir/digest/many_sums.hpp"
#include "weir/digest/summer.hpp"

namespace {

using namespace weir;
using namespace weir::digest;

constexpr std::size_t streams = 27;

/// Two bytes choose the stream and the size; the data of a part are repeated, so that short inputs fill blocks.
void check_streams(Algorithm algorithm, ConstData input) {
    ManySums sums(algorithm, streams);
    std::vector<std::vector<std::byte>> whole(streams);
    while (input.size() > 2) {
        std::vector<ManySums::Part> parts;
        std::vector<std::vector<std::byte>> kept;
        kept.reserve(streams);
        for (std::size_t i = 0; i < streams && input.size() > 2; ++i) {
            const auto repeats = std::to_integer<std::size_t>(input[0]) % 32;
            const auto size = std::min<std::size_t>(std::to_integer<std::size_t>(input[1]), input.size() - 2);
            auto& data = kept.emplace_back();
            for (std::size_t n = 0; n < repeats; ++n)
                data.insert(data.end(), input.begin() + 2, input.begin() + 2 + static_cast<std::ptrdiff_t>(size));
            parts.push_back({i, data});
            whole[i].insert(whole[i].end(), data.begin(), data.end());
            input = input.subspan(2 + size);
        }
        sums.add(parts);
    }
    std::vector<ConstData> all;
    for (std::size_t i = 0; i < streams; ++i) {
        WEIR_ASSERT(sums.value(i) == sum(algorithm, whole[i]));
        all.emplace_back(whole[i]);
    }
    const auto at_once = sum_many(algorithm, all);
    for (std::size_t i = 0; i < streams; ++i) WEIR_ASSERT(at_once[i] == sums.value(i));
}

void check_blake3(ConstData input) {
    std::vector<std::byte> data;
    while (!input.empty() && data.size() < 20'000) data.insert(data.end(), input.begin(), input.end());
    Summer summer(Algorithm::blake3);
    std::size_t at = 0;
    for (const auto byte : input) {
        const auto size =
            std::min(data.size() - at, std::to_integer<std::size_t>(byte) * std::to_integer<std::size_t>(byte));
        summer.add(ConstData(data).subspan(at, size));
        at += size;
    }
    summer.add(ConstData(data).subspan(at));
    WEIR_ASSERT(summer.value() == sum(Algorithm::blake3, data));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
    const auto input = std::as_bytes(std::span(bytes, size));
    for (const auto algorithm : {Algorithm::md5, Algorithm::sha1, Algorithm::sha256}) check_streams(algorithm, input);
    check_blake3(input);
    return 0;
}
