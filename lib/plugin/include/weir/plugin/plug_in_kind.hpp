// SPDX-License-Identifier: Apache-2.0
// A kind of plug-in (front-end, trigger plug-in): what runs it, and how it is named to an operator.
#pragma once

#include <string>
#include <string_view>

#include "weir/base/report.hpp"
#include "weir/plugin/plug_in_messages.hpp"

namespace weir::plugin {

/// All live as long as the program: literals.
struct PlugInKind {
    const char* name;     // "trigger plug-in"
    const char* alarm;    // its alarms are this, and "_threw", "_hangs", "_crashed": "trigger_plug_in"
    const char* program;  // for NAME.so: "weir-trigger-worker"
    const char* script;   // for NAME.py: "weir_trigger_worker.py"
    MessageLimits limits;
    // What an operator should know or do when it
    const char* threw;
    const char* hangs;
    const char* crashed;
};

// Reports of what a plug-in did, each with its alarm. `file` is where; `why` may hold anything. Any thread.
void report_threw(const Reporter& report, const PlugInKind& kind, const std::string& file, Call call,
                  std::string_view why);
void report_hangs(const Reporter& report, const PlugInKind& kind, const std::string& file, std::string_view why);
void report_crashed(const Reporter& report, const PlugInKind& kind, const std::string& file, std::string_view why);
/// "poll does not return within time_limit"
[[nodiscard]] std::string why_it_hangs(Call call);

}  // namespace weir::plugin
