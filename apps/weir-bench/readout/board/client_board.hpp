// SPDX-License-Identifier: Apache-2.0
// A program outside weir that sends fragments with the client library, one call for each, from a thread of its own: as
// fast as they are taken.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>

#include "readout/board/front_end.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/delivery/block_sender.hpp"

namespace weir::app {

class ClientBoard {
public:
    /// To a port of this machine, until it is destroyed or the other end has closed. `asks` is without meaning.
    [[nodiscard]] static Result<std::unique_ptr<ClientBoard>> start(std::uint16_t port, const FrontEndOptions& options);
    ~ClientBoard();

    /// Why it ended by itself.
    [[nodiscard]] std::optional<Error> failure() const;

private:
    ClientBoard(std::unique_ptr<delivery::FragmentSender> sender, const FrontEndOptions& options);
    void run(const std::stop_token& stop);

    const FrontEndOptions options_;
    const std::unique_ptr<delivery::FragmentSender> sender_;
    mutable std::mutex mutex_;
    std::optional<Error> failure_;
    NamedThread thread_;
};

}  // namespace weir::app
