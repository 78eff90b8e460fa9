// SPDX-License-Identifier: Apache-2.0
// weir tap: events that pass through builders and filters now, a few of them. Each is asked for on its own, and a
// station gives it when it has time: whatever happens here, no data waits.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <set>

#include "cli/output.hpp"
#include "cli/process/signals.hpp"
#include "cli/terminal/screen_text.hpp"
#include "files/events/bare_events.hpp"
#include "files/events/event_lines.hpp"
#include "run/directory/run_address.hpp"
#include "watch/commands.hpp"
#include "watch/picture.hpp"
#include "watch/tap/tap_file.hpp"
#include "weir/base/source_id.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/event_tap.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_tap = "weir tap";
constexpr auto tap_wait = 1'000ms;       // of a station, for the next event
constexpr auto tap_deadline = 10'000ms;  // for an answer
constexpr auto asked_again = 1'000ms;    // of a station that did not answer
constexpr auto said_after = 10s;         // without an event
constexpr Bytes tap_answer_max = 128_MiB;

struct TapOptions {
    RunAddressOptions run{};
    std::vector<std::string> stations;
    std::string stream, source;
    std::optional<Bytes> size_min, size_max;
    bool incomplete = false;
    double rate = 10;
    std::optional<std::uint64_t> count;
    bool hex = false, json = false;
    std::optional<std::filesystem::path> raw;

    [[nodiscard]] std::string query() const {
        auto text = fmt::format("/tap?wait={}", tap_wait.count());
        if (!stream.empty()) text += "&stream=" + stream;
        if (!source.empty()) text += "&source=" + source;
        if (size_min) text += fmt::format("&size_min={}", size_min->count());
        if (size_max) text += fmt::format("&size_max={}", size_max->count());
        if (incomplete) text += "&incomplete=1";
        return text;
    }
};

Result<> check(const TapOptions& options) {
    if (options.hex + options.json + options.raw.has_value() > 1)
        return fail(Errc::usage, "--hex, --json and --raw are three forms of output; choose one");
    if (!options.stream.empty()) {
        if (auto good = parse_stream_key(options.stream); !good)
            return fail(Errc::usage, "--stream: " + good.error().context);
    }
    if (!options.source.empty() && !parse_source_id(options.source))
        return fail(Errc::usage, fmt::format("--source: \"{}\" is no source; write 0x420000", options.source));
    if (!(options.rate >= 0)) return fail(Errc::usage, "--rate is a number of events a second; 0: as many as come");
    return {};
}

struct TappedStation {
    std::string name, address;
    bool asked = false;
    bool silent = false;  // did not answer, and that was reported
    SteadyTime not_before{};
};

Result<std::vector<TappedStation>> stations_of(const PartitionPicture& partition, const TapOptions& options) {
    const auto of_kind = [&](std::string_view kind) {
        return std::ranges::any_of(partition.stations, [&](const auto& station) { return station.kind == kind; });
    };
    std::vector<TappedStation> found;
    for (const auto& station : partition.stations) {
        const bool samples = station.kind == "build" || station.kind == "filter";
        const bool named = std::ranges::find(options.stations, station.name) != options.stations.end();
        if (named && !samples)
            return fail(Errc::usage,
                        fmt::format("{} is a station of kind {}; events pass whole through builders and filters",
                                    station.name, station.kind));
        // Without a name: where events are as late as possible, each once.
        const bool last = station.kind == "filter" || (station.kind == "build" && !of_kind("filter"));
        if (named || (options.stations.empty() && last))
            found.push_back({.name = station.name, .address = station.control});
    }
    for (const auto& wanted : options.stations)
        if (std::ranges::find(found, wanted, &TappedStation::name) == found.end())
            return fail(Errc::refused,
                        fmt::format("the partition has no station {}; weir run status lists them", wanted));
    if (found.empty()) return fail(Errc::refused, "the partition has neither builders nor filters");
    return found;
}

class Tap {
public:
    Tap(const TapOptions& options, const Clock& clock) : options_(options), clock_(clock), query_(options.query()) {}

    Result<> begin() {
        auto place = WEIR_TRY(find_run(options_.run));
        client_.emplace(place.address, tap_answer_max, place.tls);
        calls_ = WEIR_TRY(service::ControlCalls::start(std::move(place.tls), tap_answer_max));
        stations_ = WEIR_TRY(look_up());
        if (options_.raw) file_.emplace(WEIR_TRY(TapFile::create(*options_.raw)));
        return {};
    }

    /// Until it has as many as wanted, or a signal ends it.
    Result<> run() {
        last_event_ = clock_.now();
        if (!options_.hex && !options_.json && !options_.raw) print(tapped_event_titles);
        Result<> tapped;
        while (tapped && !enough() && !Signals::pending(0ms) && output_errno() == 0) tapped = look();
        if (!file_) return tapped;
        WEIR_TRY(file_->finish(clock_.wall()));  // also of one that ends early: what it has can be read
        if (!tapped) return tapped;
        print("{}, {} in {}\n", counted(file_->events(), "event"), human(Bytes{file_->bytes()}),
              printable(options_.raw->native()));
        return {};
    }

private:
    struct Answer {
        std::string station;
        Result<service::ControlAnswer> answer;
    };
    struct Inbox {  // shared with the calls that are under way
        std::mutex mutex;
        std::condition_variable came;
        std::deque<Answer> answers;
    };

    Result<> look() {
        WEIR_TRY(ask());
        wait_for_answers();
        WEIR_TRY(take_answers());
        if (!held_.empty() && clock_.now() >= next_show_) {
            const auto [station, bytes] = std::move(held_.front());
            held_.pop_front();
            WEIR_TRY(show(station, as_data(bytes)));
        }
        say_that_none_comes();
        return {};
    }

    bool enough() const { return options_.count && shown_ >= *options_.count; }

    Result<std::vector<TappedStation>> look_up() {
        const auto answer = WEIR_TRY(client_->get("/partition"));
        if (answer.status == 404) {  // no run control: a station
            const auto status = WEIR_TRY(client_->get("/status"));
            const auto document = WEIR_TRY(json::parse(status.body, {.size = tap_answer_max}));
            auto alone = station_picture(document);
            alone.stations.front().control = client_->address();
            return stations_of(alone, options_);
        }
        if (!answer.good()) return fail(Errc::io, answer.error());
        return stations_of(partition_picture(WEIR_TRY(json::parse(answer.body, {.size = tap_answer_max}))), options_);
    }

    Result<> ask() {
        const auto now = clock_.now();
        if (now < next_show_ || !held_.empty()) return {};  // an event that is asked for later is newer
        for (auto& station : stations_) {
            if (station.asked || now < station.not_before) continue;
            if (station.address.empty()) {
                WEIR_TRY(look_again(station, "it is not up"));
                continue;
            }
            station.asked = true;
            calls_->get(station.address, query_, tap_deadline,
                        [inbox = inbox_, name = station.name](Result<service::ControlAnswer> answer) {
                            const std::scoped_lock lock(inbox->mutex);
                            inbox->answers.push_back({name, std::move(answer)});
                            inbox->came.notify_one();
                        });
        }
        return {};
    }

    void wait_for_answers() {
        const auto until = held_.empty() ? std::chrono::nanoseconds{50ms}
                                         : std::clamp<std::chrono::nanoseconds>(next_show_ - clock_.now(), 0ms, 50ms);
        std::unique_lock lock(inbox_->mutex);
        inbox_->came.wait_for(lock, until, [&] { return held_.empty() && !inbox_->answers.empty(); });
    }

    Result<> take_answers() {
        std::deque<Answer> answers;
        {
            const std::scoped_lock lock(inbox_->mutex);
            answers.swap(inbox_->answers);
        }
        for (auto& [name, answer] : answers) {
            const auto station = std::ranges::find(stations_, name, &TappedStation::name);
            if (station == stations_.end()) continue;
            station->asked = false;
            if (answer && answer->good() && answer->content_type == "application/octet-stream") {
                station->silent = false;
                held_.emplace_back(name, std::move(answer->body));
            } else if (answer && answer->good()) {
                station->silent = false;
                const auto document = json::parse(answer->body);
                if (!document) continue;
                json::Fields fields(*document, "the answer");
                passed_ += fields.number("passed", 0);
                too_large_ += fields.number("too_large", 0);
                note_streams(fields);
            } else {
                WEIR_TRY(look_again(*station, answer ? answer->error() : answer.error().message()));
            }
        }
        return {};
    }

    void note_streams(json::Fields& fields) {
        const auto* streams = fields.array("streams", service::EventTap::streams_max);
        if (streams == nullptr) return;
        for (const auto& stream : *streams)
            if (const auto* text = stream.if_string(); text && streams_.size() < service::EventTap::streams_max)
                streams_.insert(screen_text(std::string_view(*text), 60));
    }

    /// It was replaced, perhaps. Error: run control is gone too, or the station refuses the question.
    Result<> look_again(TappedStation& station, const std::string& why) {
        if (!std::exchange(station.silent, true))
            complain(weir_tap, fmt::format("{}: {}; asking again", station.name, why));
        station.not_before = clock_.now() + asked_again;
        const auto now = WEIR_TRY(look_up());
        const auto found = std::ranges::find(now, station.name, &TappedStation::name);
        if (found != now.end()) station.address = found->address;
        return {};
    }

    Result<> show(const std::string& station, ConstData bytes) {
        ++shown_;
        said_ = false;
        last_event_ = clock_.now();
        if (options_.rate > 0)
            next_show_ = last_event_ + std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::duration<double>(std::min(1 / options_.rate, 1e6)));
        if (file_) return file_->write(bytes, clock_.wall());
        FileWalk::Block block;
        block.number = shown_;
        block.separator.size = static_cast<std::uint32_t>(bytes.size());
        const auto summary = summarize(block, bytes, BareEvents::format_of(bytes));
        if (options_.json) {
            auto document = json_of(summary);
            document.erase("offset");
            document.erase("block");
            document["station"] = json_text(station);
            print_json(document);
        } else if (options_.hex) {
            print("# from {}\n{}", screen_text(station, 80), event_words(summary, bytes));
        } else {
            print(tapped_event_line(station, summary));
        }
        flush_output();
        return {};
    }

    void say_that_none_comes() {
        if (clock_.now() - last_event_ < said_after || std::exchange(said_, true)) return;
        complain(weir_tap,
                 fmt::format("no such event among {} that were looked at{}{}; still asking", with_commas(passed_),
                             too_large_ > 0 ? fmt::format(" ({} larger than 16 MiB)", with_commas(too_large_)) : "",
                             streams_.empty() ? "" : fmt::format(", of streams {}", fmt::join(streams_, ", "))));
    }

    const TapOptions& options_;
    const Clock& clock_;
    const std::string query_;
    std::optional<service::ControlClient> client_;
    std::vector<TappedStation> stations_;
    std::deque<std::pair<std::string, std::string>> held_;  // at most one of each station
    std::optional<TapFile> file_;
    SteadyTime next_show_{}, last_event_{};
    std::uint64_t shown_ = 0, passed_ = 0, too_large_ = 0;
    std::set<std::string> streams_;  // of events that passed, for one who wished for another stream
    bool said_ = false;
    std::shared_ptr<Inbox> inbox_ = std::make_shared<Inbox>();
    std::unique_ptr<service::ControlCalls> calls_;  // the last member: it ends first
};

int run_tap(const TapOptions& options) {
    if (const auto good = check(options); !good) return fail_usage(weir_tap, good.error().context);
    Signals signals;
    Tap tap(options, system_clock());
    if (const auto begun = tap.begin(); !begun)
        return begun.error().code == Errc::refused ? fail_missing(weir_tap, begun.error().message())
                                                   : fail_with(weir_tap, begun.error());
    const auto done = tap.run();
    static_cast<void>(signals.wait(0ms));  // it has done what it is for
    return done ? exit_good : fail_with(weir_tap, done.error());
}

}  // namespace

void add_tap(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<TapOptions>();
    auto& command = add_command(parent, group_stations, "tap", "events that pass through builders and filters now",
                                "weir tap ef-1 --dir D --stream physics_Main --count 5");
    add_value(command, "station", options->stations, "STATION", "builders or filters; else all filters");
    declare_run_address(command, options->run);
    add_value(command, "--stream", options->stream, "TYPE_NAME", "only events of this stream");
    add_value(command, "--source", options->source, "SOURCE", "only events with a fragment of it: 0x420000");
    add_value(command, "--size-min", options->size_min, "SIZE", "only events of at least this size");
    add_value(command, "--size-max", options->size_max, "SIZE", "only events of at most this size");
    add_flag(command, "--incomplete", options->incomplete, "only events with lost fragments");
    add_value(command, "--rate", options->rate, "N", "at most so many a second; 0: as many as come");
    add_value(command, "--count", options->count, "N", "ends after so many");
    add_flag(command, "--hex", options->hex, "their words, 8 a line, instead of a line each");
    add_value(command, "--raw", options->raw, "FILE", "into a new raw file, instead");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_tap(*options); }; });
}

}  // namespace weir::app
