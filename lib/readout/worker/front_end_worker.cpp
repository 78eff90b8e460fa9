// SPDX-License-Identifier: Apache-2.0
// weir-front-end-worker FILE.so: runs a C++ front-end in a process of its own, for `runs_in = "process"`. Started by a
// readout with a socket (3); src/front_end/front_end_messages.hpp describes the messages.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "front_end/front_end_messages.hpp"
#include "front_end/front_end_plugin.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_end.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;
using namespace weir::readout;

constexpr auto linger = 1ms;        // how long fragments wait for others at most
constexpr auto look_again = 100us;  // for messages of the readout, between calls that had something to do
constexpr auto alive_after = 100ms;

SteadyTime now() { return system_clock().now(); }

class Batches final : public FragmentSink {
public:
    bool send(const wire::InputFragment& fragment) override {
        if (fragment.payload.size() > front_end_payload_max) throw std::length_error("a payload is larger than 64 MiB");
        if (fragment.status_words.size() > wire::input_status_words_max)
            throw std::length_error("a fragment has more than 64 status words");
        if (records_.size() + fragment.payload.size() > front_end_block || ++records_in_ > wire::block_records_max)
            flush();
        auto numbered = fragment;
        if (!numbered.level1_id) numbered.level1_id = trigger;
        if (records_.empty()) {
            oldest_ = now();
            begin_ = plugin::begin_message(static_cast<std::uint32_t>(FromFrontEnd::fragments), records_);
        }
        wire::encode(numbered, records_);
        flush_old();
        sent = true;
        return true;
    }
    void flush() {
        if (records_.empty()) return;
        plugin::end_message(begin_, records_);
        write(records_);
        records_.clear();
        records_in_ = 1;
    }
    void flush_old() {
        if (!records_.empty() && now() - oldest_ >= linger) flush();
    }
    /// Behind all fragments that were sent before.
    void answer(ConstData message) {
        flush();
        write(message);
    }
    [[nodiscard]] bool silent_for(std::chrono::nanoseconds time) const { return now() - last_ >= time; }

    std::optional<Level1Id> trigger;  // that is read out now
    bool sent = false;

private:
    void write(ConstData bytes) {
        if (!plugin::send_to_station(bytes)) std::_Exit(0);  // the readout has ended
        last_ = now();
    }
    std::vector<std::byte> records_;
    std::size_t begin_ = 0, records_in_ = 0;
    SteadyTime oldest_{}, last_{};
};

class Worker {
public:
    Worker(const FrontEndFace& face, std::unique_ptr<FrontEnd> front_end)
        : face_(face), front_end_(std::move(front_end)) {}

    int serve() {
        answer_number(FromFrontEnd::ready, (face_.polls ? 1U : 0U) | (face_.reads_out ? 2U : 0U));
        std::uint32_t kind = 0;
        std::vector<std::byte> body;
        SteadyTime looked{};
        std::chrono::milliseconds rest = alive_after;
        while (true) {
            if (const auto time = now(); rest > 0ms || time - looked >= look_again) {
                looked = time;
                const auto received = plugin::receive_message(kind, body, rest);
                if (received == plugin::Received::ended) return 0;
                rest = 0ms;
                if (received == plugin::Received::message) {
                    handle(kind, body);
                    continue;
                }
            }
            rest = running_ && face_.polls ? poll() : std::chrono::milliseconds(alive_after);
            if (rest > 0ms) {
                batches_.flush();
            } else {
                batches_.flush_old();
            }
            if (batches_.silent_for(alive_after)) answer_nothing(FromFrontEnd::alive);
        }
    }

private:
    template <class Work>
    bool guarded(Call call, Level1Id trigger, Work&& work) {
        std::string thrown;
        try {
            work();
            return true;
        } catch (const std::exception& error) {
            thrown = error.what();
        } catch (...) {
            thrown = "something that is no std::exception";
        }
        out_.clear();
        write_failed({.call = call, .trigger = trigger, .text = thrown}, out_);
        batches_.answer(out_);
        return false;
    }

    /// How long to rest before the next.
    std::chrono::milliseconds poll() {
        if (now() < poll_again_) return 20ms;
        batches_.sent = false;
        if (!guarded(Call::poll, {}, [&] { front_end_->poll(batches_); })) {
            pause_.grow();
            poll_again_ = now() + pause_.length();
            return 20ms;
        }
        pause_.reset();
        return batches_.sent ? 0ms : std::chrono::ceil<std::chrono::milliseconds>(poll_interval_);
    }

    void handle(std::uint32_t kind, ConstData body) {
        switch (static_cast<ToFrontEnd>(kind)) {
            case ToFrontEnd::begin_run: {
                const auto begin = read_begin_run(body);
                if (!begin) std::_Exit(1);
                poll_interval_ = begin->poll_interval;
                running_ = guarded(Call::begin_run, {}, [&] { front_end_->begin_run(begin->run, begin->sources); });
                if (running_) answer_nothing(FromFrontEnd::begun);
                return;
            }
            case ToFrontEnd::triggers: {
                if (!read_triggers(body, triggers_)) std::_Exit(1);
                for (const auto& trigger : triggers_) {
                    batches_.trigger = trigger.level1_id;
                    guarded(Call::read_out, trigger.level1_id, [&] { front_end_->read_out(trigger, batches_); });
                    batches_.trigger.reset();
                    ++done_;
                    if (batches_.silent_for(linger)) answer_done();
                }
                answer_done();
                return;
            }
            case ToFrontEnd::end_run: {
                guarded(Call::end_run, {}, [&] { front_end_->end_run(batches_); });
                answer_nothing(FromFrontEnd::ended);
                running_ = false;
                return;
            }
        }
        std::_Exit(1);
    }

    void answer_done() {
        if (done_ > 0) answer_number(FromFrontEnd::done, std::exchange(done_, 0));
    }
    void answer_number(FromFrontEnd kind, std::uint32_t number) {
        out_.clear();
        write_number(kind, number, out_);
        batches_.answer(out_);
    }
    void answer_nothing(FromFrontEnd kind) {
        out_.clear();
        plugin::write_message(static_cast<std::uint32_t>(kind), {}, out_);
        batches_.answer(out_);
    }

    const FrontEndFace face_;
    const std::unique_ptr<FrontEnd> front_end_;
    std::chrono::microseconds poll_interval_{1000};
    Batches batches_;
    std::vector<std::byte> out_;
    std::vector<Trigger> triggers_;
    std::uint32_t done_ = 0;  // triggers that were read out, and the readout does not know of
    plugin::RestartPause pause_{100ms, 2000ms, system_clock()};
    SteadyTime poll_again_{};
    bool running_ = false;
};

int refuse(const std::string& why) {
    std::vector<std::byte> out;
    write_failed({.call = Call::load, .text = why}, out);
    static_cast<void>(plugin::send_to_station(out));
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    plugin::die_with_the_station();
    if (argc != 2) {
        std::fputs("weir-front-end-worker is started by weir readout\n", stderr);
        return 2;
    }
    const auto face = load_front_end(argv[1]);
    if (!face) return refuse(face.error().context);
    std::unique_ptr<FrontEnd> front_end;
    try {
        front_end.reset(face->make());
    } catch (const std::exception& error) {
        return refuse(error.what());
    }
    return Worker(*face, std::move(front_end)).serve();
}
