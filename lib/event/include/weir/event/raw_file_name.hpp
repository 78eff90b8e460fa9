// SPDX-License-Identifier: Apache-2.0
// The name of a raw file identifies its events: project, run, stream, lumi block, recorder and
// place in its sequence. It ends in .writing while the file is open, in .data once it is closed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::event {

enum class FileState : std::uint8_t { writing, data };

struct RawFileName {
    std::string project = "data_test";
    RunNumber run{};
    std::string stream_type{};
    std::string stream_name{};
    std::string step = "daq";  // daq at the recorder, merge after the Tier-0
    LumiBlock lumi_block{};    // 0 when the stream does not follow lumi blocks
    std::string application{};
    std::uint32_t sequence = 1;

    bool operator==(const RawFileName&) const = default;

    /// "data18_13TeV.00357750.physics_Main.daq.RAW._lb0083._SFO-1": the same for the files of a sequence.
    [[nodiscard]] std::string core() const;
    /// core(), then "._0001.data" or "._0001.writing".
    [[nodiscard]] std::string file(FileState state) const;
    /// Nothing, or (Errc::usage) which part cannot stand in a file name.
    [[nodiscard]] Result<> check() const;
};

struct ParsedRawFileName {
    RawFileName name{};
    std::string rest{};  // the part behind the sequence number: ".data", ".writing", "-200ev.data", ".1", ""
};

/// Reads a name without its folder. Errc::corrupt names the part that is not as expected.
[[nodiscard]] Result<ParsedRawFileName> parse_raw_file_name(std::string_view name);

/// How much the sequence number is raised when a file of that name is there already.
inline constexpr std::uint32_t sequence_step_when_taken = 100;

/// True for a text of 1 to 64 letters, digits, '-' and '_': a project or an application.
[[nodiscard]] bool valid_name_part(std::string_view text) noexcept;

}  // namespace weir::event
