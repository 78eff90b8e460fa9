// SPDX-License-Identifier: Apache-2.0
#include "rob_input.hpp"

#include <algorithm>
#include <utility>

#include "weir/base/endian.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::readout {

RobInput::RobInput(RobStore& store, const RobInputOptions& options,
                   std::function<void(const Level1Mismatch&)> mismatched)
    : store_(store), options_(options), mismatched_(std::move(mismatched)) {}

void RobInput::refuse(RobReject reason) { store_.ledger().refuse(reason); }

void RobInput::put(Level1Id event, const event::RobData& rob) {
    if (store_.put(event, rob) == PutResult::full) refuse(RobReject::full);
}

void RobInput::take_fragment(ConstData message) {
    wire::ReadoutInput input;
    if (!wire::decode(message, input) || input.fragment.size() < event::word_bytes) return refuse(RobReject::malformed);
    auto bytes = input.fragment;
    if (load_little<std::uint32_t>(bytes, 0) == event::rod_marker) {
        rob_.clear();
        if (!event::append_rob_around(rob_, input.source, bytes, {.format = options_.format}))
            return refuse(RobReject::malformed);
        bytes = rob_;
    }
    const auto rob = event::FragmentView::parse(bytes, event::Level::rob, options_.format);
    if (!rob || rob->bytes().size() != bytes.size() || rob->source() != input.source)
        return refuse(RobReject::malformed);
    if (!store_.knows(input.source)) return refuse(RobReject::unknown_source);
    if (rob->payload().empty()) {  // its status has the reason
        if (rob->status() == 0) return refuse(RobReject::malformed);
        return put(input.level1_id, {input.source, bytes});
    }
    const auto rod = event::RodView::parse(rob->payload(), rob->payload_offset());
    if (!rod) return refuse(RobReject::malformed);
    const auto rule = options_.rules.sources.find(input.source);
    const auto source_rule = rule == options_.rules.sources.end() ? event::SourceRule{} : rule->second;
    const Level1Id expected{number(input.level1_id) + static_cast<std::uint32_t>(source_rule.level1_offset)};
    const bool marked = (rob->status() & event::status::level1_id) != 0;
    if (!source_rule.exempt && !marked && rod->level1_id() != expected) {
        refuse(RobReject::level1_mismatch);
        store_.mark_lost(input.level1_id, input.source);
        if (mismatched_) mismatched_({input.source, expected, rod->level1_id()});
        return;
    }
    put(input.level1_id, {input.source, bytes});
}

void RobInput::take_result(ConstData message) {
    wire::Level2Result result;
    if (!wire::decode(message, result)) return refuse(RobReject::malformed);
    words_.assign(1 + (result.result.size() + event::word_bytes - 1) / event::word_bytes, 0);
    words_[0] = static_cast<std::uint32_t>(result.result.size());
    for (std::size_t i = 0; i < result.result.size(); ++i)
        words_[1 + i / 4] |= std::to_integer<std::uint32_t>(result.result[i]) << (8 * (i % 4));
    rob_.clear();
    const auto made =
        event::append_rob(rob_, {.source = level2_result_source, .run = options_.run, .level1_id = result.level1_id},
                          words_, {.format = options_.format});
    if (!made) return refuse(RobReject::malformed);
    put(result.level1_id, {level2_result_source, rob_});
}

}  // namespace weir::readout
