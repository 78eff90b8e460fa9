// SPDX-License-Identifier: Apache-2.0
// Whatever a server answers of a checksum: it is one of the algorithm that was asked for, or none.
#include <algorithm>
#include <cstdint>
#include <string>

#include "weir/base/assert.hpp"
#include "weir/fixity/attributes.hpp"
#include "weir/handoff/xrootd_destination.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace weir;
    if (size == 0) return 0;
    const auto algorithm = digest::algorithms[data[0] % digest::algorithms.size()];
    std::string answer(size - 1, '\0');
    std::copy(data + 1, data + size, answer.begin());
    const auto sum = handoff::parse_checksum_answer(answer, algorithm);
    if (!sum) return 0;
    WEIR_ASSERT(sum->algorithm() == algorithm);
    const auto written = std::string(fixity::xrootd_name(algorithm).value()) + " " + sum->hex();
    WEIR_ASSERT(handoff::parse_checksum_answer(written, algorithm) == sum);
    return 0;
}
