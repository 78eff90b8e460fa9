// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_plugin.hpp"

#include <fmt/format.h>

#include <system_error>

#include "front_end/front_end_messages.hpp"
#include "weir/plugin/library.hpp"
#include "weir/plugin/worker_command.hpp"

namespace weir::readout {

plugin::PlugInKind front_end_kind(FrontEndRuns runs) noexcept {
    return {.name = "front-end",
            .alarm = "front_end",
            .program = "weir-front-end-worker",
            .script = "weir_front_end_worker.py",
            .limits = front_end_limits,
            .threw = "it is called again; what it had begun to read out is lost",
            .hangs = runs == FrontEndRuns::process
                         ? "its process is killed and started again"
                         : "run control starts this station again after hanging_after; with runs_in = \"process\" "
                           "only a process ends",
            .crashed = "its process is started again; triggers that it had not read out are lost"};
}

Result<> FrontEndSpec::check_name(const std::string& file) { return plugin::check_plugin_name(file, "front-end"); }
Result<> FrontEndSpec::check(const std::string& file) { return plugin::check_plugin_file(file, "front-end"); }

Result<FrontEndFace> load_front_end(const std::filesystem::path& file) {
    constexpr plugin::LibraryKind kind{.name = "front-end", .symbol = "weir_front_end", .macro = "WEIR_FRONT_END"};
    const auto* face = static_cast<const FrontEndFace*>(WEIR_TRY(plugin::load_library(file, kind)));
    const FrontEndFace ours{};
    if (face->version != ours.version || face->fragment_size != ours.fragment_size ||
        face->trigger_size != ours.trigger_size || face->make == nullptr)
        return plugin::built_against_another_weir(file, kind);
    if (!face->polls && !face->reads_out)
        return fail(Errc::usage, fmt::format("the front-end {} has neither poll() nor read_out()", file.string()));
    return *face;
}

Result<FrontEndPlugin> FrontEndPlugin::open(const FrontEndSpec& spec) {
    WEIR_TRY(FrontEndSpec::check(spec.file));
    FrontEndPlugin plugin;
    plugin.spec = spec;
    std::error_code error;
    const auto file = std::filesystem::absolute(spec.file, error);
    if (file.extension() == ".so" && spec.runs == FrontEndRuns::thread) {
        plugin.face = WEIR_TRY(load_front_end(file));
        plugin.polls = plugin.face.polls;
        plugin.reads_out = plugin.face.reads_out;
        return plugin;
    }
    plugin.program = WEIR_TRY(plugin::PlugInProgram::open(front_end_kind(FrontEndRuns::process), spec));
    plugin.polls = (plugin.program->has & plugin::has_poll) != 0;
    plugin.reads_out = (plugin.program->has & plugin::has_read_out) != 0;
    return plugin;
}

}  // namespace weir::readout
