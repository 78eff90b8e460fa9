// SPDX-License-Identifier: Apache-2.0
#include "result_input.hpp"

#include "weir/event/rob_builder.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

void ResultInput::take(ConstData message) {
    wire::Level2Result result;
    if (!wire::decode(message, result)) return refuse(RobReject::malformed);
    words_.assign(1 + (result.result.size() + event::word_bytes - 1) / event::word_bytes, 0);
    words_[0] = static_cast<std::uint32_t>(result.result.size());
    for (std::size_t i = 0; i < result.result.size(); ++i)
        words_[1 + i / 4] |= std::to_integer<std::uint32_t>(result.result[i]) << (8 * (i % 4));
    rob_.clear();
    const auto made =
        event::append_rob(rob_, {.source = level2_result_source, .run = run_, .level1_id = result.level1_id}, words_,
                          {.format = format_});
    if (!made) return refuse(RobReject::malformed);
    if (store_.put(result.level1_id, event::RobData{level2_result_source, rob_}) == PutResult::full)
        refuse(RobReject::full);
}

}  // namespace weir::readout
