// SPDX-License-Identifier: Apache-2.0
#include "weir/event/status_names.hpp"

#include <span>

#include "weir/event/markers.hpp"

namespace weir::event {
namespace {

struct StatusBit {
    std::uint32_t bit;
    std::string_view name;
};

constexpr StatusBit of_all[] = {
    {status::bunch_crossing_id, "bunch-crossing id check failed"},
    {status::level1_id, "level-1 id check failed"},
    {status::timeout, "timeout"},
    {status::data_corruption, "data corruption"},
    {status::overflow, "overflow"},
    {status::dummy_fragment, "dummy fragment"},
};
constexpr StatusBit of_dummy_rob[] = {
    {status::dummy_incomplete_region, "incomplete region"},
    {status::dummy_collection_timeout, "collection timeout"},
    {status::rob_lost, "lost"},
    {status::rob_pending, "pending"},
    {status::rob_discarded, "discarded"},
};
constexpr StatusBit of_rob[] = {
    {0x0001'0000, "trigger type"},    {0x0002'0000, "size"},
    {0x0004'0000, "data block"},      {0x0008'0000, "control word"},
    {0x0010'0000, "no begin"},        {0x0020'0000, "no end"},
    {0x0040'0000, "marker"},          {0x0080'0000, "format"},
    {0x0100'0000, "duplicate"},       {0x0200'0000, "sequence"},
    {0x0400'0000, "transmission"},    {status::rob_truncated, "truncated"},
    {0x1000'0000, "short"},           {status::rob_lost, "lost"},
    {status::rob_pending, "pending"}, {status::rob_discarded, "discarded"},
};
constexpr StatusBit of_event[] = {
    {0x0001'0000, "level-2 timeout"},
    {0x0002'0000, "level-2 processing unit timeout"},
    {0x0004'0000, "duplicate at the builder"},
    {0x0008'0000, "duplicate at the supervisor"},
    {0x0010'0000, "level-2 steering"},
    {0x0100'0000, "event filter timeout"},
    {0x0200'0000, "processing task timeout"},
    {status::event_duplicate, "duplicate"},
    {status::event_recovered, "recovered"},
    {0x1000'0000, "steering"},
    {status::event_forced_accept, "forced accept"},
    {status::event_partial, "partial event"},
};

void take_names(std::span<const StatusBit> bits, StatusNames& found) {
    for (const auto& [bit, name] : bits) {
        if ((found.unnamed & bit) == 0) continue;
        found.names.push_back(name);
        found.unnamed &= ~bit;
    }
}

}  // namespace

StatusNames status_names(Level level, std::uint32_t status) {
    StatusNames found{.unnamed = status};
    take_names(of_all, found);
    if (level == Level::event) take_names(of_event, found);
    if (level == Level::rob && (status & status::dummy_fragment) != 0) take_names(of_dummy_rob, found);
    else if (level == Level::rob) take_names(of_rob, found);
    return found;
}

}  // namespace weir::event
