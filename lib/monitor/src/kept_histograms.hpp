// SPDX-License-Identifier: Apache-2.0
// The histograms and counters of a monitor in a run, as its station keeps them: what its process has sent last, and
// what earlier processes of the run had filled when they ended. So a crash costs the fills of the last moment, and no
// more. Any thread.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/monitor/histogram.hpp"

namespace weir::monitor {

class KeptHistograms {
public:
    /// Nothing is kept of the run before.
    void begin(RunNumber run);
    /// In place of what the process has sent before under this name. Errc::limit: there are too many, or they are too
    /// large together.
    [[nodiscard]] Result<> take(Histogram histogram);
    void take(std::vector<Counter> counters);
    /// The process has ended: what it had filled stays, and the next one begins with nothing.
    void process_ended();

    struct Picture {
        RunNumber run{};
        std::vector<std::shared_ptr<const Histogram>> histograms{};  // by name; shared with those that show them
        std::vector<Counter> counters{};                             // by name
    };
    [[nodiscard]] Picture picture() const;
    /// nullptr: there is none of that name.
    [[nodiscard]] std::shared_ptr<const Histogram> find(const std::string& name) const;

private:
    struct Kept {
        std::shared_ptr<const Histogram> before{};  // of processes that have ended; nullptr: nothing
        std::shared_ptr<const Histogram> both{};
    };
    struct KeptCounter {
        double before = 0, sent = 0;
    };
    mutable std::mutex mutex_;
    RunNumber run_{};
    std::map<std::string, Kept> kept_;
    std::map<std::string, KeptCounter> counters_;
    std::size_t cells_ = 0;
};

}  // namespace weir::monitor
