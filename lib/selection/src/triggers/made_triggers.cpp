// SPDX-License-Identifier: Apache-2.0
#include "triggers/made_triggers.hpp"

#include <algorithm>
#include <utility>

#include "triggers/trigger_time.hpp"
#include "weir/base/random.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;

constexpr auto behind_max = 100ms;  // how far behind its rate the source may fall before it skips

}  // namespace

void make_up_header(std::uint64_t seed, std::uint64_t index, wire::EventTicket& ticket) {
    Random random(seed ^ (index * 0x9e37'79b9'7f4a'7c15));
    ticket.bunch_crossing_id = static_cast<std::uint32_t>(random.below(3564));
    ticket.trigger_type = 0x80 | static_cast<std::uint32_t>(random.below(8));
    ticket.level1_words.push_back(static_cast<std::uint32_t>(random.next()));
}

MadeTriggers::MadeTriggers(MadeTriggersOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

void MadeTriggers::start_run(SteadyTime now) {
    made_ = 0;
    resume(now);
}

bool MadeTriggers::due(SteadyTime now) {
    if (options_.rate <= 0) return true;
    next_at_ = std::max(next_at_, now - behind_max);
    return next_at_ <= now;
}

wire::EventTicket MadeTriggers::take(SteadyTime) {
    wire::EventTicket made;
    if (!options_.headers.empty()) {
        // As readouts replay a file: level-1 id 1 is its first event.
        made = options_
                   .headers[(number(options_.first) + static_cast<std::uint32_t>(made_) - 1) % options_.headers.size()];
    } else {
        set_time(made, clock_.wall());
        make_up_header(options_.seed, made_, made);
    }
    made.level1_id = Level1Id{number(options_.first) + static_cast<std::uint32_t>(made_)};
    ++made_;
    if (options_.rate > 0) {
        const std::chrono::duration<double> pause(1 / options_.rate);
        next_at_ += std::chrono::duration_cast<SteadyTime::duration>(pause);
    }
    return made;
}

std::optional<SteadyTime> MadeTriggers::next() const {
    return options_.rate > 0 ? std::optional(next_at_) : std::nullopt;
}

}  // namespace weir::selection
