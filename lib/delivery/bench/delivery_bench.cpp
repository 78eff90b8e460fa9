// SPDX-License-Identifier: Apache-2.0
// A sender and a receiver over loopback, with a sink that releases each event at once and acknowledges every
// millisecond, as one that syncs a disk for many events does. Both sides and the
// payload checksum at both ends are in the figure. CPU seconds per GB are of the whole process (sender,
// receiver and the kernel's part of both).
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <vector>

#include "weir/delivery/receiver.hpp"
#include "weir/delivery/sender.hpp"

namespace {

using namespace weir;
using namespace weir::delivery;

class AcknowledgingSink final : public EventSink {
public:
    std::optional<Refusal> hello(SessionId, const wire::Hello&) override { return std::nullopt; }
    Taken take(IncomingEvent& event) override {
        const IncomingEvent taken = std::move(event);
        const std::scoped_lock lock(mutex_);
        answers_.push_back({taken.session, taken.meta.sequence});
        return Taken::yes;
    }
    void acknowledge_to(Receiver& receiver) {
        thread_ = std::jthread([this, &receiver](const std::stop_token& stop) {
            std::vector<Answer> answers;
            while (!stop.stop_requested()) {
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
                {
                    const std::scoped_lock lock(mutex_);
                    answers.swap(answers_);
                }
                receiver.acknowledge(answers);
                answers.clear();
            }
        });
    }
    void stop() { thread_ = {}; }

private:
    std::mutex mutex_;
    std::vector<Answer> answers_;
    std::jthread thread_;
};

double cpu_seconds() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void send_and_discard(benchmark::State& state) {
    const auto size = static_cast<std::size_t>(state.range(0));
    memory::BufferPool pool(Bytes{256U << 20});
    AcknowledgingSink sink;
    ReceiverOptions options;
    options.threads = 1;
    auto receiver = Receiver::open(options, pool, sink).value();
    receiver->start();
    sink.acknowledge_to(*receiver);
    SenderOptions to;
    to.host = "127.0.0.1:" + std::to_string(receiver->port());
    auto sender = Sender::open(to).value();

    const std::vector<std::byte> payload(size, std::byte{0x5a});
    const Piece piece{payload, nullptr};  // lives longer than the sender
    const EventDescription event{.global_id = GlobalEventId{1}, .tags = {{"physics", "Main", true, {}, {}}}};
    const auto per_round = std::max<std::size_t>(1, (16U << 20) / size);
    const auto cpu_before = cpu_seconds();
    std::uint64_t bytes = 0;
    for (auto _ : state) {
        for (std::size_t i = 0; i < per_round; ++i) {
            if (!sender->send(event, std::span(&piece, 1))) state.SkipWithError("not sent");
        }
        bytes += per_round * size;
    }
    if (!sender->flush(std::chrono::minutes(1)).value_or(false)) state.SkipWithError("not answered");
    if (receiver->stats().acknowledged * size != bytes) state.SkipWithError("events are missing");
    state.SetBytesProcessed(static_cast<std::int64_t>(bytes));
    state.counters["cpu_s_per_GB"] = (cpu_seconds() - cpu_before) / (1e-9 * static_cast<double>(bytes));
    state.counters["events/s"] = benchmark::Counter(static_cast<double>(bytes / size), benchmark::Counter::kIsRate);
    sender.reset();
    sink.stop();
    receiver.reset();
}

BENCHMARK(send_and_discard)->Arg(1'000'000)->Arg(16'000)->Arg(1'000)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
