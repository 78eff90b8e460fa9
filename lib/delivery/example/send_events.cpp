// SPDX-License-Identifier: Apache-2.0
// Sends a hundred events to a recorder and waits until they are on its disks:
//     send_events recorder:9000 358395
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "weir/delivery/sender.hpp"

int main(int argc, char** argv) {
    using namespace weir;
    delivery::SenderOptions options;
    options.host = argc > 1 ? argv[1] : "localhost:9000";
    options.name = "example";
    options.run = RunNumber{argc > 2 ? static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)) : 1};
    auto sender = delivery::Sender::open(options);
    if (!sender) return std::fprintf(stderr, "%s\n", sender.error().message().c_str()), 1;

    const StreamTag stream = parse_stream_key("physics_Main").value();
    const std::vector<std::byte> payload(100'000, std::byte{0x42});  // your event
    for (std::uint64_t id = 1; id <= 100; ++id) {
        const delivery::EventDescription event{.global_id = GlobalEventId{id}, .tags = {stream}};
        if (auto sent = (*sender)->send(event, payload); !sent)
            return std::fprintf(stderr, "%s\n", sent.error().message().c_str()), 1;
    }
    const auto safe = (*sender)->flush(std::chrono::seconds(30));
    const auto stats = (*sender)->stats();
    std::printf("%llu events recorded\n", static_cast<unsigned long long>(stats.acknowledged));
    bool all = safe && *safe;
    for (const auto reason : wire::reject_reasons) {
        const auto rejected = stats.rejected[wire::index(reason)];
        if (rejected > 0)
            std::fprintf(stderr, "%llu events rejected: %s\n", static_cast<unsigned long long>(rejected),
                         wire::name(reason));
        all = all && rejected == 0;
    }
    return all ? 0 : 1;
}
