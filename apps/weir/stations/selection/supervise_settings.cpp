// SPDX-License-Identifier: Apache-2.0
#include "stations/selection/supervise_settings.hpp"

#include <fmt/format.h>

#include <utility>

#include "weir/base/endian.hpp"
#include "weir/base/file.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/raw_file_index.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr Bytes file_size_max = 4_GiB;

std::vector<std::uint32_t> trigger_words_of(ConstData data) {
    std::vector<std::uint32_t> words;
    for (std::size_t at = 0; at + 4 <= data.size() && words.size() < wire::trigger_words_max; at += 4)
        words.push_back(load_little<std::uint32_t>(data, at));
    return words;
}

/// The headers of a raw file's events, for tickets: an event that is built again has them again.
Result<> read_headers(const std::filesystem::path& path, std::vector<wire::EventTicket>& headers) {
    auto file = WEIR_TRY(File::open(path, File::Mode::read));
    const auto size = WEIR_TRY(file.size());
    if (size > file_size_max.count())
        return fail(Errc::limit, fmt::format("{} is larger than {}", path.native(), to_string(file_size_max)));
    std::vector<std::byte> contents(static_cast<std::size_t>(size));
    WEIR_TRY(file.read_at(0, contents));
    const auto index = event::RawFileIndex::make(contents);
    if (!index) return fail(index.error().code, fmt::format("{}: {}", path.native(), index.error().context));
    for (const auto& block : index->blocks) {
        const auto bytes = ConstData(contents).subspan(static_cast<std::size_t>(block.offset), block.separator.size);
        const auto event = event::EventView::parse(bytes, index->head.format());
        if (!event)
            return fail(event.error().code,
                        fmt::format("{}: event {}: {}", path.native(), headers.size() + 1, event.error().context));
        wire::EventTicket header;
        header.bunch_crossing_id = event->bunch_crossing_id();
        header.trigger_type = event->trigger_type();
        header.seconds = event->ids().time.seconds;
        header.nanoseconds = event->ids().time.nanoseconds;
        header.level1_words = trigger_words_of(event->level1_words());
        if (index->head.format() == event::Format::event_5_0)
            header.level2_words = trigger_words_of(event->level2_words());
        headers.push_back(std::move(header));
    }
    return {};
}

}  // namespace

void SuperviseSettings::declare(service::Settings& settings, const std::string& section) {
    settings.add(section, "events", options_.events, "of a run; 0: until it is stopped");
    settings.add(section, "rate", rate_, "events a second; 0: as fast as they are taken").at_most(100'000'000);
    settings
        .add(section, "source", source_,
             "made: headers are made up; file: those of the raw file that --source names, in turn")
        .one_of({"made", "file"});
    settings.add(section, "first_global_id", first_global_, "of a run");
    settings.add(section, "lumi_block_length", options_.lumi_block_length,
                 "a lumi block lasts this long; 0s: all events are of block 0");
    settings
        .add(section, "regions", options_.regions,
             "ROBs that a processing unit looks at for each event, drawn from all; 0: all of them")
        .at_most(static_cast<std::int64_t>(wire::regions_max));
    settings.add(section, "seed", options_.seed, "of the drawing: the same seed, the same regions");
    settings
        .add(section, "decision_timeout", options_.decision_timeout,
             "an event without a decision after this is lost by its unit")
        .at_least(1ms);
    settings.add(section, "lost_decision", lost_decision_, "what happens to it: accept, or give-again to another unit")
        .one_of({"accept", "give-again"});
    settings
        .add(section, "gives_max", options_.gives_max, "times that an event is given to a unit; then it is accepted")
        .at_least(1)
        .at_most(100);
    settings.add(section, "in_hand_max", options_.in_hand_max, "events that are made and not decided")
        .at_least(1)
        .at_most(1'000'000);
    settings.add(section, "batch", options_.batch, "events in one message")
        .at_least(1)
        .at_most(static_cast<std::int64_t>(wire::tickets_max));
    loop_.declare(settings, section);
}

Result<selection::SupervisorStationOptions> SuperviseSettings::to_options(const StationPlace& place) const {
    selection::SupervisorStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.supervisor = options_;
    options.supervisor.events = place.events.value_or(options_.events);
    options.supervisor.rate = static_cast<double>(rate_);
    options.supervisor.first_global = GlobalEventId{first_global_};
    options.supervisor.first_level1 = Level1Id{place.partition.data.first_level1_id};
    options.supervisor.lost_decision =
        lost_decision_ == "accept" ? selection::LostDecision::accept : selection::LostDecision::reassign;
    if (source_ == "file" && place.sources.empty())
        return fail(Errc::usage, "source = \"file\": name the raw file with --source");
    options.loop = loop_.options(place);
    options.link = loop_.link(place);
    return options;
}

Result<> SuperviseSettings::check(const StationPlace& place) const {
    WEIR_TRY(to_options(place));
    return {};
}

Result<std::unique_ptr<service::Station>> SuperviseSettings::make(const StationPlace& place,
                                                                  const service::StationServices& services) {
    auto options = WEIR_TRY(to_options(place));
    if (source_ == "file") {
        for (const auto& path : place.sources) WEIR_TRY(read_headers(path, options.supervisor.headers));
    }
    return std::make_unique<selection::SupervisorStation>(std::move(options), services.reports.reporter(),
                                                          services.clock);
}

}  // namespace weir::app
