// SPDX-License-Identifier: Apache-2.0
// A monitor in C++: when in a spill events come, and how large their fragments are then.
//
//     g++ -std=c++23 -O2 -fPIC -shared spill_shape.cpp $(pkg-config --cflags weir-monitor) -o spill_shape.so
//     [monitor.spill]
//     monitor = "spill_shape.so"
#include "weir/monitor/monitor.hpp"

namespace {

using weir::monitor::Axis;

constexpr double spill_seconds = 16.8;  // from the beginning of one to that of the next

class SpillShape final : public weir::monitor::Monitor {
public:
    explicit SpillShape(weir::monitor::Book& book)
        : times_(book.histogram("times", "events in a spill;time in the spill [s];events", {168, 0, spill_seconds})),
          sizes_(book.histogram("sizes", "fragments in a spill;time in the spill [s];bytes of a fragment;fragments",
                                {42, 0, spill_seconds}, Axis::of_edges({0, 16, 64, 256, 1024, 4096, 16'384, 65'536}))),
          damaged_(book.counter("damaged fragments")) {}

    void see(const weir::monitor::Event& event) override {
        const auto time = std::fmod(event.seconds + 1e-9 * event.nanoseconds, spill_seconds);
        times_.fill(time);
        for (const auto& fragment : event.fragments) {
            if (fragment.status != 0) damaged_.add();
            sizes_.fill(time, static_cast<double>(fragment.data.size()));
        }
    }

private:
    weir::monitor::Histogram1D& times_;
    weir::monitor::Histogram2D& sizes_;
    weir::monitor::Counter& damaged_;
};

}  // namespace

WEIR_MONITOR(SpillShape)
