// SPDX-License-Identifier: Apache-2.0
// What every candidate writes and reads: the `Thing` of the talk, and an event as a detector gives it. Each program of
// jobs compiles this for itself and no two are linked together: equal type names in one program would be merged by
// the linker, and one library's code would be measured under the name of another.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace bench_data {

struct Thing {
    int a;
};
inline bool operator==(const Thing& one, const Thing& other) { return one.a == other.a; }
using Things = std::vector<Thing>;

/// The member-wise form is for vectors that are members.
struct Holder {
    std::vector<Thing> things;
};
inline bool operator==(const Holder& one, const Holder& other) { return one.things == other.things; }

struct Hit {
    unsigned int channel;
    short adc;
    float time;
};
inline bool operator==(const Hit& one, const Hit& other) {
    return one.channel == other.channel && one.adc == other.adc && one.time == other.time;
}

struct Track {
    double pt, eta, phi;
    int charge;
    std::vector<int> hits;
};
inline bool operator==(const Track& one, const Track& other) {
    return one.pt == other.pt && one.eta == other.eta && one.phi == other.phi && one.charge == other.charge &&
           one.hits == other.hits;
}

struct Event {
    unsigned int run;
    unsigned long long number;
    double weight;
    std::string stream;
    std::vector<std::string> triggers;            // 8
    std::vector<Hit> hits;                        // 200
    std::vector<Track> tracks;                    // 20, of 12 hits each
    std::vector<std::vector<float>> calorimeter;  // 16 of 32
};
inline bool operator==(const Event& one, const Event& other) {
    return one.run == other.run && one.number == other.number && one.weight == other.weight &&
           one.stream == other.stream && one.triggers == other.triggers && one.hits == other.hits &&
           one.tracks == other.tracks && one.calorimeter == other.calorimeter;
}

inline Things things(int count) {
    Things all;
    std::uint32_t state = 12345;
    for (int i = 0; i < count; ++i) all.push_back({static_cast<int>(state = state * 1664525 + 1013904223)});
    return all;
}

inline Event event() {
    std::uint32_t state = 54321;
    const auto next = [&state](std::uint32_t below) { return ((state = state * 1664525 + 1013904223) >> 8) % below; };
    const auto small = [&next] { return static_cast<float>(next(100000)) / 128; };  // exact in every format
    Event event{};
    event.run = 358031;
    event.number = 2123456789;
    event.weight = 0.75;
    event.stream = "physics_Main";
    for (int i = 0; i < 8; ++i)
        event.triggers.push_back("HLT_mu" + std::to_string(next(60)) + "_ivarmedium_L1MU" + std::to_string(i));
    for (int i = 0; i < 200; ++i) event.hits.push_back({next(1U << 24), static_cast<short>(next(4096)), small()});
    for (int i = 0; i < 20; ++i) {
        Track track{small(), small(), small(), next(2) == 0 ? -1 : 1, {}};
        for (int hit = 0; hit < 12; ++hit) track.hits.push_back(static_cast<int>(next(200)));
        event.tracks.push_back(track);
    }
    for (int i = 0; i < 16; ++i) {
        event.calorimeter.emplace_back();
        for (int cell = 0; cell < 32; ++cell) event.calorimeter.back().push_back(small());
    }
    return event;
}

}  // namespace bench_data
