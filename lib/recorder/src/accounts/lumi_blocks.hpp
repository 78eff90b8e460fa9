// SPDX-License-Identifier: Apache-2.0
// Which lumi blocks of a run are over at this recorder. A block is over a grace time after a newer one began and after
// its own last event, whichever stream these came in; what is left ends with the run. When no file of an over block is
// open, its row in the catalogue is closed: its readers may begin.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/catalogue/rows.hpp"

namespace weir::recorder {

/// All calls from any thread.
class LumiBlocks {
public:
    explicit LumiBlocks(std::chrono::nanoseconds grace) : grace_(grace) {}

    /// An event of that block came.
    void saw(LumiBlock block, SteadyTime now);
    /// Whether a block whose last event came at `last_event` is over.
    [[nodiscard]] bool over(LumiBlock block, SteadyTime last_event, SteadyTime now);

    /// The catalogue has opened, has closed a file. Files of streams without lumi blocks do not matter here.
    void file_opened(const StreamTag& stream, LumiBlock block, SteadyTime now);
    void file_closed(const std::string& stream_type, const std::string& stream_name, LumiBlock block, SteadyTime now);

    /// A block that the catalogue has as OPENED from before a restart, with as many files open.
    void restore(const catalogue::BlocksClosed::Block& block, std::uint64_t files_open, SteadyTime now);

    /// What is to be closed in the catalogue now; nothing: nothing new. The caller sets run, recorder and time.
    [[nodiscard]] std::optional<catalogue::BlocksClosed> take_closed(SteadyTime now);
    /// It could not be written to the catalogue: the next take_closed() returns it again.
    void not_written(const catalogue::BlocksClosed& closed);

private:
    static constexpr std::size_t steps_max = 4096;
    using Key = std::tuple<LumiBlock, std::string, std::string>;  // by block first
    struct Row {
        std::uint64_t files_open = 0;
        SteadyTime changed{};  // when a file of it was opened or closed last
    };
    struct Step {
        LumiBlock newest{};
        SteadyTime since{};
    };

    /// Every block below is over as far as newer ones are concerned.
    [[nodiscard]] std::uint64_t below(SteadyTime now);

    const std::chrono::nanoseconds grace_;
    std::atomic<std::uint64_t> above_newest_{0};  // a hint for saw(), which is on the data path
    std::mutex mutex_;
    std::deque<Step> steps_;           // rising; those younger than the grace time, and the newest
    std::uint64_t settled_ = 0;        // blocks below were followed by a newer one a grace time ago
    std::uint64_t written_below_ = 0;  // to the catalogue
    std::map<Key, Row> rows_;          // OPENED in the catalogue
};

}  // namespace weir::recorder
