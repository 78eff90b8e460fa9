// SPDX-License-Identifier: Apache-2.0
#include "readout/plugin/readout_plugins.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "figures/thread_timer.hpp"
#include "readout/measured/measured_readout.hpp"
#include "readout/plugin/bench_front_end.hpp"
#include "weir/base/descriptor.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/plugin/worker_message.hpp"
#include "weir/wire/input_block.hpp"

namespace weir::app {
namespace {

using readout::FrontEndRuns;

void set_fragment_size(std::uint32_t size) { ::setenv(bench_fragment_size, std::to_string(size).c_str(), 1); }

constexpr const char *in_thread = "plug-in", *in_process = "plug-in in a process", *in_python = "plug-in in Python";

Result<InputFigures> measure_plugin(const char* plugin, std::uint32_t fragment_size, std::chrono::milliseconds time) {
    auto options = plugin_readout(plugin, fragment_size, {input_source});
    options.store.events_max = 16'384;  // what comes between two looks of the clearer
    const auto readout = WEIR_TRY(MeasuredReadout::start(std::move(options)));
    auto& loop = readout->loop();
    const auto known = [&] { return readout->station().status().sources.front(); };
    Clearer clearer(
        loop.endpoint(), MeasuredReadout::readout_id,
        [&] {
            const auto s = known();
            return static_cast<std::uint32_t>(s.arrived + s.late + s.duplicated + s.refused);
        },
        std::chrono::milliseconds(1));
    NamedThread clearing(nullptr, "clearer", [&](const std::stop_token& stop) { loop.run(stop, clearer); });
    const auto figures = measure_between(
        time, [&] { return static_cast<double>(known().arrived); }, [&] { return readout->processor_seconds(); });
    clearing.request_stop();
    clearing.join();
    WEIR_TRY(readout->finish());
    return figures;
}

/// As many fragments as a readout holds, again and again; with what it took to fill it.
class Ring {
public:
    explicit Ring(std::uint32_t fragment_size) : bytes_(std::size_t{4096} * fragment_size + (1U << 20)) {}
    /// By one thread.
    void take(ConstData data, std::uint64_t fragments) {
        if (at_ + data.size() > bytes_.size()) at_ = 0;
        std::memcpy(bytes_.data() + at_, data.data(), data.size());
        at_ += data.size();
        taken_.fetch_add(fragments, std::memory_order_relaxed);
    }
    void note_processor() noexcept { processor_.store(thread_seconds(), std::memory_order_relaxed); }
    /// Any thread.
    [[nodiscard]] double taken() const noexcept { return static_cast<double>(taken_.load(std::memory_order_relaxed)); }
    [[nodiscard]] double processor() const noexcept { return processor_.load(std::memory_order_relaxed); }

private:
    std::vector<std::byte> bytes_;
    std::size_t at_ = 0;
    std::atomic<std::uint64_t> taken_{0};  // relaxed: figures
    std::atomic<double> processor_{0};
};

InputFigures measure_ring(const Ring& ring, std::chrono::milliseconds time) {
    return measure_between(time, [&] { return ring.taken(); }, [&] { return ring.processor(); });
}

class RingSink final : public readout::FragmentSink {
public:
    explicit RingSink(Ring& ring) : ring_(ring) {}
    bool send(const wire::InputFragment& fragment) override { return ring_.take(fragment.payload, 1), true; }

private:
    Ring& ring_;
};

Result<InputFigures> measure_calls(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    set_fragment_size(fragment_size);
    Ring ring(fragment_size);
    const NamedThread calling(nullptr, "bare calls", [&](const std::stop_token& stop) {
        const std::unique_ptr<readout::FrontEnd> front_end = std::make_unique<BenchFrontEnd>();
        front_end->begin_run(RunNumber{1}, {&input_source, 1});
        RingSink sink(ring);
        while (!stop.stop_requested()) {
            front_end->poll(sink);
            ring.note_processor();
        }
    });
    return measure_ring(ring, time);
}

/// The message that a worker process sends: as many fragments as fit into one.
std::vector<std::byte> worker_message(std::uint32_t fragment_size, std::uint64_t& fragments) {
    const std::vector<std::byte> payload(fragment_size, std::byte{0x5a});
    const wire::InputFragment fragment{
        .source = input_source, .level1_id = Level1Id{1}, .status_words = {}, .payload = payload};
    fragments = std::max<std::uint64_t>(wire::block_size_usual / wire::encoded_size(fragment), 1);
    std::vector<std::byte> message;
    const auto begin = plugin::begin_message(1, message);
    for (std::uint64_t i = 0; i < fragments; ++i) wire::encode(fragment, message);
    plugin::end_message(begin, message);
    return message;
}

/// A thread that sends the messages of a worker process over the same kind of socket, and one that reads each with one
/// call, looks at its head and copies what is behind it.
Result<InputFigures> measure_socket(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
        return fail_errno(errno, "cannot make a pair of sockets");
    const Descriptor ours(sockets[0]), theirs(sockets[1]);
    std::uint64_t fragments = 0;
    const auto message = worker_message(fragment_size, fragments);
    Ring ring(fragment_size);
    std::atomic<bool> intact{true};
    NamedThread sending(nullptr, "sender", [&] {
        ConstData rest(message);
        while (true) {
            const auto sent = ::send(theirs.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
            if (sent < 0) return;  // the other end is shut
            rest = rest.subspan(static_cast<std::size_t>(sent));
            if (rest.empty()) rest = message;
        }
    });
    NamedThread reading(nullptr, "bare socket", [&] {
        std::vector<std::byte> in(message.size());
        while (::recv(ours.get(), in.data(), in.size(), MSG_WAITALL) == static_cast<ssize_t>(in.size())) {
            const auto head = plugin::read_message_head(ConstData(in).first(plugin::message_head), {.kind_max = 1});
            if (!head || head->size != in.size() - plugin::message_head) return intact.store(false);
            ring.take(ConstData(in).subspan(plugin::message_head), fragments);
            ring.note_processor();
        }
    });
    const auto figures = measure_ring(ring, time);
    ::shutdown(ours.get(), SHUT_RDWR);
    ::shutdown(theirs.get(), SHUT_RDWR);
    reading.join();
    sending.join();
    if (!intact) return fail(Errc::corrupt, "the bare loop of a socket has received a damaged message");
    return figures;
}

/// A Python that writes payloads in blocks of 64 KiB into a pipe, and a loop that copies them out of it.
Result<InputFigures> measure_bare_python(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    const auto command = fmt::format(
        "exec {} -c 'import os, signal; signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "payload, block = bytes({}), bytearray()\n"
        "while True:\n"
        "    block += payload\n"
        "    if len(block) >= 65536:\n"
        "        os.write(1, block)\n"
        "        block = bytearray()'",
        readout::FrontEndSpec{}.python.native(), fragment_size);
    std::FILE* const pipe = ::popen(command.c_str(), "re");
    if (pipe == nullptr) return fail_errno(errno, "cannot start Python");
    Ring ring(1);
    NamedThread reading(nullptr, "bare pipe", [&](const std::stop_token& stop) {
        std::vector<std::byte> in(1U << 16);
        while (!stop.stop_requested()) {
            const auto got = ::read(::fileno(pipe), in.data(), in.size());
            if (got <= 0) return;
            ring.take(ConstData(in).first(static_cast<std::size_t>(got)), static_cast<std::uint64_t>(got));
            ring.note_processor();
        }
    });
    auto figures = measure_ring(ring, time);  // of bytes
    reading.request_stop();
    reading.join();
    ::pclose(pipe);  // its next write ends it
    if (ring.taken() == 0) return fail(Errc::io, "Python has written nothing");
    figures.rate /= fragment_size;
    figures.cpu *= fragment_size;
    return figures;
}

Result<InputFigures> measure_thread(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    return measure_plugin(in_thread, fragment_size, time);
}
Result<InputFigures> measure_process(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    return measure_plugin(in_process, fragment_size, time);
}
Result<InputFigures> measure_python(std::uint32_t fragment_size, std::chrono::milliseconds time) {
    return measure_plugin(in_python, fragment_size, time);
}

}  // namespace

readout::ReadoutStationOptions plugin_readout(std::string_view plugin, std::uint32_t fragment_size,
                                              std::vector<SourceId> sources) {
    set_fragment_size(fragment_size);
    std::error_code error;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
    readout::ReadoutStationOptions options{.feed = readout::FeedKind::front_end, .sources = std::move(sources)};
    options.front_end.file = folder / (plugin == in_python ? "weir_bench_front_end.py" : "weir-bench-front-end.so");
    options.front_end.runs = plugin == in_thread ? FrontEndRuns::thread : FrontEndRuns::process;
    return options;
}

bool has_python() { return ::access(readout::FrontEndSpec{}.python.c_str(), X_OK) == 0; }

std::vector<PluginInput> plugin_inputs() {
    std::vector<PluginInput> inputs{
        {in_thread, "bare loop of calls", "input_plugin_rate_to_bare_loop", measure_thread, measure_calls},
        {in_process, "bare loop of a socket", "input_plugin_process_rate_to_bare_loop", measure_process,
         measure_socket}};
    if (has_python()) {
        inputs.push_back({in_python, "bare loop of Python", "input_plugin_python_rate_to_bare_loop", measure_python,
                          measure_bare_python});
    } else {
        fmt::print(stderr, "input: {} is not there, so plug-ins in Python are NOT MEASURED\n",
                   readout::FrontEndSpec{}.python.native());
    }
    return inputs;
}

}  // namespace weir::app
