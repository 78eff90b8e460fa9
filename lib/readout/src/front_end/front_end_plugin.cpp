// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_plugin.hpp"

#include <fmt/format.h>

#include <system_error>

#include "front_end/front_end_messages.hpp"
#include "weir/base/report.hpp"
#include "weir/plugin/library.hpp"
#include "weir/plugin/worker_command.hpp"
#include "weir/plugin/worker_process.hpp"

namespace weir::readout {
namespace {

/// Starts it once: an operator sees a mistake in it at once.
Result<std::uint32_t> try_process(const FrontEndPlugin& plugin) {
    const auto& clock = *plugin.spec.clock;
    const auto process = WEIR_TRY(plugin::WorkerProcess::start(plugin.command, front_end_limits, clock));
    using Got = plugin::WorkerProcess::Got;
    plugin::WorkerMessage message;
    const auto got = process->receive(message, clock.now() + plugin.spec.start_limit, {});
    if (got == Got::too_late) return fail(Errc::limit, "it did not load within its time limit");
    if (got != Got::message)
        return fail(Errc::usage, got == Got::nonsense ? process->why_nonsense() : process->how_it_ended({}));
    if (message.kind == static_cast<std::uint32_t>(FromFrontEnd::failed))
        return fail(Errc::usage, WEIR_TRY(read_failed(message.body)).text);
    if (message.kind != static_cast<std::uint32_t>(FromFrontEnd::ready))
        return fail(Errc::corrupt, "its process sent something else than that it is ready");
    return read_number(message.body);
}

}  // namespace

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
    plugin.command = WEIR_TRY(plugin::worker_command({.program = "weir-front-end-worker",
                                                      .script = "weir_front_end_worker.py",
                                                      .python = spec.python,
                                                      .folder = spec.programs},
                                                     file));
    const auto abilities = try_process(plugin);
    if (!abilities)
        return fail(Errc::usage, fmt::format("the front-end {} cannot be loaded: {}", spec.file,
                                             on_one_line(abilities.error().message(), 500)));
    plugin.polls = (*abilities & 1) != 0;
    plugin.reads_out = (*abilities & 2) != 0;
    return plugin;
}

}  // namespace weir::readout
