// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/answer.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t data_max =
    wire::dataflow_message_max - (std::size_t{1} << 20);  // the head needs less than the rest

}  // namespace

RobStore::Answer AnswerMaker::make(const RobStore& store, wire::StationId to, std::uint64_t request, Level1Id event,
                                   std::span<const SourceId> robs, Answer& into) {
    into.to = to;
    into.event = event;
    into.head.clear();
    into.data.clear();
    head_.request = request;
    head_.level1_id = event;
    head_.robs.clear();
    const auto answer = store.read(event, robs, head_.robs, into.data, data_max);
    into.robs.fill(0);
    for (const auto& part : head_.robs) ++into.robs[static_cast<std::size_t>(part.state)];
    wire::encode(head_, into.head);
    return answer;
}

}  // namespace weir::readout
