// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/plug_in_kind.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::plugin {
namespace {

void report_fault(const Reporter& report, const PlugInKind& kind, const std::string& file, const char* fault,
                  std::string why, const char* advice) {
    report({.severity = Severity::error,
            .what = fmt::format("{} {}", kind.name, fault),
            .where = file,
            .why = std::move(why),
            .advice = advice,
            .alarm = fmt::format("{}_{}", kind.alarm, fault)});
}

}  // namespace

void report_threw(const Reporter& report, const PlugInKind& kind, const std::string& file, Call call,
                  std::string_view why) {
    report_fault(report, kind, file, "threw", fmt::format("in {}: {}", name(call), on_one_line(why, 500)), kind.threw);
}

void report_hangs(const Reporter& report, const PlugInKind& kind, const std::string& file, std::string_view why) {
    report_fault(report, kind, file, "hangs", std::string(why), kind.hangs);
}

void report_crashed(const Reporter& report, const PlugInKind& kind, const std::string& file, std::string_view why) {
    report_fault(report, kind, file, "crashed", on_one_line(why, 500), kind.crashed);
}

std::string why_it_hangs(Call call) { return fmt::format("{} does not return within time_limit", name(call)); }

}  // namespace weir::plugin
