// SPDX-License-Identifier: Apache-2.0
// A trigger plug-in in C++: a unit that makes a trigger of coincidences of two scintillators, read by `weir supervise`.
// The unit is simulated; put your own in its place.
//
//     g++ -std=c++23 -O2 -fPIC -shared scintillators.cpp $(pkg-config --cflags weir-selection) -o scintillators.so
//     [supervise.l2sv]
//     source = "plug-in:scintillators.so"
//
// With TRIGGER_RECORD=FOLDER in the environment it keeps a record of its own there, to compare with what was recorded.
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "weir/selection/trigger_plug_in.hpp"

namespace {

using namespace std::chrono;

/// Coincidences at random, 2000 a second, while it is not vetoed.
class Unit {
public:
    struct Coincidence {
        std::int64_t time_ns = 0;  // since 1970
        std::uint32_t type = 0;    // 1: a particle; 2: one in sixteen, by a pulser
        std::vector<std::uint32_t> pulse_heights{};
    };

    /// The next one that has happened; false: none.
    bool read(Coincidence& into) {
        const auto now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
        if (next_ns_ == 0 || vetoed_) next_ns_ = now + interval();
        vetoed_ = false;
        if (next_ns_ > now) return false;
        into.time_ns = next_ns_;
        into.type = random_() % 16 == 0 ? 2 : 1;
        into.pulse_heights.assign(
            {static_cast<std::uint32_t>(random_() & 0xfff), static_cast<std::uint32_t>(random_() & 0xfff)});
        next_ns_ += interval();
        return true;
    }
    void veto() { vetoed_ = true; }

private:
    std::int64_t interval() { return 1 + static_cast<std::int64_t>(exponential_(random_)); }

    std::mt19937 random_{5};
    std::exponential_distribution<double> exponential_{1.0 / 500'000};
    std::int64_t next_ns_ = 0;
    bool vetoed_ = false;
};

class Scintillators final : public weir::selection::TriggerPlugIn {
public:
    void begin_run(weir::RunNumber run, weir::Level1Id next) override {
        next_ = number(next);
        if (const char* folder = std::getenv("TRIGGER_RECORD"))
            record_.open(std::string(folder) + "/triggers_" + std::to_string(number(run)));
    }

    void poll(weir::selection::TriggerSink& out) override {
        if (out.busy()) return unit_.veto();
        Unit::Coincidence found;
        for (int i = 0; i < 10 && unit_.read(found); ++i) {
            out.send({.time_ns = found.time_ns,
                      .type = found.type,
                      .words = found.pulse_heights});  // under the next level-1 id
            if (record_.is_open())
                record_ << next_++ << ' ' << found.time_ns << ' ' << found.type << ' ' << found.pulse_heights[0] << ' '
                        << found.pulse_heights[1] << '\n';
        }
    }

    void end_run() override { record_.close(); }

private:
    Unit unit_;
    std::uint32_t next_ = 0;
    std::ofstream record_;
};

}  // namespace

WEIR_TRIGGER_PLUG_IN(Scintillators)
