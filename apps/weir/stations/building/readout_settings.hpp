// SPDX-License-Identifier: Apache-2.0
// [readout.NAME] of a partition file: what feeds the readout, how much it holds, how it answers.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "stations/building/match_settings.hpp"
#include "stations/building/udp_settings.hpp"
#include "stations/frame/input_settings.hpp"
#include "stations/frame/loop_settings.hpp"
#include "stations/frame/station_command.hpp"
#include "weir/readout/readout_station.hpp"

namespace weir::app {

class ReadoutSettings final : public StationSettings {
public:
    void declare(service::Settings& settings, const std::string& section) override;
    void declare_options(CLI::App& command, std::vector<CLI::Option*>& given) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] Result<readout::ReadoutStationOptions> options(const StationPlace& place) const;

    readout::ReadoutStationOptions options_;  // the fields that keys are bound to directly
    std::string source_ = "generator";
    std::string file_;  // empty: what --source names
    std::string part_ = "1/1";
    std::vector<std::string> sources_;
    std::string first_source_ = "0x420000";
    std::chrono::nanoseconds latency_{0};
    std::string runs_in_ = "thread";
    std::string python_ = "/usr/bin/python3";
    std::string strategy_ = "park";
    std::uint32_t busy_high_ = 50, busy_low_ = 25;  // percent
    InputSettings input_;
    UdpSettings udp_;
    MatchSettings match_;
    LoopSettings loop_;
};

}  // namespace weir::app
