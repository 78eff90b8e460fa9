// SPDX-License-Identifier: Apache-2.0
// [supervise.NAME] of a partition file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "stations/frame/input_settings.hpp"
#include "stations/frame/loop_settings.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/selection/supervisor_station.hpp"

namespace weir::app {

class SuperviseSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] Result<selection::SupervisorStationOptions> to_options(const StationPlace& place) const;

    selection::SupervisorOptions options_{};
    selection::TriggerPlugInSpec plug_in_{};
    std::string python_ = "/usr/bin/python3";
    std::uint64_t rate_ = 0, first_global_ = 1;
    std::string source_ = "made";
    std::string lost_decision_ = "accept";
    std::string regions_ = "2";
    std::vector<std::string> regions_table_;
    InputSettings input_;
    LoopSettings loop_;
};

}  // namespace weir::app
