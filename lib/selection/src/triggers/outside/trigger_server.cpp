// SPDX-License-Identifier: Apache-2.0
#include "triggers/outside/trigger_server.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::selection {

Result<std::unique_ptr<TriggerServer>> TriggerServer::open(const TriggerInput& input, Level1Id first, Reporter report,
                                                           const Clock& clock) {
    std::unique_ptr<TriggerServer> server(new TriggerServer(first, report));
    auto* const raw = server.get();
    delivery::BlockReceiverOptions options;
    options.receiver.listen = input.listen;
    options.receiver.name = input.name;
    options.receiver.tls = input.tls;
    options.receiver.connections_max = input.connections_max;
    options.receiver.threads = 1;
    options.receiver.event_size_max = Bytes{wire::block_size_usual};
    options.receiver.credit_max = Bytes{2 * wire::block_size_usual};  // little, so that busy is soon felt
    options.memory = input.memory;
    options.on_waiting = [raw] { raw->wake_(); };
    server->blocks_ = WEIR_TRY(Blocks::open(
        std::move(options),
        [raw](const wire::InputTrigger& trigger, SteadyTime, bool last) { return raw->triggers_.take(trigger, last); },
        [raw](const char*) { raw->triggers_.malformed(); }, report, clock));
    server->triggers_.use([raw] { return raw->blocks_->resume(); });
    report.information(fmt::format("triggers are taken at {}",
                                   transport::to_string(transport::HostPort{input.listen.host, server->port()})));
    return server;
}

void TriggerServer::start_run(RunNumber run, std::function<void()> wake) {
    wake_ = std::move(wake);
    blocks_->start_run(run);
}

}  // namespace weir::selection
