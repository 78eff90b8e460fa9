// SPDX-License-Identifier: Apache-2.0
#include "weir/control/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <system_error>

#include "engines/slurm_output.hpp"
#include "weir/base/file.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr Bytes memory_size_max = 16_MiB;
constexpr std::size_t place_text_max = 300;
constexpr std::size_t former_places_max = 8;

json::object json_of(const HostPlace& place) {
    return {{"job", place.job},
            {"node", json::safe(place.node)},
            {"address", json::safe(place.address)},
            {"instance", json::safe(place.instance)}};
}

Result<HostPlace> read_place(const json::value& value) {
    json::Fields fields(value, "a machine");
    HostPlace place{fields.text("job", "", place_text_max), fields.text("node", "", place_text_max),
                    fields.text("address", "", place_text_max), fields.text("instance", "", place_text_max)};
    WEIR_TRY(fields.result());
    if (!place.job.empty() && !is_job_number(place.job))
        return fail(Errc::corrupt, fmt::format("\"{}\" is no job", place.job));
    if (!place.node.empty() && !is_node_name(place.node))
        return fail(Errc::corrupt, fmt::format("\"{}\" is no node", place.node));
    return place;
}

Result<> read_host_into(const json::value& value, Partition& partition) {
    json::Fields fields(value, "a machine");
    const auto name = fields.text("name");
    const auto place = WEIR_TRY(read_place(value));
    WEIR_TRY(fields.result());
    const auto host = std::ranges::find(partition.hosts, name, &HostEntry::name);
    if (host == partition.hosts.end() || !host->in_group()) return {};
    host->place = place;
    if (const auto* former = fields.array("former", former_places_max)) {
        for (const auto& one : *former) host->former.push_back(WEIR_TRY(read_place(one)));
    }
    return fields.result();
}

Result<> read_memory(const std::string& text, Partition& partition) {
    const auto document = WEIR_TRY(json::parse(text, {.size = memory_size_max, .depth = 6}));
    json::Fields fields(document, "the file");
    if (const auto* machines = fields.array("machines", hosts_max)) {
        for (const auto& machine : *machines) WEIR_TRY(read_host_into(machine, partition));
    }
    return fields.result();
}

}  // namespace

Result<> HostMemory::recall(Partition& partition) const {
    std::error_code unknown;
    if (file_.empty() || !std::ranges::any_of(partition.hosts, &HostEntry::in_group) ||
        !std::filesystem::exists(file_, unknown))
        return {};
    const auto text = WEIR_TRY(read_text(file_, memory_size_max));
    if (auto good = read_memory(text, partition); !good)
        return fail(good.error().code, fmt::format("{} is damaged: {}; remove it, and pinned machines get any node",
                                                   file_.native(), good.error().message()));
    return {};
}

Result<> HostMemory::keep(const std::vector<HostEntry>& hosts) {
    if (file_.empty()) return {};
    json::array machines;
    for (const auto& host : hosts) {
        if (!host.in_group() || (host.place == HostPlace{} && host.former.empty())) continue;
        auto object = json_of(host.place);
        object["name"] = host.name;
        json::array former;
        for (const auto& place : host.former) former.push_back(json_of(place));
        if (!former.empty()) object["former"] = std::move(former);
        machines.push_back(std::move(object));
    }
    std::error_code unknown;
    if (machines.empty() && kept_.empty() && !std::filesystem::exists(file_, unknown)) return {};
    auto text = json::serialize(json::object{{"machines", std::move(machines)}}) + "\n";
    if (text == kept_) return {};
    WEIR_TRY(replace_text(file_, text, Synced::yes));
    kept_ = std::move(text);
    return {};
}

}  // namespace weir::control
