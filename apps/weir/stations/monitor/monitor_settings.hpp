// SPDX-License-Identifier: Apache-2.0
// [monitor.NAME] of a partition file.
#pragma once

#include <string>
#include <vector>

#include "stations/frame/station_command.hpp"
#include "weir/monitor/monitor_station.hpp"

namespace weir::app {

class MonitorSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    void declare_options(CLI::App& command, std::vector<CLI::Option*>& given) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] std::string directory(const StationPlace& place) const;

    monitor::MonitorSpec spec_{};
    std::string python_ = spec_.python.native();
    std::vector<std::string> stations_;
    std::string stream_, directory_, given_directory_, reference_;
    std::uint32_t rate_ = 100;
};

}  // namespace weir::app
