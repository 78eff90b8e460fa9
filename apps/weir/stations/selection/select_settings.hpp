// SPDX-License-Identifier: Apache-2.0
// [select.NAME] of a partition file.
#pragma once

#include "stations/frame/loop_settings.hpp"
#include "stations/frame/station_command.hpp"
#include "stations/selection/plugin_settings.hpp"
#include "weir/selection/unit_station.hpp"

namespace weir::app {

class SelectSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] Result<selection::UnitStationOptions> to_options(const StationPlace& place) const;

    selection::UnitOptions options_{};
    PluginSettings plugin_{};
    Bytes memory_ = Bytes{256ULL << 20};
    LoopSettings loop_;
};

}  // namespace weir::app
