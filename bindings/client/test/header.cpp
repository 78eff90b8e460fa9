// SPDX-License-Identifier: Apache-2.0
// The header is C++17 by itself.
#include "weir_client.hpp"

std::uint64_t client_cxx17(const void* payload, std::size_t size);
std::uint64_t client_cxx17(const void* payload, std::size_t size) {
    weir::client::Connection connection;
    connection.host = "ros:9100";
    connection.name = "board";
    weir::client::FragmentSender board(connection);
    weir::client::TriggerSender unit(std::move(connection));
    return board.send({0x420000, 1, payload, size}) + unit.try_send({1}).value_or(0);
}
