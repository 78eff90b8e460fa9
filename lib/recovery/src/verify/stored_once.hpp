// SPDX-License-Identifier: Apache-2.0
// Whether each copy of an event is in the files of a recorder only once: by its session, its number there and the
// number of the copy, as in the indexes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>

#include "weir/datafile/stored_index.hpp"
#include "weir/wire/sequence_set.hpp"
#include "weir/wire/session.hpp"

namespace weir::recovery {

class StoredOnce {
public:
    /// Takes the events of one file. The first of them that another file, or this one, holds already; nothing: none.
    struct Twice {
        std::uint64_t event = 0;  // number in the file, from 1
        std::uint64_t offset = 0;
        std::uint64_t copies = 0;  // of this file that are elsewhere too
        std::string session;
        Sequence sequence{};
    };
    [[nodiscard]] std::optional<Twice> add(const std::string& recorder, const datafile::StoredIndex& index);

private:
    // Intervals: a session that runs in order costs one, whatever its length.
    std::map<std::tuple<std::string, wire::SessionKey, std::uint16_t>, wire::SequenceSet> seen_;
};

}  // namespace weir::recovery
