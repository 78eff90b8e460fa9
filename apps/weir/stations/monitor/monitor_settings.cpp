// SPDX-License-Identifier: Apache-2.0
#include "stations/monitor/monitor_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "stations/frame/setting_checks.hpp"

namespace weir::app {

using namespace std::chrono_literals;

void MonitorSettings::declare(service::Settings& settings, const std::string& section) {
    settings.add(section, "monitor", spec_.file, "a file: NAME.so (C++) or NAME.py (Python)");
    settings.add(section, "stations", stations_,
                 "builders or filters whose events it sees; empty: all filters, or all builders where there are none");
    settings.add(section, "stream", stream_, "only events of this stream, as physics_Main; empty: any");
    settings.add(section, "rate", rate_, "events a second at most; 0: as many as come");
    settings.add(section, "directory", directory_,
                 "where histograms are saved; empty: --dir, which weir run sets to NAME in its directory");
    settings.add(section, "reference", reference_,
                 "saved histograms, NAME.NUMBER.histograms.json, to be drawn beside those of a run; empty: none");
    settings.add(section, "time_limit", spec_.time_limit, "for one event; then its process is killed and started again")
        .at_least(1ms);
    settings.add(section, "start_limit", spec_.start_limit, "for its process to load it, and once more to begin a run")
        .at_least(10ms);
    settings.add(section, "python", python_, "the Python (with NumPy) that runs NAME.py");
}

void MonitorSettings::declare_options(CLI::App& command, std::vector<CLI::Option*>&) {
    add_value(command, "--dir", given_directory_, "DIR", "where histograms are saved, unless the file says so");
}

Result<> MonitorSettings::check(const StationPlace& place) const {
    if (spec_.file.empty()) return fail(Errc::usage, "no monitor; name its file: monitor = \"NAME.so\" or \"NAME.py\"");
    if (!stream_.empty()) {
        if (auto good = check_stream(stream_); !good) return fail(Errc::usage, "stream: " + good.error().context);
    }
    WEIR_TRY(monitor::MonitorSpec::check_name(spec_.file));
    return place.elsewhere ? Result<>{} : monitor::MonitorSpec::check(spec_.file);
}

std::string MonitorSettings::directory(const StationPlace& place) const {
    if (!directory_.empty()) return directory_;
    if (!given_directory_.empty()) return given_directory_;
    return place.directories.empty() ? "." : place.directories.front();
}

Result<std::unique_ptr<service::Station>> MonitorSettings::make(const StationPlace& place,
                                                                const service::StationServices& services) {
    monitor::MonitorStationOptions options;
    options.name = place.name;
    options.id = place.id;
    options.monitor = spec_;
    options.monitor.python = python_;
    options.format = place.partition.format();
    options.stations = stations_;
    options.stream = stream_;
    options.rate = rate_;
    options.directory = directory(place);
    options.reference = reference_;
    if (const auto files = place.partition.data_tls(); !files.certificate.empty()) {
        auto context = WEIR_TRY(transport::TlsContext::for_client(files));
        context.trust_own_key();
        options.tls = service::ControlTls{std::move(context), true};
    }
    return std::make_unique<monitor::MonitorStation>(std::move(options), services);
}

}  // namespace weir::app
