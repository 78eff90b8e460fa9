// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in with every fault that authors make: the run number selects one. faulty_triggers.py is the same in
// Python.
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "plug_in_faults.hpp"
#include "weir/selection/trigger_plug_in.hpp"

namespace {

using namespace weir;
using namespace weir::plugin;
using namespace std::chrono_literals;

class Faulty final : public selection::TriggerPlugIn {
public:
    void begin_run(RunNumber run, Level1Id next) override {
        fault_ = static_cast<Fault>(number(run) % 100);
        next_ = number(next);
        from_the_first_ = next_ == 1;
        if (fault_ == begin_throws) throw std::runtime_error("the unit is off");
    }
    void poll(selection::TriggerSink& out) override {
        ++polled_;
        if (fault_ == poll_throws && polled_ % 2 == 1) throw std::runtime_error("the bus does not answer");
        if (fault_ == looks_for_busy) {
            if (out.busy()) ++busy_;
            else send(out);
            return;
        }
        if (fault_ == rests_briefly) return rest(out);
        while (fault_ == sends_for_ever) send(out);  // whatever the answer
        for (int i = 0; i < 10; ++i) {
            if (next_ == 50 && from_the_first_) fail(out);
            if (next_ == 11 && fault_ == wrong_ids) {
                for (int twice = 0; twice < 2; ++twice) out.send({.level1_id = Level1Id{14}, .time_ns = 14});
                next_ = 15;
            }
            send(out);
        }
    }
    void end_run() override {
        if (fault_ == end_throws) throw std::runtime_error("the unit is off");
    }

private:
    void send(selection::TriggerSink& out) {
        const std::vector<std::uint32_t> words(next_ % 5, next_);
        out.send({.time_ns = 1'700'000'000'000'000'000 + 1000 * std::int64_t{next_},
                  .type = fault_ == looks_for_busy ? busy_ : next_ % 7,
                  .bunch_crossing_id = next_ % 3564,
                  .words = words});
        ++next_;
    }
    /// Once it was called again soon, oftener than by messages that come.
    void rest(selection::TriggerSink& out) {
        soon_ += std::chrono::steady_clock::now() - returned_ < 1ms ? 1 : 0;
        if (soon_ == 20) send(out);
        returned_ = std::chrono::steady_clock::now();
    }
    void fail(selection::TriggerSink& out) {
        if (fault_ == hangs) hang();
        if (fault_ == crashes) std::abort();
        if (fault_ == exits) std::_Exit(3);
        if (fault_ == sends_garbage) [[maybe_unused]]
            const auto written = ::write(3, "this is no message at all", 25);
        if (fault_ == wrong_id_then_crashes) {
            std::this_thread::sleep_for(2ms);  // so that it goes out at once
            out.send({.level1_id = Level1Id{10}});
            std::abort();
        }
        if (fault_ == too_many_words) {
            from_the_first_ = false;
            const std::vector<std::uint32_t> words(300);
            out.send({.words = words});
        }
    }

    Fault fault_{};
    std::uint32_t next_ = 0, busy_ = 0;
    int polled_ = 0, soon_ = 0;
    std::chrono::steady_clock::time_point returned_{};
    bool from_the_first_ = false;
};

}  // namespace

WEIR_TRIGGER_PLUG_IN(Faulty)
