// SPDX-License-Identifier: Apache-2.0
// The UDP input of a readout (docs/formats/input-udp.md): takes datagrams from the kernel, has them made into fragments
// and gives those to the run's FragmentIntake. It waits for nobody: what finds no room is refused and counted, and a
// fragment that does not come is marked as lost, so that its event is built without it. It listens from configure to
// unconfigure; what comes while no run goes on is counted, too.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "datagrams/fragment_assembler.hpp"
#include "intake/fragment_intake.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/report.hpp"
#include "weir/readout/fragment_input.hpp"
#include "weir/transport/event_loop.hpp"
#include "weir/transport/udp_socket.hpp"

namespace weir::readout {

struct DatagramServerStats {
    AssemblerCounts datagrams{};                   // of the run: the present one, or else the last
    std::vector<AssembledSourceCounts> sources{};  // likewise
    std::uint64_t no_run = 0;                      // datagrams that came while none went on, or its place was not known
    std::uint64_t kernel_drops = 0;                // of the run: there was no room in the kernel's buffer
};

class DatagramServer {
public:
    /// Errc::usage: a header that contradicts itself. The clock outlives the server.
    [[nodiscard]] static Result<std::unique_ptr<DatagramServer>> open(const DatagramInputOptions& options,
                                                                      Reporter report, const Clock& clock);
    ~DatagramServer();

    /// "127.0.0.1:9000", with the port that was opened.
    [[nodiscard]] const std::string& address() const noexcept { return address_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    /// Of the kernel, as it was granted.
    [[nodiscard]] Bytes receive_buffer() const noexcept { return transport::granted_receive_buffer(socket_.fd()); }

    /// The intake is used until end_run() returns. `rules`: how its sources count. While the intake's store does not
    /// know where the run is, no datagram is taken: a short counter could not be extended.
    void start_run(FragmentIntake& intake, const event::RodRules& rules);
    void end_run();

    [[nodiscard]] DatagramServerStats stats() const;

private:
    DatagramServer(const DatagramInputOptions& options, Reporter report, const Clock& clock, transport::Socket socket,
                   transport::EventLoop loop);

    void begin();
    void run(const std::stop_token& stop);
    [[nodiscard]] std::optional<SteadyTime> step(SteadyTime now);
    void take(const transport::DatagramBatch& batch, SteadyTime now);
    void take_whole(const wire::InputFragment& fragment);
    void refuse(SourceId source, DatagramFate fate);
    void report_fault(ConstData datagram, const transport::Address& from, const char* why, std::uint64_t count);
    void look_at_drops();

    const DatagramInputOptions options_;
    const Reporter report_;
    const Clock& clock_;
    const transport::Socket socket_;
    transport::EventLoop loop_;
    std::string address_;
    std::uint16_t port_ = 0;

    mutable std::mutex mutex_;               // guards what follows
    FragmentIntake* next_intake_ = nullptr;  // of a run whose place is not known yet
    event::RodRules rules_{};                // of the run
    FragmentIntake* intake_ = nullptr;
    std::optional<FragmentAssembler> assembler_;  // of the run, and looked at until the next
    SteadyTime now_{};                            // of the batch that is taken
    SteadyTime next_look_{};                      // at the kernel's drops
    std::uint32_t drops_before_ = 0;              // the kernel's count when the run began
    std::uint64_t drops_ = 0, drops_reported_ = 0;
    std::uint64_t no_run_ = 0;

    NamedThread thread_;  // last: it ends first
};

}  // namespace weir::readout
