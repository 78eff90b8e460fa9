// SPDX-License-Identifier: Apache-2.0
// What a recorder holds durably of each lane of its senders: said again in WELCOME after a reconnect,
// and written into the catalogue as high-water marks, which outlive the files.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "weir/catalogue/rows.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/wire/lane.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::recorder {

/// Any thread.
class DurableLanes {
public:
    /// A lane gets its number from the receiver. A number that is known stays as it is.
    void declare(std::uint32_t lane, const wire::LaneKey& key);
    void restore(std::uint32_t lane, const wire::LaneKey& key, const wire::SequenceSet& durable);

    void add(std::uint32_t lane, Sequence sequence);

    [[nodiscard]] datafile::LaneDeclared declaration(std::uint32_t lane) const;

    /// The marks of all lanes that changed since the last call.
    [[nodiscard]] std::vector<catalogue::LaneMark> take_changed_marks(const std::string& recorder);

private:
    struct Lane {
        wire::LaneKey key;
        wire::SequenceSet durable;
        bool changed = false;
    };
    mutable std::mutex mutex_;
    std::map<std::uint32_t, Lane> lanes_;
};

}  // namespace weir::recorder
