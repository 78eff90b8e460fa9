// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/plug_in_worker.hpp"

#include <sys/mman.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "weir/plugin/worker_end.hpp"

namespace weir::plugin {
namespace {

using namespace std::chrono_literals;

constexpr auto look_again = 100us;  // for messages of the station, between calls that had something to do

SteadyTime now() { return system_clock().now(); }

/// As the station has made it: before begin_run.
std::uint32_t* map_call() {
    void* const at = ::mmap(nullptr, call_memory, PROT_READ | PROT_WRITE, MAP_SHARED, worker_memory, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::uint32_t*>(at);
}

}  // namespace

void PlugInWorker::serve() {
    out_.clear();
    write_number(FromPlugIn::ready, has_, out_);
    answer(out_);
    SteadyTime looked{};
    std::chrono::nanoseconds rest = alive_after;
    while (true) {
        if (const auto time = now(); rest > 0ns || time - looked >= look_again) {
            looked = time;
            const bool came = look(rest);
            rest = 0ns;
            if (came) continue;
        }
        rest = running_ && !ending_ && (has_ & has_poll) != 0 ? poll_once() : alive_after;
        if (rest > 0ns || silent_for(linger)) flush();
        say_alive();
        if (ending_) end();
    }
}

bool PlugInWorker::look(std::chrono::nanoseconds wait) {
    std::uint32_t kind = 0;
    switch (receive_message(kind, body_, wait)) {
        case Received::ended: std::_Exit(0);
        case Received::nothing: return false;
        case Received::message: break;
    }
    if (kind == static_cast<std::uint32_t>(ToPlugIn::begin_run)) {
        const auto begin = read_begin_run(body_);
        if (!begin) std::_Exit(1);
        poll_interval_ = begin->poll_interval;
        if (call_ == nullptr) call_ = map_call();
        running_ = guarded(Call::begin_run, {}, [&] { begin_run(*begin); });
        if (running_) answer_nothing(FromPlugIn::begun);
    } else if (kind == static_cast<std::uint32_t>(ToPlugIn::end_run)) {
        ending_ = true;
    } else if (!take(kind, body_)) {
        std::_Exit(1);
    }
    return true;
}

/// How long to rest before the next.
std::chrono::nanoseconds PlugInWorker::poll_once() {
    if (now() < poll_again_) return 20ms;
    some_ = false;
    if (!guarded(Call::poll, {}, [&] { poll(); })) {
        pause_.grow();
        poll_again_ = now() + pause_.length();
        return 20ms;
    }
    pause_.reset();
    return some_ ? 0ns : std::chrono::nanoseconds(poll_interval_);
}

void PlugInWorker::end() {
    if (running_) guarded(Call::end_run, {}, [&] { end_run(); });
    running_ = ending_ = false;
    answer_nothing(FromPlugIn::ended);
}

std::vector<std::byte>& PlugInWorker::place_for(std::size_t size) {
    if (records_.size() + size > block_.bytes) flush();
    if (records_.empty()) begin_ = begin_message(static_cast<std::uint32_t>(FromPlugIn::records), records_);
    return records_;
}

void PlugInWorker::sent_record() {
    some_ = true;
    if (++records_in_ >= block_.records || silent_for(linger)) flush();
}

void PlugInWorker::flush() {
    if (records_.empty()) return;
    end_message(begin_, records_);
    write(records_);
    records_.clear();
    records_in_ = 0;
}

void PlugInWorker::answer(ConstData message) {
    flush();
    write(message);
}

void PlugInWorker::say_alive() {
    if (silent_for(alive_after)) answer_nothing(FromPlugIn::alive);
}

void PlugInWorker::answer_nothing(FromPlugIn kind) {
    out_.clear();
    write_nothing(kind, out_);
    answer(out_);
}

void PlugInWorker::answer_failed(const Failed& failed) {
    out_.clear();
    write_failed(failed, out_);
    answer(out_);
}

void PlugInWorker::write(ConstData bytes) {
    if (!send_to_station(bytes)) std::_Exit(0);  // the station has ended
    last_ = now();
}

/// Looked at by the station when nothing comes: nothing else is ordered by it.
void PlugInWorker::note(Call call) noexcept {
    if (call_ != nullptr) std::atomic_ref(*call_).store(static_cast<std::uint32_t>(call), std::memory_order_relaxed);
}

int run_worker(int argc, char** argv, const char* usage, const MakeWorker& make) {
    die_with_the_station();
    if (argc != 2) {
        std::fprintf(stderr, "%s\n", usage);
        return 2;
    }
    Result<std::unique_ptr<PlugInWorker>> worker;
    const auto thrown = thrown_by([&] { worker = make(argv[1]); });
    if (!thrown && worker) (*worker)->serve();
    std::vector<std::byte> out;
    write_failed({.call = Call::load, .text = thrown ? *thrown : worker.error().context}, out);
    static_cast<void>(send_to_station(out));
    return 1;
}

}  // namespace weir::plugin
