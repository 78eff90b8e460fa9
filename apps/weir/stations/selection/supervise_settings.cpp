// SPDX-License-Identifier: Apache-2.0
#include "stations/selection/supervise_settings.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "weir/base/endian.hpp"
#include "weir/base/file.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/raw_file_index.hpp"
#include "weir/selection/region_rules.hpp"
#include "weir/selection/trigger_spec.hpp"

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

/// Nothing: it is no number.
std::optional<std::uint32_t> region_count(std::string_view text) {
    std::uint32_t count = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return count;
}

Result<> check_regions(const std::string& text) {
    if (const auto count = region_count(text); count && *count <= wire::regions_max) return {};
    if (text == "table") return {};
    if (!text.ends_with(".so"))
        return fail(Errc::usage, fmt::format("\"{}\" is none of: a number up to {}, \"table\", a file NAME.so", text,
                                             wire::regions_max));
    return {};
}

Result<> check_regions_row(const std::string& text) {
    WEIR_TRY(selection::make_region_table({text}));
    return {};
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

Result<> check_trigger_source(const std::string& text) {
    const auto spec = WEIR_TRY(selection::parse_trigger_spec(text));
    return spec.kind == selection::TriggerKind::plug_in ? selection::TriggerPlugInSpec::check_name(spec.file)
                                                        : Result<>{};
}

}  // namespace

void SuperviseSettings::declare(service::Settings& settings, const std::string& section) {
    settings.add(section, "events", options_.events, "of a run; 0: until it is stopped");
    settings.add(section, "rate", rate_, "made, file: events a second; 0: as fast as they are taken")
        .at_most(100'000'000);
    settings
        .add(section, "source", source_,
             "of the triggers. made: headers are made up; file: those of the raw file that --source names, in turn; "
             "network: a trigger unit outside brings them; plug-in:NAME.so or NAME.py: code that reads a trigger unit; "
             "first:0x420000: an event begins when a fragment of that "
             "source arrives; periodic:100Hz, random:1kHz: by the clock")
        .each(check_trigger_source);
    settings.add(section, "first_global_id", first_global_, "of a run");
    settings.add(section, "lumi_block_length", options_.lumi_block_length,
                 "a lumi block lasts this long; 0s: all events are of block 0");
    settings
        .add(section, "regions", regions_,
             "fragments that are there when the selection of an event begins: of so many ROBs, drawn from all (0: of "
             "all), \"table\", or NAME.so, which names them from the level-1 words")
        .or_number()
        .each(check_regions);
    settings
        .add(section, "regions_table", regions_table_,
             "regions = \"table\": rows \"type:0x81 = 0x420000+0x420001\" (trigger type), \"word:0:5 = ...\" (bit 5 of "
             "level-1 word 0), \"all = ...\"; an event gets the sources of all rows that hold")
        .each(check_regions_row);
    settings.add(section, "seed", options_.seed,
                 "of the drawing and of random:RATE: the same seed, the same regions and intervals");
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
    settings
        .add(section, "time_limit", plug_in_.time_limit,
             "for one call of a trigger plug-in; one that takes longer hangs")
        .at_least(2s);  // beyond the longest poll_interval
    settings
        .add(section, "start_limit", plug_in_.start_limit, "for a trigger plug-in to be loaded, and for its begin_run")
        .at_least(10ms);
    settings
        .add(section, "poll_interval", plug_in_.poll_interval,
             "of a trigger plug-in: the pause after a poll that sent nothing")
        .at_least(1us)
        .at_most(1s);
    settings.add(section, "python", python_, "the Python that runs a trigger plug-in NAME.py");
    input_.declare(settings, section, "triggers");
    loop_.declare(settings, section);
}

Result<selection::SupervisorStationOptions> SuperviseSettings::to_options(const StationPlace& place) const {
    selection::SupervisorStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.supervisor = options_;
    options.supervisor.events = place.events.value_or(options_.events);
    options.supervisor.triggers = WEIR_TRY(selection::parse_trigger_spec(source_));
    const bool by_clock = options.supervisor.triggers.rate > 0;
    if (by_clock && rate_ > 0)
        return fail(Errc::usage, fmt::format("source = \"{}\" has its rate; remove rate = {}", source_, rate_));
    const bool network = options.supervisor.triggers.kind == selection::TriggerKind::network;
    if (options.supervisor.triggers.kind == selection::TriggerKind::first && rate_ > 0)
        return fail(Errc::usage,
                    fmt::format("source = \"{}\": the source has the rate; remove rate = {}", source_, rate_));
    if (network && rate_ > 0)
        return fail(Errc::usage,
                    fmt::format("source = \"network\": the trigger unit has the rate; remove rate = {}", rate_));
    if (options.supervisor.triggers.kind == selection::TriggerKind::plug_in) {
        if (rate_ > 0)
            return fail(Errc::usage,
                        fmt::format("source = \"{}\": the plug-in has the rate; remove rate = {}", source_, rate_));
        options.plug_in = plug_in_;
        options.plug_in->file = options.supervisor.triggers.file;
        options.plug_in->python = python_;
    }
    if (!by_clock) options.supervisor.triggers.rate = static_cast<double>(rate_);
    const auto port = WEIR_TRY(input_.port());
    if (network && !port)
        return fail(Errc::usage, "source = \"network\" needs a port to take triggers at: input = \"127.0.0.1:9200\"");
    if (!network && port)
        return fail(Errc::usage, "input takes triggers when source = \"network\"; set that, or leave input out");
    if (port) options.input = selection::TriggerInput{.listen = port->listen, .name = place.name, .tls = port->tls};
    options.supervisor.first_global = GlobalEventId{first_global_};
    options.supervisor.first_level1 = Level1Id{place.partition.data.first_level1_id};
    options.supervisor.lost_decision =
        lost_decision_ == "accept" ? selection::LostDecision::accept : selection::LostDecision::reassign;
    if (const auto count = region_count(regions_)) options.supervisor.regions = *count;
    if (regions_ == "table") options.supervisor.regions_of = WEIR_TRY(selection::make_region_table(regions_table_));
    if ((regions_ == "table") == regions_table_.empty())
        return fail(Errc::usage, "regions = \"table\" and regions_table go together");
    if (source_ == "file" && place.sources.empty())
        return fail(Errc::usage, "source = \"file\": name the raw file with --source");
    options.loop = WEIR_TRY(loop_.options(place));
    options.link = loop_.link(place);
    return options;
}

Result<> SuperviseSettings::check(const StationPlace& place) const {
    const auto made = WEIR_TRY(to_options(place));
    if (made.plug_in && !place.elsewhere) WEIR_TRY(selection::TriggerPlugInSpec::check(made.plug_in->file));
    std::error_code error;
    if (regions_.ends_with(".so") && !place.elsewhere && !std::filesystem::exists(regions_, error))
        return fail(Errc::usage, fmt::format("regions = \"{}\" is not there", regions_));
    return {};
}

Result<std::unique_ptr<service::Station>> SuperviseSettings::make(const StationPlace& place,
                                                                  const service::StationServices& services) {
    auto options = WEIR_TRY(to_options(place));
    options.loop.report = services.reports.reporter();
    if (regions_.ends_with(".so")) options.supervisor.regions_of = WEIR_TRY(selection::load_region_rule(regions_));
    if (source_ == "file") {
        for (const auto& path : place.sources) WEIR_TRY(read_headers(path, options.supervisor.headers));
    }
    return std::make_unique<selection::SupervisorStation>(std::move(options), services.reports.reporter(),
                                                          services.clock);
}

}  // namespace weir::app
