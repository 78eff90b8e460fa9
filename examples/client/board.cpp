// SPDX-License-Identifier: Apache-2.0
// The same front-end in C++17.
//     board ros-1:9100 0x420001 1000 board.record
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <weir_client.hpp>

int main(int argc, char** argv) try {
    if (argc != 5) return std::fprintf(stderr, "usage: board HOST:PORT SOURCE EVENTS RECORD\n"), 2;
    const auto source = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 0));
    const auto events = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 0));
    std::ofstream record(argv[4], std::ios::binary);

    weir::client::Connection connection;
    connection.host = argv[1];
    connection.name = "board-cxx";
    connection.on_state = [](int state, const std::string& why) {
        if (state != WEIR_CONNECTED) std::fprintf(stderr, "board: no connection: %s\n", why.c_str());
    };
    connection.on_ended = [](std::uint64_t first, std::uint64_t last, std::uint32_t fate) {
        if (fate != WEIR_TAKEN)
            std::fprintf(stderr, "board: %llu to %llu: %s\n", static_cast<unsigned long long>(first),
                         static_cast<unsigned long long>(last), weir_fate_name(fate));
    };
    weir::client::FragmentSender board(std::move(connection));
    for (std::uint32_t event = 1; event <= events; ++event) {
        std::vector<std::uint32_t> data(1 + (event * 7919U + source) % 256);  // what the board read out
        for (std::size_t i = 0; i < data.size(); ++i) data[i] = event * 2654435761U + static_cast<std::uint32_t>(i);
        board.send({source, event, data.data(), 4 * data.size()});
        const std::uint32_t head[2] = {event, static_cast<std::uint32_t>(4 * data.size())};
        record.write(reinterpret_cast<const char*>(head), sizeof(head));
        record.write(reinterpret_cast<const char*>(data.data()), static_cast<std::streamsize>(4 * data.size()));
    }
    const bool flushed = board.flush(std::chrono::seconds(60));
    const auto stats = board.stats();
    std::printf("%llu of %llu fragments taken\n", static_cast<unsigned long long>(stats.taken),
                static_cast<unsigned long long>(stats.sent));
    return flushed && stats.taken == events && record.flush() ? 0 : 1;
} catch (const weir::client::Error& error) {
    return std::fprintf(stderr, "board: %s\n", error.what()), 1;
}
