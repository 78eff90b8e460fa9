// SPDX-License-Identifier: Apache-2.0
#include "readout/board/client_board.hpp"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace weir::app {

Result<std::unique_ptr<ClientBoard>> ClientBoard::start(std::uint16_t port, const FrontEndOptions& options) {
    delivery::BlockSenderOptions sending;
    sending.sender.host = fmt::format("127.0.0.1:{}", port);
    sending.sender.name = "front-end";
    auto sender = WEIR_TRY(delivery::FragmentSender::open(std::move(sending)));
    return std::unique_ptr<ClientBoard>(new ClientBoard(std::move(sender), options));
}

ClientBoard::ClientBoard(std::unique_ptr<delivery::FragmentSender> sender, const FrontEndOptions& options)
    : options_(options), sender_(std::move(sender)) {
    thread_ = NamedThread(nullptr, "front-end", [this](const std::stop_token& stop) { run(stop); });
}

ClientBoard::~ClientBoard() {
    thread_.request_stop();
    sender_->close();  // a call that waits ends
}

std::optional<Error> ClientBoard::failure() const {
    const std::scoped_lock lock(mutex_);
    return failure_;
}

void ClientBoard::run(const std::stop_token& stop) {
    const std::vector<std::byte> payload(options_.fragment_size, std::byte{0x5a});
    wire::InputFragment fragment{.status_words = {}, .payload = payload};
    for (std::uint32_t event = 1; !stop.stop_requested(); ++event) {
        fragment.level1_id = Level1Id{event};
        for (std::uint32_t place = 0; place < options_.sources; ++place) {
            fragment.source = SourceId{number(options_.source) + place};
            if (auto sent = sender_->send(fragment); !sent) {
                const std::scoped_lock lock(mutex_);
                failure_ = sent.error();
                return;
            }
        }
    }
}

}  // namespace weir::app
