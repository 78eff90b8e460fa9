// SPDX-License-Identifier: Apache-2.0
#include "stations/selection/plugin_settings.hpp"

#include "stations/frame/setting_checks.hpp"

namespace weir::app {

using namespace std::chrono_literals;

void PluginSettings::declare(service::Settings& settings, const std::string& section) {
    settings
        .add(section, "selection", spec.selection,
             "all, none, fraction:0.1, size:10kB, busy:500us, sleep:500us, request:0x420000/0x420001, or a file: "
             "NAME.so (C++) or NAME.py (Python)")
        .each(check_selection);
    settings
        .add(section, "workers_are", workers_are,
             "of NAME.so: processes, in which it may crash or hang, or threads, which cost less and are ended with the "
             "station; Python runs in processes")
        .one_of({"threads", "processes"});
    settings
        .add(section, "time_limit", spec.time_limit,
             "for the selection of one event; then its process is killed and the event kept")
        .at_least(1ms);
    settings.add(section, "start_limit", spec.start_limit, "for a process to load its plug-in").at_least(10ms);
    settings.add(section, "python", python, "the Python (with NumPy) that runs NAME.py");
}

Result<selection::SelectionSpec> PluginSettings::to_spec() const {
    auto result = spec;
    result.workers_are = workers_are == "processes" ? selection::WorkersAre::processes : selection::WorkersAre::threads;
    result.python = python;
    return result;
}

}  // namespace weir::app
