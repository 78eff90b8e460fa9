// SPDX-License-Identifier: Apache-2.0
#include "weir/control/open_run.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <system_error>

#include "weir/base/file.hpp"
#include "weir/json/parse.hpp"
#include "weir/service/control_messages.hpp"

namespace weir::control {
namespace {

constexpr Bytes size_max = 64_MiB;
constexpr std::size_t text_max = 4096;
constexpr const char* counts_name = "run-counts.json";
constexpr const char* peers_name = "run-peers.json";

RunNumber read_run(json::Fields& fields) {
    return RunNumber{
        static_cast<std::uint32_t>(fields.number("run", std::nullopt, std::numeric_limits<std::uint32_t>::max()))};
}

/// Of another run, or not whole: none are known.
std::map<std::string, std::string> read_counts(const std::filesystem::path& file, RunNumber run) {
    std::map<std::string, std::string> counts;
    const auto text = read_text(file, size_max);
    if (!text) return counts;
    const auto document = json::parse(*text, {.size = size_max, .depth = 4});
    if (!document) return counts;
    json::Fields fields(*document, file.native());
    if (read_run(fields) != run) return counts;
    if (const auto* noted = fields.object("parameters")) {
        json::Fields values(document->get_object().at("parameters"), "counts of " + file.native());
        for (const auto& [name, value] : *noted) counts[std::string(name)] = values.text(name, std::nullopt, text_max);
        if (!values.result()) return {};
    }
    return counts;
}

std::vector<Peer> read_peers(const std::filesystem::path& file, RunNumber run) {
    const auto text = read_text(file, size_max);
    if (!text) return {};
    auto noted = service::parse_station_request(*text);
    return noted && noted->run == run ? std::move(noted->peers) : std::vector<Peer>{};
}

}  // namespace

Result<> OpenRun::open(RunNumber run) {
    if (run == noted_) return {};
    const auto text = json::serialize(json::object{{"run", number(run)}}) + "\n";
    WEIR_TRY(replace_text(file(directory_), text, Synced::yes));
    noted_ = run;
    return {};
}

Result<> OpenRun::note(RunNumber run, const std::map<std::string, std::string>& counts) {
    WEIR_TRY(open(run));
    json::object texts;
    for (const auto& [name, value] : counts) texts[json::safe(name)] = json::safe(value);
    const auto text = json::serialize(json::object{{"run", number(run)}, {"parameters", std::move(texts)}}) + "\n";
    return replace_text(directory_ / counts_name, text, Synced::no);
}

/// As run control says it to a station.
Result<> OpenRun::note(RunNumber run, const std::vector<Peer>& peers) {
    const service::StationRequest request{.transition = service::Transition::connect, .run = run, .peers = peers};
    return replace_text(directory_ / peers_name, to_json(request) + "\n", Synced::yes);
}

void OpenRun::over() noexcept {
    std::error_code absent;
    for (const auto& path : {file(directory_), directory_ / counts_name, directory_ / peers_name})
        std::filesystem::remove(path, absent);
    noted_ = {};
}

Result<std::optional<RunNumber>> OpenRun::number_left() const {
    std::error_code unknown;
    const auto path = file(directory_);
    if (!std::filesystem::exists(path, unknown)) return std::nullopt;
    const auto text = WEIR_TRY(read_text(path, size_max));
    const auto document = WEIR_TRY(json::parse(text, {.size = size_max, .depth = 4}));
    json::Fields fields(document, path.native());
    const auto run = read_run(fields);
    WEIR_TRY(fields.result());
    return run;
}

Result<std::optional<OpenRun::Left>> OpenRun::left() const {
    const auto run = WEIR_TRY(number_left());
    if (!run) return std::nullopt;
    return Left{*run, read_counts(directory_ / counts_name, *run), read_peers(directory_ / peers_name, *run)};
}

}  // namespace weir::control
