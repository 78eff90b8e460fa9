// SPDX-License-Identifier: Apache-2.0
// [build.NAME] of a partition file: an event builder.
#pragma once

#include <string>

#include "stations/frame/loop_settings.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/building/builder_station.hpp"

namespace weir::app {

class BuilderSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    LoopSettings loop_;
    std::string tag_ = "physics_Main";
    std::string threads_ = "one";
    building::BuilderOptions options_;
    bool shaping_ = true;
    bool probe_ = true;
    Bytes window_min_{64U << 10}, window_max_{4U << 20};
    Bytes memory_{512U << 20};
};

}  // namespace weir::app
