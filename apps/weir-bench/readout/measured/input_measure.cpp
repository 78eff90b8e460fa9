// SPDX-License-Identifier: Apache-2.0
#include "readout/measured/input_measure.hpp"

#include <algorithm>
#include <thread>

#include "weir/base/system_clock.hpp"

namespace weir::app {

std::optional<SteadyTime> Clearer::step(SteadyTime now) {
    const auto here = newest_();
    while (here > cleared_) {
        clear_.events.clear();
        while (cleared_ < here && clear_.events.size() < wire::clear_events_max)
            clear_.events.push_back(Level1Id{++cleared_});
        clear_.oldest = Level1Id{cleared_ + 1};
        bytes_.clear();
        wire::encode(clear_, bytes_);
        if (messages_.send_reliably(readout_, wire::DataflowType::clear, ConstData(bytes_))) continue;
        cleared_ -= static_cast<std::uint32_t>(clear_.events.size());
        break;
    }
    return now + interval_;
}

InputFigures measure_between(std::chrono::milliseconds time, const std::function<double()>& fragments,
                             const std::function<double()>& processor) {
    std::this_thread::sleep_for(time / 10);  // the first fragments meet cold buffers
    const SystemClock clock;
    const auto began = clock.now();
    const double before = fragments(), processor_before = processor();
    // On a machine with other work nothing at all may come in a short time.
    for (int looks = 0; looks == 0 || (looks < 100 && fragments() <= before); ++looks)
        std::this_thread::sleep_for(time);
    const double count = fragments() - before, used = processor() - processor_before;
    const auto seconds = std::chrono::duration<double>(clock.now() - began).count();
    return {count / seconds, used / std::max(count, 1.0)};
}

}  // namespace weir::app
