// SPDX-License-Identifier: Apache-2.0
// Watches the sources of a run by their counts: which one falls silent while events go on, which one misses more than
// it may, and which one is to be masked by rule. Counts and time come in, findings go out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/control/run_limits.hpp"
#include "weir/control/run_result.hpp"

namespace weir::control {

struct SourceLimits {
    IncompleteLimit incomplete_max{};
    std::chrono::milliseconds silent_after{10'000};
    MaskRule mask_after{};
};

struct SourceFinding {
    enum class Kind {
        silent,   // none was taken for silent_after, while others arrive or events were built without it
        again,    // it was silent, and sends again
        missing,  // it is missing in more events than incomplete_max; once in a run
        mask,     // mask_after has passed; once, until it sends again
    } kind = Kind::silent;
    SourceId source{};
    std::string what{};  // "no fragment for 10s, and 82 events were built without it"
};

class SourceWatch {
public:
    explicit SourceWatch(const SourceLimits& limits) : limits_(limits) {}

    void begin_run() { seen_.clear(); }
    /// Fills `silent` of each source. While `active` is false (a pause, a start, a stop) no time counts as silence.
    [[nodiscard]] std::vector<SourceFinding> look(SteadyTime now, bool active, std::vector<RunSource>& sources);

private:
    struct Seen {
        service::SourceStatus taken{};  // the counts of when a fragment was last taken
        SteadyTime changed{};
        bool silent = false, misses = false, to_mask = false;
    };

    SourceLimits limits_;
    std::map<SourceId, Seen> seen_;
};

}  // namespace weir::control
