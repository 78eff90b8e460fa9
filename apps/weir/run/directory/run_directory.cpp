// SPDX-License-Identifier: Apache-2.0
#include "run/directory/run_directory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "stations/handoff/handoff_settings.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/service/configuration_sections.hpp"

namespace weir::app {

namespace {

/// By which a hand-off compares.
std::string checksum_of(const control::StationEntry& hand_off,
                        std::span<const service::ConfigurationSection> sections) {
    std::string checksum = HandOffSettings{}.checksum;
    for (const auto& section : sections) {
        if (section.path != hand_off.section()) continue;
        for (const auto& value : section.texts)
            if (value.key == "checksum") checksum = value.text;
    }
    return checksum;
}

}  // namespace

Result<RunDirectory> RunDirectory::prepare(const std::filesystem::path& directory, std::string_view text,
                                           const control::Partition& partition) {
    RunDirectory result;
    std::error_code failed;
    result.directory_ = std::filesystem::absolute(directory, failed);
    if (!failed) std::filesystem::create_directories(result.directory_ / "log", failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot make directory {}", directory.native()));
    const auto sections = WEIR_TRY(service::list_sections(text, partition.file.native()));
    result.on_hosts_ = !partition.hosts.empty();
    const bool one = partition.count(StationKind::record) == 1;
    for (const auto& station : partition.stations) {
        if (station.kind != StationKind::record) continue;
        // On another machine: below the directory of the agent there.
        Recorder recorder{station.name,
                          result.on_hosts_ ? std::filesystem::path(station.name)
                          : one            ? result.directory_
                                           : result.directory_ / station.name,
                          {},
                          false,
                          {}};
        for (const auto& section : sections) {
            if (section.path != station.section()) continue;
            for (const auto& value : section.texts) {
                if (value.key == "catalogue") recorder.catalogue = value.text;
                if (value.key != "directories" || recorder.named) continue;
                recorder.directory = value.text;
                recorder.named = true;
            }
        }
        for (const auto& other : partition.stations) {
            if (other.kind == StationKind::handoff && other.recorder == station.name)
                recorder.checksum = checksum_of(other, sections);
        }
        result.recorders_.push_back(std::move(recorder));
    }
    return result;
}

Result<> RunDirectory::write_partition_file(std::string_view text) const {
    return replace_text(partition_file(), text, Synced::yes);
}

std::vector<std::string> RunDirectory::arguments_of(const control::StationEntry& station) const {
    if (station.kind == StationKind::monitor)  // on another machine: below the directory of the agent there
        return {"--dir", on_hosts_ ? station.name : (directory_ / station.name).native()};
    const bool hands_over = station.kind == StationKind::handoff;
    const auto recorder = std::ranges::find(recorders_, hands_over ? station.recorder : station.name, &Recorder::name);
    if (recorder == recorders_.end() || (recorder->named && !hands_over)) return {};
    std::vector<std::string> arguments{"--dir", recorder->directory.native()};
    if (!hands_over) {
        arguments.emplace_back("--create");
    } else if (!recorder->catalogue.empty()) {
        arguments.insert(arguments.end(), {"--catalogue", recorder->catalogue});
    }
    return arguments;
}

std::vector<control::RecorderCatalogue> RunDirectory::catalogues(const BooksOf& books_elsewhere) const {
    std::vector<control::RecorderCatalogue> all;
    for (const auto& recorder : recorders_) {
        auto books = on_hosts_ ? books_elsewhere(recorder.name, recorder.directory.native(), recorder.catalogue)
                               : std::make_shared<control::LocalBooks>(recorder.directory, recorder.catalogue);
        all.emplace_back(std::move(books), recorder.checksum);
    }
    return all;
}

std::vector<std::filesystem::path> RunDirectory::catalogue_files() const {
    std::vector<std::filesystem::path> all;
    if (on_hosts_) return all;
    for (const auto& recorder : recorders_)
        all.push_back(catalogue::own_catalogue_path(recorder.directory, recorder.catalogue));
    return all;
}

}  // namespace weir::app
