// SPDX-License-Identifier: Apache-2.0
// [filter.NAME] of a partition file.
#pragma once

#include <string>
#include <vector>

#include "stations/frame/station_command.hpp"
#include "stations/selection/plugin_settings.hpp"
#include "weir/selection/filter_station.hpp"

namespace weir::app {

class FilterSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] Result<selection::FilterStationOptions> to_options(const StationPlace& place) const;

    selection::FilterOptions options_{};
    PluginSettings plugin_{};
    Bytes memory_ = Bytes{512ULL << 20};
    std::vector<std::string> streams_{"physics_Main"};
    std::string listen_;  // empty: see StationPlace::listen()
};

}  // namespace weir::app
