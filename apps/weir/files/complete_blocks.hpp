// SPDX-License-Identifier: Apache-2.0
// Which lumi blocks of streams are complete when the recorders of a run have catalogues of their own: each catalogue
// knows only its recorders, so all of them are asked. A recorder that has had nothing of a block has no row of it; its
// row of the run has how far it is.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "weir/catalogue/catalogue.hpp"

namespace weir::app {

class CompleteBlocks {
public:
    /// Asks one more catalogue, about one run or all. Files are to be listed after this: a block that is complete here
    /// then has all of its files.
    [[nodiscard]] Result<> add(catalogue::Catalogue& catalogue, std::optional<RunNumber> run);

    /// The block is closed at every recorder in the catalogues that were asked.
    [[nodiscard]] bool has(RunNumber run, const std::string& stream_type, const std::string& stream_name,
                           LumiBlock block) const;

private:
    using Key = std::tuple<RunNumber, std::string, std::string, LumiBlock>;
    struct Known {
        std::map<Key, bool> complete;         // blocks of which the catalogue has a row
        std::vector<catalogue::RunRow> open;  // runs that a recorder of it may still get events of
    };
    std::vector<Known> catalogues_;
};

}  // namespace weir::app
