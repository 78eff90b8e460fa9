// SPDX-License-Identifier: Apache-2.0
// Sends one event to the recorder at HOST:PORT, as run RUN, and waits until it is on stable storage.
#include <weir/delivery/sender.hpp>

#include <array>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
    using namespace std::chrono_literals;
    if (argc != 3) return std::fprintf(stderr, "usage: send_one HOST:PORT RUN\n"), 2;
    auto sender = weir::delivery::Sender::open({.host = argv[1],
                                                .name = "outside-cpp",
                                                .run = weir::RunNumber{static_cast<std::uint32_t>(std::atoi(argv[2]))},
                                                .give_up_after = 20s});
    if (!sender) return std::fprintf(stderr, "%s\n", sender.error().message().c_str()), 1;
    const std::array<std::byte, 1000> event{};
    if (const auto sent = (*sender)->send({.tags = {{.type = "physics", .name = "Outside"}}}, event); !sent)
        return std::fprintf(stderr, "%s\n", sent.error().message().c_str()), 1;
    const auto final = (*sender)->flush(20s);
    if (!final) return std::fprintf(stderr, "%s\n", final.error().message().c_str()), 1;
    std::printf("acknowledged %llu\n", static_cast<unsigned long long>((*sender)->stats().acknowledged));
    return (*sender)->stats().acknowledged == 1 ? 0 : 1;
}
