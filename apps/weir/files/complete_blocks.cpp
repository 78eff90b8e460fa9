// SPDX-License-Identifier: Apache-2.0
#include "files/complete_blocks.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace weir::app {

Result<> CompleteBlocks::add(catalogue::Catalogue& catalogue, std::optional<RunNumber> run) {
    // In this order: what a recorder gets in between has a row when the blocks are read.
    auto runs = WEIR_TRY(catalogue.runs(run));
    const auto blocks = WEIR_TRY(catalogue.block_progress(run));
    Known known;
    for (const auto& block : blocks)
        known.complete[{block.run, block.stream_type, block.stream_name, block.lumi_block}] =
            block.progress != catalogue::Progress::opened;
    std::ranges::copy_if(runs, std::back_inserter(known.open),
                         [](const catalogue::RunRow& row) { return row.state == catalogue::OpenState::opened; });
    catalogues_.push_back(std::move(known));
    return {};
}

bool CompleteBlocks::has(RunNumber run, const std::string& stream_type, const std::string& stream_name,
                         LumiBlock block) const {
    bool any = false;
    for (const auto& known : catalogues_) {
        if (const auto found = known.complete.find({run, stream_type, stream_name, block});
            found != known.complete.end()) {
            if (!found->second) return false;
            any = true;
            continue;
        }
        for (const auto& row : known.open) {
            if (row.run == run && (number(block) == 0 || row.blocks_closed_below <= number(block))) return false;
        }
    }
    return any;
}

}  // namespace weir::app
