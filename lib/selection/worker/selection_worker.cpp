// SPDX-License-Identifier: Apache-2.0
// weir-selection-worker FILE.so: runs a C++ selection in a process of its own, for `workers_are = "processes"`. Started
// by a station with a socket (3) and shared memory (4); src/workers/worker_messages.hpp describes their contents.
#include <unistd.h>

#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "weir/base/endian.hpp"
#include "weir/plugin/worker_end.hpp"
#include "workers/plugin_library.hpp"
#include "workers/requested_fragments.hpp"
#include "workers/worker_messages.hpp"

namespace {

using namespace weir;
using namespace weir::selection;

/// The station answers a request through shared memory.
class StationRequests final : public FragmentRequests {
public:
    explicit StationRequests(plugin::SharedMemory& memory) : memory_(memory) {}
    ~StationRequests() = default;

    std::span<const Fragment> request(std::span<const SourceId> sources) override {
        std::vector<std::byte> out;
        write_request(sources, out);
        std::byte words[16];
        if (!plugin::send_to_station(out)) ::_exit(0);
        if (!plugin::receive_from_station(words)) ::_exit(0);
        const auto position = load_little<std::uint64_t>(words);
        const auto size = load_little<std::uint64_t>(words, 8);
        const auto memory = memory_.first(position + size);
        if (memory.size() != position + size || position > memory.size()) ::_exit(1);
        auto fragments = read_fragments(memory.subspan(position));
        if (!fragments) ::_exit(1);
        fragments_ = std::move(*fragments);
        return fragments_;
    }
    const Fragment* find(SourceId) const noexcept override { return nullptr; }

private:
    plugin::SharedMemory& memory_;
    std::vector<Fragment> fragments_;
};

int serve(SelectFunction* function) {
    std::vector<std::byte> out;
    write_answer(AnswerKind::ready, "", out);
    if (!plugin::send_to_station(out)) return 1;
    plugin::SharedMemory memory;
    EventParts parts;
    while (true) {
        std::byte words[8];
        if (!plugin::receive_from_station(words)) return 0;  // the station has ended
        out.clear();
        memory.release_earlier();
        auto event = read_event(memory.first(load_little<std::uint64_t>(words)), parts);
        if (!event) return 1;
        StationRequests station(memory);
        event->requests = &station;
        RequestedFragments requested(*event);
        if (const auto decision = call_selection(function, requested)) {
            write_decision(*decision, out);
        } else {
            write_answer(AnswerKind::failed, decision.error().context, out);
        }
        if (!plugin::send_to_station(out)) return 0;
    }
}

}  // namespace

int main(int argc, char** argv) {
    plugin::die_with_the_station();
    if (argc != 2) {
        std::fputs("weir-selection-worker is started by weir select and weir filter\n", stderr);
        return 2;
    }
    const auto function = load_library(argv[1]);
    if (!function) {
        std::vector<std::byte> out;
        write_answer(AnswerKind::failed, function.error().context, out);
        static_cast<void>(plugin::send_to_station(out));
        return 1;
    }
    return serve(*function);
}
