// SPDX-License-Identifier: Apache-2.0
// The operation page of a station that runs alone, without run control: the same page, which shows what such a station
// has, and takes no commands.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/control/log_book.hpp"
#include "weir/control/run_page.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/reports.hpp"
#include "weir/service/station.hpp"
#include "weir/service/timers.hpp"

namespace weir::control {

struct LoneStation {
    std::string name{};
    StationKind kind = StationKind::record;
    std::function<service::StationStatus()> status;     // any thread
    std::function<bool()> over = [] { return false; };  // it has ended its work, and stays to be looked at
    std::vector<std::filesystem::path> catalogues{};    // of its files, that can be read here
};

class LonePage {
public:
    /// All that is passed by reference, and what the functions use, outlives it.
    LonePage(LoneStation station, LogBook& log, service::Reports& reports, service::Timers& timers, const Clock& clock);
    ~LonePage();
    LonePage(const LonePage&) = delete;
    LonePage& operator=(const LonePage&) = delete;

    /// GET / /page/* /live /history /files /log. The page outlives the server.
    [[nodiscard]] std::vector<service::HttpRoute> routes();

private:
    class State;
    std::unique_ptr<State> state_;
};

/// A sink that keeps reports as lines of the log, as a station's log has them. The log outlives it.
[[nodiscard]] std::unique_ptr<service::ReportSink> log_book_sink(LogBook& log);

}  // namespace weir::control
