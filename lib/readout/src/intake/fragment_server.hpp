// SPDX-License-Identifier: Apache-2.0
// The TCP input of a readout: programs and boards outside send blocks of fragments (docs/formats/input-protocol.md). It
// listens from configure to unconfigure; in a run its fragments go to the run's FragmentIntake. A front-end that finds
// no room waits, by credit.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "intake/fragment_intake.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/report.hpp"
#include "weir/delivery/block_receiver.hpp"
#include "weir/readout/fragment_input.hpp"

namespace weir::readout {

class FragmentServer {
public:
    using Blocks = delivery::BlockReceiver<wire::InputFragment>;

    /// `fragment_max`: the largest that the readout could hold. The clock outlives the server.
    [[nodiscard]] static Result<std::unique_ptr<FragmentServer>> open(const FragmentInput& input,
                                                                      std::size_t fragment_max, Reporter report,
                                                                      const Clock& clock);

    /// "127.0.0.1:9000", with the port that was opened.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }

    [[nodiscard]] std::uint16_t port() const noexcept { return blocks_->port(); }

    /// The intake is used until end_run() returns.
    void start_run(RunNumber run, FragmentIntake& intake);
    /// The store's waits are to end meanwhile or before (RobStore::stop_waiting()).
    void end_run();

    [[nodiscard]] delivery::BlockReceiverStats stats() const { return blocks_->stats(); }

private:
    FragmentServer(Reporter report, const Clock& clock) : report_(std::move(report)), clock_(clock) {}
    void report_unknown(SourceId source);
    [[nodiscard]] delivery::RecordFate take(const wire::InputFragment& fragment, SteadyTime now, bool last);
    void go_on(const std::stop_token& stop);

    const Reporter report_;
    const Clock& clock_;
    std::atomic<std::uint64_t> unknown_{0};  // fragments of a source that this readout does not have, in this run
    std::string address_;
    FragmentIntake* intake_ = nullptr;  // of the run; written while no call of take() can be made
    std::unique_ptr<Blocks> blocks_;
    NamedThread waiting_;  // goes on with blocks that wait for room
};

}  // namespace weir::readout
