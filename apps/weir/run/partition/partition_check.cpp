// SPDX-License-Identifier: Apache-2.0
#include "run/partition/partition_check.hpp"

#include "run/partition/notify_settings.hpp"
#include "run/partition/run_settings.hpp"
#include "stations/station_kinds.hpp"

namespace weir::app {

Result<control::Partition> check_partition(std::string_view text, const std::filesystem::path& file,
                                           const std::vector<std::filesystem::path>& sources) {
    auto partition = WEIR_TRY(control::parse_partition(text, file));
    WEIR_TRY(read_run_settings(text, file));
    WEIR_TRY(list_notifiers(text, file));
    StationOptions options;
    options.sources = sources;
    options.elsewhere = !partition.hosts.empty();
    for (const auto& station : partition.stations) {
        const auto settings = settings_of(station.kind);
        if (!settings)
            return fail(Errc::unsupported,
                        "this program has no station of the kind " + std::string(name(station.kind)));
        WEIR_TRY(read_station(text, file.native(), {station.kind, station.name, station.id, station.line}, *settings,
                              options));
    }
    return partition;
}

}  // namespace weir::app
