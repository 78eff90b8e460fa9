// SPDX-License-Identifier: Apache-2.0
// weir-selection-worker FILE.so: runs a C++ selection in a process of its own, for `workers_are = "processes"`. Started
// by a station with a socket (3) and shared memory (4); src/workers/worker_messages.hpp describes their contents.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "weir/base/endian.hpp"
#include "workers/plugin_library.hpp"
#include "workers/worker_messages.hpp"

namespace {

using namespace weir;
using namespace weir::selection;

constexpr int the_socket = 3, the_memory = 4;

bool send_all(ConstData data) {
    while (!data.empty()) {
        const auto sent = ::send(the_socket, data.data(), data.size(), MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        data = data.subspan(static_cast<std::size_t>(sent));
    }
    return true;
}

class SharedMemory {
public:
    /// Nothing when the memory has no such bytes.
    ConstData first(std::size_t size) {
        struct stat status{};
        if (size > mapped_ && ::fstat(the_memory, &status) == 0) {
            if (map_ != nullptr) ::munmap(map_, mapped_);
            mapped_ = static_cast<std::size_t>(status.st_size);
            map_ = ::mmap(nullptr, mapped_, PROT_READ, MAP_SHARED, the_memory, 0);
            if (map_ == MAP_FAILED) map_ = nullptr;
        }
        if (map_ == nullptr || size > mapped_) return {};
        return ConstData(static_cast<const std::byte*>(map_), size);
    }

private:
    void* map_ = nullptr;
    std::size_t mapped_ = 0;
};

int serve(SelectFunction* function) {
    std::vector<std::byte> out;
    write_answer(AnswerKind::ready, "", out);
    if (!send_all(out)) return 1;
    SharedMemory memory;
    EventParts parts;
    while (true) {
        std::byte words[8];
        const auto got = ::recv(the_socket, words, sizeof words, MSG_WAITALL);
        if (got == 0) return 0;  // the station has ended
        if (got != sizeof words) return 1;
        out.clear();
        const auto event = read_event(memory.first(load_little<std::uint64_t>(words)), parts);
        if (!event) return 1;
        if (const auto decision = call_selection(function, *event)) {
            write_decision(*decision, out);
        } else {
            write_answer(AnswerKind::failed, decision.error().context, out);
        }
        if (!send_all(out)) return 0;
    }
}

}  // namespace

int main(int argc, char** argv) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // never left behind, even inside an endless loop
    if (argc != 2) {
        std::fputs("weir-selection-worker is started by weir select and weir filter\n", stderr);
        return 2;
    }
    const auto function = load_library(argv[1]);
    if (!function) {
        std::vector<std::byte> out;
        write_answer(AnswerKind::failed, function.error().context, out);
        static_cast<void>(send_all(out));
        return 1;
    }
    return serve(*function);
}
