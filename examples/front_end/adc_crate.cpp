// SPDX-License-Identifier: Apache-2.0
// A front-end in C++: a crate with one ADC module for each source of its readout, read out for each trigger of the
// supervisor. The module is simulated; put your own in its place.
//
//     g++ -std=c++23 -O2 -fPIC -shared adc_crate.cpp $(pkg-config --cflags weir-readout) -o adc_crate.so
//     [readout.ros-1]
//     source = "adc_crate.so"
//     sources = ["0x420000", "0x420001"]
//
// With ADC_CRATE_RECORD=FOLDER in the environment it keeps a record of its own there, to compare with what was
// recorded.
#include <cstdlib>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "weir/readout/front_end.hpp"

namespace {

class Module {
public:
    explicit Module(weir::SourceId source) : source_(source), noise_(number(source)) {}
    [[nodiscard]] weir::SourceId source() const { return source_; }
    /// 12 bits each, with a number of samples that varies.
    [[nodiscard]] std::vector<std::uint16_t> samples() {
        std::vector<std::uint16_t> read(16 + noise_() % 50);
        for (auto& sample : read) sample = static_cast<std::uint16_t>(noise_() & 0xfff);
        return read;
    }

private:
    weir::SourceId source_;
    std::mt19937 noise_;
};

class AdcCrate final : public weir::readout::FrontEnd {
public:
    void begin_run(weir::RunNumber run, std::span<const weir::SourceId> sources) override {
        for (const auto source : sources) modules_.emplace_back(source);
        if (const char* folder = std::getenv("ADC_CRATE_RECORD"))
            record_.open(std::string(folder) + "/adc_crate_cpp_" + std::to_string(number(run)));
    }

    void read_out(const weir::readout::Trigger& trigger, weir::readout::FragmentSink& out) override {
        for (auto& module : modules_) {
            const auto samples = module.samples();
            const auto bytes = std::as_bytes(std::span(samples));
            out.send({.source = module.source(), .payload = bytes});  // under the trigger's level-1 id
            if (record_.is_open()) note(trigger, module.source(), bytes);
        }
    }

    void end_run(weir::readout::FragmentSink&) override { record_.close(); }

private:
    /// A line: level-1 id, source, bytes in hex.
    void note(const weir::readout::Trigger& trigger, weir::SourceId source, weir::ConstData bytes) {
        constexpr char digits[] = "0123456789abcdef";
        record_ << number(trigger.level1_id) << ' ' << number(source) << ' ';
        for (const auto byte : bytes)
            record_ << digits[std::to_integer<unsigned>(byte) >> 4] << digits[std::to_integer<unsigned>(byte) & 15];
        record_ << '\n';
    }

    std::vector<Module> modules_;
    std::ofstream record_;
};

}  // namespace

WEIR_FRONT_END(AdcCrate)
