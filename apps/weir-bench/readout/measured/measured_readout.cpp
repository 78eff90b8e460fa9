// SPDX-License-Identifier: Apache-2.0
#include "readout/measured/measured_readout.hpp"

#include <fmt/format.h>

#include <future>

namespace weir::app {

Result<std::unique_ptr<MeasuredReadout>> MeasuredReadout::start(readout::ReadoutStationOptions options) {
    options.id = options.loop.endpoint.self = readout_id;
    std::unique_ptr<MeasuredReadout> measured(new MeasuredReadout(options));
    auto& station = measured->station_;
    WEIR_TRY(station.configure());

    messaging::MessageLoopOptions loop_options;
    loop_options.endpoint.self = opposite_id;
    loop_options.endpoint.epoch = wire::Epoch{1};
    measured->loop_ = WEIR_TRY(messaging::MessageLoop::open(loop_options, measured->messages_, measured->clock_));
    auto& loop = *measured->loop_;
    const auto address = WEIR_TRY(transport::parse_host_port(station.self().dataflow));
    WEIR_TRY(
        loop.set_peers({{.id = readout_id, .address = address, .link = messaging::LinkKind::udp, .watched = true}}));
    loop.endpoint().set_run(RunNumber{1});
    WEIR_TRY(station.connect({{.name = "opposite",
                               .kind = StationKind::assign,
                               .id = opposite_id,
                               .dataflow = fmt::format("127.0.0.1:{}", loop.port()),
                               .events = {},
                               .sources = {}}}));
    WEIR_TRY(station.start(RunNumber{1}));
    return measured;
}

void MeasuredReadout::on_loop(const std::function<void()>& work) {
    std::promise<void> done;
    loop_->call([&] {
        work();
        done.set_value();
    });
    done.get_future().wait();
}

double MeasuredReadout::processor_seconds() const {
    double seconds = 0;
    for (const auto& times : accounts_.times())
        if (times.thread != "bench") seconds += std::chrono::duration<double>(times.processor).count();
    return seconds;
}

Result<> MeasuredReadout::finish() {
    WEIR_TRY(station_.stop(std::chrono::seconds(5)));
    const auto ledger = station_.status().ledger;
    if (!ledger.balances() || ledger.in_hand != 0)
        return fail(Errc::corrupt,
                    fmt::format("the readout's ledger does not balance: received {}, stored {}, in hand {}",
                                ledger.received, ledger.stored, ledger.in_hand));
    WEIR_TRY(station_.disconnect());
    return station_.unconfigure();
}

}  // namespace weir::app
