// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_feed.hpp"

#include <fmt/format.h>

namespace weir::readout {

void report_threw(const FragmentDelivery& delivery, const char* call, const std::string& why) {
    delivery.report()({.severity = Severity::error,
                       .what = "front-end threw",
                       .where = delivery.front_end(),
                       .why = fmt::format("in {}: {}", call, on_one_line(why, 500)),
                       .advice = "it is called again; what it had begun to read out is lost",
                       .alarm = "front_end_threw"});
}

void report_hangs(const FragmentDelivery& delivery, const char* call, bool in_process) {
    delivery.report()({.severity = Severity::error,
                       .what = "front-end hangs",
                       .where = delivery.front_end(),
                       .why = fmt::format("{} does not return within time_limit", call),
                       .advice = in_process ? "its process is killed and started again"
                                            : "run control starts this station again after hanging_after; with runs_in "
                                              "= \"process\" only a process ends",
                       .alarm = "front_end_hangs"});
}

void report_crashed(const FragmentDelivery& delivery, const std::string& why) {
    delivery.report()({.severity = Severity::error,
                       .what = "front-end crashed",
                       .where = delivery.front_end(),
                       .why = on_one_line(why, 500),
                       .advice = "its process is started again; triggers that it had not read out are lost",
                       .alarm = "front_end_crashed"});
}

}  // namespace weir::readout
