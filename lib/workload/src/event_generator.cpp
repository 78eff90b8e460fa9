// SPDX-License-Identifier: Apache-2.0
#include "weir/workload/event_generator.hpp"

#include <algorithm>
#include <array>

#include "detector_words.hpp"
#include "weir/base/assert.hpp"
#include "weir/event/event_builder.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/event/stream_tags.hpp"

namespace weir::workload {
namespace {

constexpr std::size_t rob_size_typical = 1050;
constexpr std::size_t level1_word_count = 48;
constexpr std::size_t filter_word_count = 16;
constexpr SourceId builder_source{0x790001};

// Pixel, SCT, TRT, LAr, Tile, muons, level-1: the order in which they stand in an event.
constexpr std::array<std::uint8_t, 28> detectors{0x11, 0x12, 0x13, 0x14, 0x21, 0x22, 0x23, 0x24, 0x31, 0x32,
                                                 0x33, 0x34, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48,
                                                 0x51, 0x52, 0x53, 0x54, 0x61, 0x63, 0x65, 0x67};

/// ROBs of one event share the detectors evenly; the module is the ROB's number, so no two are the same.
SourceId source_of(std::size_t rob, std::size_t robs) {
    const auto detector = detectors[rob * detectors.size() / robs];
    return SourceId{std::uint32_t{detector} << 16 | static_cast<std::uint32_t>(rob & 0xffff)};
}

}  // namespace

EventGenerator::EventGenerator(Profile profile, std::uint64_t seed, event::ChecksumType checksum)
    : profile_(std::move(profile)), random_(seed), checksum_(checksum) {}

void EventGenerator::generate(const PlannedEvent& plan, const event::EventIds& ids, GeneratedEvent& into) {
    WEIR_ASSERT(plan.stream < profile_.streams.size());
    const auto& stream = profile_.streams[plan.stream];
    const std::size_t target_words = plan.stored_size.count() / event::word_bytes;
    const auto robs = std::clamp<std::size_t>(plan.stored_size.count() / rob_size_typical, 1, 0xffff);

    event::EventFields fields;
    fields.ids = ids;
    fields.source = builder_source;
    fields.run_type = stream.type == "calibration" ? 1 : 0;
    fields.bunch_crossing_id = static_cast<std::uint32_t>(random_.below(3564));
    fields.trigger_type = static_cast<std::uint32_t>(random_.below(256));
    fields.checksum = checksum_;
    for (std::size_t i = 0; i < level1_word_count; ++i)  // few trigger bits are set
        fields.level1_words.push_back(static_cast<std::uint32_t>(random_.next() & random_.next() & random_.next()));
    for (std::size_t i = 0; i < filter_word_count; ++i)
        fields.filter_words.push_back(static_cast<std::uint32_t>(random_.next() & random_.next() & random_.next()));

    into.tags.clear();
    into.tags.push_back({.type = stream.type,
                         .name = stream.name,
                         .obeys_lumi_block = stream.type == "physics",
                         .robs = {},
                         .detectors = {}});
    if (plan.express)
        into.tags.push_back(
            {.type = "express", .name = "express", .obeys_lumi_block = true, .robs = {}, .detectors = {}});
    // The ROB beyond those of a partial stream: what the stream does not take.
    const std::size_t all_robs = robs + (stream.partial ? 1 : 0);
    if (stream.partial)
        for (std::size_t i = 0; i < robs; ++i) into.tags.front().robs.push_back(source_of(i, all_robs));
    fields.tags = into.tags;

    const auto tag_words = event::encode_stream_tags(into.tags);
    WEIR_ASSERT(tag_words.has_value());
    const std::size_t sum_words = checksum_ == event::ChecksumType::none ? 0 : 1;
    const std::size_t outside_words = event::common_header_words + event::event_5_0_specific_words + 1 +
                                      level1_word_count + filter_word_count + tag_words->size() / event::word_bytes +
                                      sum_words;
    const event::RobOptions options{.format = event::Format::event_5_0, .status = 0, .checksum = checksum_};
    const std::size_t rob_words_min = event::rob_size(0, options) / event::word_bytes;
    auto left = std::max(target_words, outside_words + robs * rob_words_min) - outside_words;

    robs_.clear();
    std::vector<std::size_t> ends;
    for (std::size_t i = 0; i < all_robs; ++i) {
        std::size_t words = left;
        if (i >= robs) {
            words = std::max<std::size_t>(rob_words_min, target_words / 40);  // 2.5 %
        } else if (i + 1 < robs) {  // around the even share; what remains must be enough for the others
            const auto share = left / (robs - i);
            const auto drawn = share * (60 + random_.below(81)) / 100;
            words = std::clamp(drawn, rob_words_min, left - (robs - i - 1) * rob_words_min);
        }
        if (i < robs) left -= words;
        fill_with_samples(words_, words - rob_words_min, random_);
        const auto source = source_of(i, all_robs);
        const event::RodFields rod{.source = source,
                                   .run = ids.run,
                                   .level1_id = ids.level1_id,
                                   .bunch_crossing_id = fields.bunch_crossing_id,
                                   .trigger_type = fields.trigger_type};
        const auto made = event::append_rob(robs_, rod, words_, options);
        WEIR_ASSERT(made.has_value());
        ends.push_back(robs_.size());
    }

    std::vector<ConstData> views;
    views.reserve(ends.size());
    std::size_t begin = 0;
    for (const auto end : ends) {
        views.push_back(ConstData(robs_).subspan(begin, end - begin));
        begin = end;
    }
    event::EventPieces pieces;
    const auto assembled = event::assemble_event(fields, views, pieces);
    WEIR_ASSERT(assembled.has_value());
    into.bytes.resize(pieces.size());
    pieces.copy_to(into.bytes);
}

}  // namespace weir::workload
