// SPDX-License-Identifier: Apache-2.0
// `weir demo`: a recorder, senders with the realistic mix (and real events), the proof of every stored
// byte, and a report; a page in the browser while it lasts. Nothing to configure.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>

#include "cli/output.hpp"
#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "demo/commands.hpp"
#include "send/sending.hpp"
#include "stations/recorder/recorder_station.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/control/lone_page.hpp"
#include "weir/datafile/directory_lock.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recovery/verification.hpp"
#include "weir/workload/replay_source.hpp"
#include "weir/workload/synthetic_source.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* command_name = "weir demo";
constexpr const char* marker = "weir.demo";  // in a directory that a demo may empty
constexpr double replay_rate_hz = 1000;      // real events beside the mix

struct DemoOptions {
    std::filesystem::path directory = "weir-demo";
    std::chrono::milliseconds duration{10'000};
    std::vector<std::filesystem::path> sources;
    std::uint32_t connections = 4;
    Bytes size_max = 20_GiB;
    std::uint64_t seed = 1;
    std::string page = "127.0.0.1:0";
    bool stay = false;
    bool json = false;
};

struct Outcome {
    RunNumber run{};
    std::uint64_t sent = 0, acknowledged = 0, rejected = 0;
    std::uint64_t copies_expected = 0;
    double seconds = 0;
    recorder::RecorderSummary recorder;
    recovery::VerificationReport verification;
    double verification_seconds = 0;
    std::uint64_t bytes_verified = 0;

    [[nodiscard]] bool good() const {
        return sent == acknowledged && rejected == 0 && copies_expected == recorder.copies_stored && sent > 0 &&
               !verification.files.empty() && verification.good() && verification.files.size() == recorder.files;
    }
};

/// A directory that holds nothing but an earlier demo is emptied; any other is not touched.
Result<> prepare(const std::filesystem::path& directory) {
    std::error_code error;
    if (std::filesystem::exists(directory / marker, error)) {
        auto lock = WEIR_TRY(datafile::DirectoryLock::take(directory));  // not under the feet of a demo that runs
        for (const auto& entry : std::filesystem::directory_iterator(directory)) {
            const auto name = entry.path().filename().native();
            if (name != marker && name != "weir.lock") std::filesystem::remove(entry.path(), error);
            if (error)
                return fail_errno(error.value(),
                                  fmt::format("cannot remove {} of the demo before", entry.path().native()));
        }
    } else if (std::filesystem::exists(directory, error) && !std::filesystem::is_empty(directory, error)) {
        return fail(Errc::usage,
                    fmt::format("directory {} is not empty and not of an earlier demo; choose another with --dir",
                                directory.native()));
    }
    std::filesystem::create_directories(directory, error);
    std::ofstream(directory / marker) << "A demo of weir recorded here. The next demo empties this directory.\n";
    if (!std::filesystem::exists(directory / marker, error))
        return fail(Errc::usage,
                    fmt::format("cannot write into directory {}; choose another with --dir", directory.native()));
    return {};
}

Bytes budget(const DemoOptions& options) {
    std::error_code error;
    const auto space = std::filesystem::space(options.directory, error);
    return std::min(options.size_max, Bytes{error ? 0 : space.available / 3});
}

std::unique_ptr<Sending> start_sending(workload::EventSource& source, std::uint16_t port, const std::string& name,
                                       std::uint32_t connections, double rate_hz, Result<>& result) {
    SendingOptions options;
    options.to = {fmt::format("127.0.0.1:{}", port)};
    options.name = name;
    options.connections = connections;
    options.rate_hz = rate_hz;
    auto sending = Sending::start(options, source);
    if (!sending) {
        result = std::unexpected(sending.error());
        return nullptr;
    }
    return std::move(*sending);
}

/// Sends for the duration, or until the budget of bytes is used up.
Result<> send_for(const DemoOptions& options, recorder::Recorder& recorder, Signals& signals, const Clock& clock,
                  Outcome& outcome) {
    workload::SyntheticOptions synthetic;
    synthetic.run = recorder.run();
    synthetic.seed = options.seed;
    synthetic.begin = clock.wall();
    workload::SyntheticSource mix(synthetic);
    std::unique_ptr<workload::ReplaySource> replay;
    if (!options.sources.empty()) {
        workload::ReplayOptions replay_options;
        replay_options.files = options.sources;
        replay_options.run = recorder.run();
        replay = WEIR_TRY(workload::ReplaySource::open(replay_options));
    }
    Result<> result;
    std::vector<std::unique_ptr<Sending>> sendings;
    const auto begin = clock.now();
    sendings.push_back(start_sending(mix, recorder.port(), "demo-mix", options.connections, 0, result));
    if (replay && result)
        sendings.push_back(start_sending(*replay, recorder.port(), "demo-replay", 2, replay_rate_hz, result));
    if (!result) return result;

    const auto limit = budget(options);
    ProgressLine line(clock);
    std::uint64_t bytes_before = 0;
    auto time_before = begin;
    while (clock.now() - begin < options.duration && !signals.wait(50ms) && !recorder.failure()) {
        std::uint64_t bytes = 0;
        for (const auto& sending : sendings) bytes += sending->counts().bytes;
        if (bytes >= limit.count()) break;
        if (std::ranges::any_of(sendings, [](const auto& s) { return s->failure().has_value(); })) break;
        if (!line.due()) continue;
        const auto now = clock.now();
        const auto seconds = std::chrono::duration<double>(now - time_before).count();
        line.show(fmt::format(
            "recording {} at {:.2f} GB/s, {} s left", human(Bytes{bytes}), gb_per_s(bytes - bytes_before, seconds),
            std::chrono::duration_cast<std::chrono::seconds>(options.duration - (now - begin)).count()));
        bytes_before = bytes;
        time_before = now;
    }
    line.clear();
    for (auto& sending : sendings) sending->stop();
    for (auto& sending : sendings) {
        while (!sending->wait(100ms) && !recorder.failure()) {
        }
    }
    outcome.seconds = std::chrono::duration<double>(clock.now() - begin).count();
    for (const auto& sending : sendings) {
        const auto counts = sending->counts();
        outcome.sent += counts.sent;
        outcome.acknowledged += counts.acknowledged;
        outcome.rejected += counts.rejected;
        outcome.copies_expected += counts.copies;
        if (const auto failure = sending->failure()) return std::unexpected(*failure);
    }
    return {};
}

Result<> verify(const DemoOptions& options, const Clock& clock, Outcome& outcome) {
    auto catalogue = WEIR_TRY(catalogue::open_sqlite_catalogue(catalogue::catalogue_path(options.directory)));
    const auto rows = WEIR_TRY(catalogue->files({.run = outcome.run}));
    std::vector<recovery::FileToVerify> files;
    std::uint64_t bytes = 0;
    for (const auto& row : rows) {
        files.push_back({std::filesystem::path(row.volume) / row.name, row});
        bytes += row.bytes;
    }
    ByteProgress progress(clock, "verifying every byte", Bytes{bytes});
    recovery::VerificationOptions verification;
    verification.threads = 2;
    verification.progress = [&](std::uint64_t n) { progress.add(n); };
    const auto begin = clock.now();
    outcome.verification = recovery::verify_files(files, verification);
    outcome.verification_seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    for (const auto& file : outcome.verification.files) outcome.bytes_verified += file.bytes;
    return {};
}

json::object to_json(const Outcome& o, const DemoOptions& options) {
    json::array streams;
    for (const auto& s : o.recorder.streams) {
        streams.push_back(
            {{"name", s.name}, {"copies", s.copies.stored}, {"bytes", s.copies.bytes_stored}, {"files", s.files}});
    }
    return {{"run", number(o.run)},
            {"seconds", o.seconds},
            {"events", {{"sent", o.sent}, {"acknowledged", o.acknowledged}, {"rejected", o.rejected}}},
            {"copies", {{"expected", o.copies_expected}, {"stored", o.recorder.copies_stored}}},
            {"bytes_stored", o.recorder.bytes_stored},
            {"gb_per_s", gb_per_s(o.recorder.bytes_stored, o.seconds)},
            {"files", o.recorder.files},
            {"files_verified", o.verification.files_good()},
            {"streams", streams},
            {"directory", options.directory.native()}};
}

void print_report(const Outcome& o, const DemoOptions& options, const std::vector<std::string>& volumes) {
    print("run {} in {}\n\n", number(o.run), fmt::join(volumes, ", "));
    Table streams(
        {{"stream"}, {"copies", Table::Align::right}, {"bytes", Table::Align::right}, {"files", Table::Align::right}});
    for (const auto& s : o.recorder.streams)
        streams.add({s.name, with_commas(s.copies.stored), human(Bytes{s.copies.bytes_stored}), with_commas(s.files)});
    print(streams.text());
    print("\nevents    sent {}, acknowledged {}, rejected {}\n", with_commas(o.sent), with_commas(o.acknowledged),
          with_commas(o.rejected));
    print("copies    expected {}, stored {}\n", with_commas(o.copies_expected), with_commas(o.recorder.copies_stored));
    print("recorded  {} in {:.1f} s: {:.2f} GB/s, every event on stable storage before it was acknowledged\n",
          human(Bytes{o.recorder.bytes_stored}), o.seconds, gb_per_s(o.recorder.bytes_stored, o.seconds));
    print("verified  {} of {}, every byte ({:.1f} s, {:.2f} GB/s)\n", o.verification.files_good(),
          counted(o.recorder.files, "file"), o.verification_seconds,
          gb_per_s(o.bytes_verified, o.verification_seconds));
    for (const auto& damage : o.verification.damages)
        print("DAMAGE    {} offset {}: {}\n", damage.path.native(), damage.offset, printable(damage.reason));
    if (!o.good()) return print("\nNOT ALL WELL: the numbers above do not agree\n");
    const std::filesystem::path typed = program_invocation_name;
    const auto program =
        typed.has_parent_path() ? typed.lexically_proximate(std::filesystem::current_path()).native() : typed.native();
    print("\nall well. Next:\n  {0} ls {1}\n  {0} verify {1}\n  {0} record --help\n", program,
          options.directory.native());
}

/// What is reported, on stderr. For several threads.
class DemoSink final : public service::ReportSink {
public:
    void show(const service::SubmittedReport& report) override {
        const std::scoped_lock lock(mutex_);
        complain(command_name, text_of(report));
    }

private:
    std::mutex mutex_;
};

std::vector<std::unique_ptr<service::ReportSink>> sinks_of_demo(control::LogBook& log) {
    std::vector<std::unique_ptr<service::ReportSink>> sinks;
    sinks.push_back(std::make_unique<DemoSink>());
    sinks.push_back(control::log_book_sink(log));
    return sinks;
}

/// The page of the recorder, while it records and when it has ended.
class DemoPage {
public:
    DemoPage(const DemoOptions& options, service::Reports& reports, control::LogBook& log, const Clock& clock)
        : listen_(options.page),
          timers_(clock),
          page_({.name = "demo",
                 .kind = StationKind::record,
                 .status = [this] { return status(); },
                 .over = [this] { return over_.load(); },
                 .catalogues = {catalogue::catalogue_path(options.directory)}},
                log, reports, timers_, clock) {}

    Result<> start() {
        if (listen_.empty()) return {};
        timers_.start();
        server_.emplace(WEIR_TRY(service::HttpServer::start({.listen = listen_}, page_.routes())));
        complain(command_name, fmt::format("the page is at http://{}", server_->address()));
        return {};
    }
    void shows(const recorder::Recorder* recorder) {
        const std::scoped_lock lock(mutex_);
        if (recorder == nullptr && recorder_ != nullptr) last_ = recorder_->summary();
        recorder_ = recorder;
        over_ = recorder == nullptr;
    }
    [[nodiscard]] bool served() const noexcept { return server_.has_value(); }

private:
    service::StationStatus status() {
        const std::scoped_lock lock(mutex_);
        return status_of(recorder_ != nullptr ? recorder_->summary() : last_, false);
    }

    const std::string listen_;
    std::mutex mutex_;
    const recorder::Recorder* recorder_ = nullptr;  // of run_demo()
    recorder::RecorderSummary last_{};
    std::atomic<bool> over_{false};
    service::Timers timers_;
    control::LonePage page_;
    std::optional<service::HttpServer> server_;  // the last member: nobody asks while the rest ends
};

/// As long as it lives, or until the page shows what was.
struct ShownRecorder {
    ShownRecorder(DemoPage& on, const recorder::Recorder& recorder) : page(on) { page.shows(&recorder); }
    ~ShownRecorder() { page.shows(nullptr); }
    ShownRecorder(const ShownRecorder&) = delete;
    ShownRecorder& operator=(const ShownRecorder&) = delete;
    DemoPage& page;
};

int run_demo(const DemoOptions& options) {
    if (auto prepared = prepare(options.directory); !prepared) return fail_with(command_name, prepared.error());
    Signals signals;
    const SystemClock clock;
    recorder::RecorderOptions recorder_options;
    recorder_options.directories = {options.directory};
    recorder_options.create_directories = true;
    recorder_options.project = "data_demo";
    control::LogBook log;
    service::Reports reports("demo", clock, sinks_of_demo(log));
    DemoPage page(options, reports, log, clock);
    auto recorder = recorder::Recorder::open(recorder_options, reports.reporter(), clock);
    if (!recorder) return fail_with(command_name, recorder.error());
    const ShownRecorder shown(page, **recorder);
    if (const auto served = page.start(); !served) return fail_with(command_name, served.error());
    (*recorder)->start();
    Outcome outcome;
    outcome.run = (*recorder)->run();
    const auto sent = send_for(options, **recorder, signals, clock, outcome);
    const auto stopped = (*recorder)->stop(30s);
    outcome.recorder = (*recorder)->summary();
    const auto volumes = (*recorder)->volumes();
    page.shows(nullptr);
    if (!sent) return fail_with(command_name, sent.error());
    if (!stopped) return fail_with(command_name, stopped.error());
    recorder->reset();
    if (auto verified = verify(options, clock, outcome); !verified) return fail_with(command_name, verified.error());
    if (options.json) {
        print_json(to_json(outcome, options));
    } else {
        print_report(outcome, options, volumes);
    }
    if (options.stay && page.served()) {
        flush_output();
        complain(command_name, "the page stays; Ctrl-C ends it");
        while (!signals.wait(1h)) {
        }
    }
    return outcome.good() ? exit_good : exit_bad;
}

}  // namespace

void add_demo(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<DemoOptions>();
    auto& command = add_command(parent, group_try, "demo", "records a realistic mix, proves every stored byte, reports",
                                "weir demo --duration 30s --dir /data/demo");
    add_value(command, "--dir", options->directory, "D", "for the files; those of the demo before are removed");
    add_value(command, "--duration", options->duration, "TIME", "how long to send");
    add_value(command, "--source", options->sources, "FILE", "raw files: their events too, repeated");
    add_value(command, "--connections", options->connections, "K", "connections of the mix");
    add_value(command, "--size-max", options->size_max, "SIZE", "ends after this much, or a third of the free space");
    add_value(command, "--seed", options->seed, "S", "of the mix");
    add_value(command, "--page", options->page, "H:P",
              "where the page is served; port 0: any free one; empty: nowhere");
    add_flag(command, "--stay", options->stay, "the page stays after the report, until Ctrl-C");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_demo(*options); }; });
}

}  // namespace weir::app
