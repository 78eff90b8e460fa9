// SPDX-License-Identifier: Apache-2.0
#include "triggers/plug_in/trigger_process.hpp"

#include <utility>

#include "triggers/plug_in/trigger_messages.hpp"
#include "weir/plugin/worker_command.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::selection {
namespace {

constexpr plugin::PlugInKind kind{
    .name = "trigger plug-in",
    .alarm = "trigger_plug_in",
    .program = "weir-trigger-worker",
    .script = "weir_trigger_worker.py",
    .limits = trigger_message_limits,
    .threw = "it is called again; look whether triggers were lost",
    .hangs = "its process is killed, and started again in a run; what its unit saw meanwhile is lost",
    .crashed = "its process is started again in a run; what its unit saw meanwhile is lost"};

}  // namespace

Result<> TriggerPlugInSpec::check_name(const std::string& file) { return plugin::check_plugin_name(file, kind.name); }
Result<> TriggerPlugInSpec::check(const std::string& file) { return plugin::check_plugin_file(file, kind.name); }

Result<plugin::PlugInProgram> open_trigger_plug_in(const TriggerPlugInSpec& spec) {
    return plugin::PlugInProgram::open(kind, spec);
}

TriggerProcess::TriggerProcess(const plugin::PlugInProgram& plug_in, RunNumber run, PlugInTriggers& triggers,
                               const Reporter& report, std::function<void()> came)
    : triggers_(triggers),
      came_(std::move(came)),
      end_limit_(2 * plug_in.spec.time_limit),
      process_(plug_in, run, report, *this) {
    triggers_.use([this] { process_.wake(); });
}

TriggerProcess::~TriggerProcess() {
    end();
    join();
    triggers_.use({});
}

std::vector<std::uint32_t> TriggerProcess::begin_words() {
    came_in_ = credit_ = 0;
    return {number(triggers_.next_id())};
}

void TriggerProcess::give(plugin::WorkerProcess& process) {
    const auto credit = came_in_ + triggers_.room();
    if (credit <= credit_) return;
    credit_ = credit;
    out_.clear();
    plugin::write_number(ToTriggerPlugIn::credit, credit, out_);
    process.send(out_);
}

Result<> TriggerProcess::take(const plugin::WorkerMessage& message, const std::stop_token& stop) {
    using Block = wire::BlockReader<wire::InputTrigger>;
    Block block(message.body);
    while (true) {
        switch (block.next()) {
            case Block::Next::record: break;
            case Block::Next::bad:
            case Block::Next::broken: return fail(Errc::corrupt, block.why());
            case Block::Next::end: return {};
        }
        if (!stop.stop_requested() && came_in_ >= credit_)
            return fail(Errc::corrupt, "it sent more triggers than it had credit for");
        ++came_in_;
        if (triggers_.add(block.record())) came_();
    }
}

}  // namespace weir::selection
