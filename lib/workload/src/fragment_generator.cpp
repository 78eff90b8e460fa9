// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "detector_words.hpp"
#include "weir/base/assert.hpp"
#include "weir/event/rob_builder.hpp"
#include "weir/event/rob_stamp.hpp"
#include "weir/workload/fragment_maker.hpp"

namespace weir::workload {
namespace {

constexpr std::size_t sets = 4;  // of ROBs, so that not every event has the same words
constexpr Bytes rob_size_max{16ULL << 20};

class Generator final : public FragmentMaker {
public:
    explicit Generator(const FragmentGeneratorOptions& options) : options_(options) { set_run(RunNumber{}); }

    const std::vector<SourceId>& sources() const noexcept override { return options_.sources; }

    void set_run(RunNumber run) override {
        Random random(options_.seed);
        const auto empty = event::rob_size(0, {.format = options_.format});
        const auto words = (std::max<std::size_t>(options_.rob_size.count(), empty) - empty) / event::word_bytes;
        std::vector<std::uint32_t> samples;
        for (auto& set : sets_) {
            set.bytes.clear();
            set.robs.clear();
            set.stamps.clear();
            std::vector<std::size_t> begins;
            for (const auto source : options_.sources) {
                begins.push_back(set.bytes.size());
                fill_with_samples(samples, words, random);
                const auto made = event::append_rob(set.bytes, {.source = source, .run = run, .level1_id = Level1Id{1}},
                                                    samples, {.format = options_.format});
                WEIR_ASSERT(made.has_value());  // make_fragment_generator has checked the options
            }
            begins.push_back(set.bytes.size());
            for (std::size_t i = 0; i < options_.sources.size(); ++i) {
                const auto bytes = std::span(set.bytes).subspan(begins[i], begins[i + 1] - begins[i]);
                set.robs.push_back({options_.sources[i], bytes});
                auto stamp = event::RobStamp::make(bytes, options_.format, Level1Id{1});
                WEIR_ASSERT(stamp.has_value());
                set.stamps.push_back(*stamp);
            }
        }
    }

    std::span<const event::RobData> make(Level1Id event) override {
        auto& set = sets_[number(event) % sets];
        MutableData rest(set.bytes);
        for (std::size_t i = 0; i < set.robs.size(); ++i) {
            set.stamps[i].apply(rest.first(set.robs[i].bytes.size()), event);
            rest = rest.subspan(set.robs[i].bytes.size());
        }
        return set.robs;
    }

private:
    struct Set {
        std::vector<std::byte> bytes;
        std::vector<event::RobData> robs;
        std::vector<event::RobStamp> stamps;
    };
    FragmentGeneratorOptions options_;
    std::array<Set, sets> sets_;
};

}  // namespace

Result<std::unique_ptr<FragmentMaker>> make_fragment_generator(const FragmentGeneratorOptions& given) {
    auto options = given;
    if (options.format == event::Format::opaque)
        return fail(Errc::usage, "the generator makes fragments; choose event-5.0 or event-3.0");
    if (options.rob_size > rob_size_max)
        return fail(Errc::usage, fmt::format("ROBs of {} are not made; the largest are {}", to_string(options.rob_size),
                                             to_string(rob_size_max)));
    if (options.sources.empty()) {
        if (options.robs == 0 || options.robs > generated_robs_max)
            return fail(Errc::usage,
                        fmt::format("{} ROBs are not made; choose 1 to {}", options.robs, generated_robs_max));
        for (std::uint32_t i = 0; i < options.robs; ++i)
            options.sources.push_back(SourceId{number(options.first_source) + i});
    }
    return std::make_unique<Generator>(options);
}

}  // namespace weir::workload
