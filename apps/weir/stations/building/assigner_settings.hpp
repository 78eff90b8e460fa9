// SPDX-License-Identifier: Apache-2.0
// [assign.NAME] of a partition file: the data flow manager.
#pragma once

#include "stations/frame/loop_settings.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/building/assigner_station.hpp"

namespace weir::app {

class AssignerSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    LoopSettings loop_;
    building::AssignerOptions options_;
};

}  // namespace weir::app
