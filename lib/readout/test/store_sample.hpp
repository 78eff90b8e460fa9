// SPDX-License-Identifier: Apache-2.0
// A small store of three sources, and short words to use it.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "weir/readout/rob_store.hpp"

namespace weir::readout {

inline RobStoreOptions sample_options() {
    return {.sources = {SourceId{0x10}, SourceId{0x11}, SourceId{0x12}}, .events_max = 64, .bytes_max = Bytes{4 << 20}};
}

inline PutResult put(RobStore& store, std::uint32_t event, std::uint32_t source, std::string_view bytes) {
    return store.put(Level1Id{event}, {SourceId{source}, as_data(bytes)});
}

struct Asked {
    std::vector<wire::RobState> states;
    std::string data;
};

inline Asked ask(const RobStore& store, std::uint32_t event, const std::vector<std::uint32_t>& sources) {
    std::vector<SourceId> robs;
    for (const auto source : sources) robs.push_back(SourceId{source});
    std::vector<wire::RobPart> parts;
    std::vector<std::byte> data;
    store.read(Level1Id{event}, robs, parts, data);
    Asked asked{.states = {}, .data = std::string(as_text(data))};
    for (const auto& part : parts) asked.states.push_back(part.state);
    return asked;
}

inline wire::RobState state(const RobStore& store, std::uint32_t event, std::uint32_t source) {
    return ask(store, event, {source}).states.at(0);
}

inline void clear(RobStore& store, const std::vector<std::uint32_t>& events) {
    std::vector<Level1Id> ids;
    for (const auto event : events) ids.push_back(Level1Id{event});
    store.clear(ids);
}

inline std::uint64_t rejected(const RobStore& store, RobReject reason) {
    return store.ledger().counts().rejected[static_cast<std::size_t>(reason)];
}

}  // namespace weir::readout
