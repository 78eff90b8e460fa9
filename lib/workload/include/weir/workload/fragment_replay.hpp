// SPDX-License-Identifier: Apache-2.0
// The ROBs of a raw file, again and again with new level-1 ids: event k is the file's event (k-1) mod n. Otherwise they
// are bit for bit what was recorded. A source whose ROD counts ahead of its event stays ahead; one that does not count
// keeps its word.
#pragma once

#include <filesystem>
#include <map>
#include <memory>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"
#include "weir/event/rob_stamp.hpp"
#include "weir/workload/fragment_maker.hpp"

namespace weir::workload {

/// Which share of the sources of a file a readout serves: part `number` of `of`, neighbours together.
struct Part {
    std::uint32_t number = 1;
    std::uint32_t of = 1;
};
/// "2/6". Errc::usage.
[[nodiscard]] Result<Part> parse_part(std::string_view text);

struct FragmentReplayOptions {
    std::filesystem::path file{};
    Part part{};
    std::vector<SourceId> sources{};  // given: these of the file's, instead of a part
    event::RodRules rules{};          // the expected level-1 ids of the sources
    Bytes file_size_max{4ULL << 30};  // it is held in memory
};

class FragmentReplay final : public FragmentMaker {
public:
    /// Errors name the file: unreadable, no events, opaque ones, a damaged event, a source that is not in it, a part
    /// without any source.
    [[nodiscard]] static Result<std::unique_ptr<FragmentReplay>> open(const FragmentReplayOptions& options,
                                                                      FileSystem& system = real_file_system());

    [[nodiscard]] const std::vector<SourceId>& sources() const noexcept override { return sources_; }
    [[nodiscard]] std::span<const event::RobData> make(Level1Id event) override;
    void set_run(RunNumber) override {}  // the recorded bytes stay

    [[nodiscard]] event::Format format() const noexcept { return format_; }
    [[nodiscard]] RunNumber run() const noexcept { return run_; }  // that was recorded
    [[nodiscard]] std::size_t events() const noexcept { return events_.size(); }
    /// Recorded level-1 ids that the rules do not expect, by source: served as they are.
    [[nodiscard]] const std::map<SourceId, std::uint64_t>& mismatches() const noexcept { return mismatches_; }

private:
    struct RecordedRob {
        SourceId source{};
        std::size_t size = 0;
        event::RobStamp stamp;
    };
    struct Recorded {                  // one event
        std::vector<std::byte> bytes;  // of its ROBs, one after the other
        std::vector<RecordedRob> robs;
    };
    FragmentReplay() = default;
    [[nodiscard]] Result<Recorded> unpack(ConstData bytes, const event::RodRules& rules, std::vector<SourceId>& all);
    [[nodiscard]] Result<> choose(const FragmentReplayOptions& options, const std::vector<SourceId>& all);

    event::Format format_ = event::Format::opaque;
    RunNumber run_{};
    std::vector<SourceId> sources_;
    std::vector<Recorded> events_;
    std::vector<event::RobData> robs_;
    std::map<SourceId, std::uint64_t> mismatches_;
};

}  // namespace weir::workload
