// SPDX-License-Identifier: Apache-2.0
// weir-trigger-worker FILE.so: runs a C++ trigger plug-in. Started by a supervisor with a socket (3);
// src/triggers/plug_in/trigger_messages.hpp describes the messages.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "triggers/plug_in/trigger_library.hpp"
#include "triggers/plug_in/trigger_messages.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_end.hpp"
#include "weir/wire/input_block.hpp"

namespace {

using namespace std::chrono_literals;
using namespace weir;
using namespace weir::selection;

constexpr auto linger = 1ms;        // how long a trigger waits for others at most, if it is not the first for so long
constexpr auto look_again = 100us;  // for messages of the supervisor, between calls that had something to do
constexpr auto alive_after = 100ms;

SteadyTime now() { return system_clock().now(); }

class Worker;

class Sink final : public TriggerSink {
public:
    explicit Sink(Worker& worker) : worker_(worker) {}
    bool send(const PlugInTrigger& trigger) override;
    bool busy() override;

private:
    Worker& worker_;
};

class Worker {
public:
    explicit Worker(std::unique_ptr<TriggerPlugIn> plug_in) : plug_in_(std::move(plug_in)), sink_(*this) {}

    int serve() {
        answer_nothing(FromTriggerPlugIn::ready);
        SteadyTime looked{};
        std::chrono::milliseconds rest = alive_after;
        while (true) {
            if (const auto time = now(); rest > 0ms || time - looked >= look_again) {
                looked = time;
                if (look(rest)) {
                    rest = 0ms;
                    continue;
                }
            }
            rest = running_ ? poll() : std::chrono::milliseconds(alive_after);
            flush();
            say_alive();
            if (ending_) end();
        }
    }

    bool send(const PlugInTrigger& trigger) {
        if (trigger.words.size() > wire::input_trigger_words_max)
            throw std::length_error("a trigger has more than 256 words");
        record_.level1_id = trigger.level1_id.value_or(next_);
        record_.time_ns = trigger.time_ns ? *trigger.time_ns : system_clock().wall().time_since_epoch() / 1ns;
        record_.type = trigger.type;
        record_.bunch_crossing_id = trigger.bunch_crossing_id;
        record_.words.assign(trigger.words.begin(), trigger.words.end());
        while (!ending_ && sent_ >= credit_) {
            flush();
            static_cast<void>(look(std::chrono::milliseconds(alive_after)));
            say_alive();
        }
        next_ = Level1Id{number(record_.level1_id) + 1};
        ++sent_;
        if (records_.empty())
            begin_ = plugin::begin_message(static_cast<std::uint32_t>(FromTriggerPlugIn::triggers), records_);
        wire::encode(record_, records_);
        if (++records_in_ >= wire::block_records_max || records_.size() >= wire::block_size_usual ||
            now() - last_ >= linger)
            flush();
        some_ = true;
        return !ending_;
    }
    bool busy() {
        while (look(0ms)) {
        }
        return ending_ || sent_ >= credit_;
    }

private:
    /// Takes a message. False: none came for so long.
    bool look(std::chrono::milliseconds wait) {
        std::uint32_t kind = 0;
        switch (plugin::receive_message(kind, body_, wait)) {
            case plugin::Received::ended: std::_Exit(0);
            case plugin::Received::nothing: return false;
            case plugin::Received::message: break;
        }
        switch (static_cast<ToTriggerPlugIn>(kind)) {
            case ToTriggerPlugIn::begin_run: {
                const auto begin = read_begin_triggers(body_);
                if (!begin) std::_Exit(1);
                poll_interval_ = begin->poll_interval;
                next_ = begin->next;
                running_ = guarded(TriggerCall::begin_run, [&] { plug_in_->begin_run(begin->run, begin->next); });
                if (running_) answer_nothing(FromTriggerPlugIn::begun);
                return true;
            }
            case ToTriggerPlugIn::credit: {
                const auto credit = read_credit(body_);
                if (!credit) std::_Exit(1);
                credit_ = *credit;
                return true;
            }
            case ToTriggerPlugIn::end_run: ending_ = true; return true;
        }
        std::_Exit(1);
    }

    void end() {
        if (running_) guarded(TriggerCall::end_run, [&] { plug_in_->end_run(); });
        running_ = ending_ = false;
        answer_nothing(FromTriggerPlugIn::ended);
    }

    template <class Work>
    bool guarded(TriggerCall call, Work&& work) {
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
        write_failed({.call = call, .text = thrown}, out_);
        answer(out_);
        return false;
    }

    /// How long to rest before the next.
    std::chrono::milliseconds poll() {
        if (ending_) return 0ms;
        if (now() < poll_again_) return 20ms;
        some_ = false;
        if (!guarded(TriggerCall::poll, [&] { plug_in_->poll(sink_); })) {
            pause_.grow();
            poll_again_ = now() + pause_.length();
            return 20ms;
        }
        pause_.reset();
        return some_ ? 0ms : std::chrono::ceil<std::chrono::milliseconds>(poll_interval_);
    }

    void flush() {
        if (records_.empty()) return;
        plugin::end_message(begin_, records_);
        write(records_);
        records_.clear();
        records_in_ = 0;
    }
    void say_alive() {
        if (now() - last_ >= alive_after) answer_nothing(FromTriggerPlugIn::alive);
    }
    /// Behind all triggers that were sent before.
    void answer(ConstData message) {
        flush();
        write(message);
    }
    void answer_nothing(FromTriggerPlugIn kind) {
        out_.clear();
        write_nothing(kind, out_);
        answer(out_);
    }
    void write(ConstData bytes) {
        if (!plugin::send_to_station(bytes)) std::_Exit(0);  // the supervisor has ended
        last_ = now();
    }

    const std::unique_ptr<TriggerPlugIn> plug_in_;
    Sink sink_;
    std::chrono::microseconds poll_interval_{1000};
    Level1Id next_{};
    std::uint64_t sent_ = 0, credit_ = 0;
    bool running_ = false, ending_ = false;
    bool some_ = false;  // were sent by this call
    wire::InputTrigger record_;
    std::vector<std::byte> records_, out_, body_;
    std::size_t begin_ = 0, records_in_ = 0;
    SteadyTime last_{};
    plugin::RestartPause pause_{100ms, 2000ms, system_clock()};
    SteadyTime poll_again_{};
};

bool Sink::send(const PlugInTrigger& trigger) { return worker_.send(trigger); }
bool Sink::busy() { return worker_.busy(); }

int refuse(const std::string& why) {
    std::vector<std::byte> out;
    write_failed({.call = TriggerCall::load, .text = why}, out);
    static_cast<void>(plugin::send_to_station(out));
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    plugin::die_with_the_station();
    if (argc != 2) {
        std::fputs("weir-trigger-worker is started by weir supervise\n", stderr);
        return 2;
    }
    const auto face = load_trigger_plug_in(argv[1]);
    if (!face) return refuse(face.error().context);
    std::unique_ptr<TriggerPlugIn> plug_in;
    try {
        plug_in.reset(face->make());
    } catch (const std::exception& error) {
        return refuse(error.what());
    } catch (...) {
        return refuse("its constructor threw something that is no std::exception");
    }
    return Worker(std::move(plug_in)).serve();
}
