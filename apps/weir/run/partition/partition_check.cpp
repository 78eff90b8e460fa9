// SPDX-License-Identifier: Apache-2.0
#include "run/partition/partition_check.hpp"

#include "run/partition/run_settings.hpp"
#include "stations/station_kinds.hpp"
#include "weir/base/file.hpp"

namespace weir::app {

Result<control::Partition> check_partition(const std::filesystem::path& file,
                                           const std::vector<std::filesystem::path>& sources) {
    const auto text = read_text(file, 1_MiB);
    if (!text) return std::unexpected(text.error());
    auto partition = control::parse_partition(*text, file);
    if (!partition) return partition;
    if (const auto run = read_run_settings(file); !run) return std::unexpected(run.error());
    StationOptions options;
    options.sources = sources;
    for (const auto& station : partition->stations) {
        const auto settings = settings_of(station.kind);
        if (!settings)
            return fail(Errc::unsupported,
                        "this program has no station of the kind " + std::string(name(station.kind)));
        const auto place = read_station(*text, file.native(), {station.kind, station.name, station.id, station.line},
                                        *settings, options);
        if (!place) return std::unexpected(place.error());
    }
    return partition;
}

}  // namespace weir::app
