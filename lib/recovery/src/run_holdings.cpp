// SPDX-License-Identifier: Apache-2.0
#include "weir/recovery/run_holdings.hpp"

#include <algorithm>
#include <bit>
#include <iterator>

#include "found_files.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {

void RunHoldings::add_events(const datafile::StoredIndex& index) {
    for (const auto& copy : index.copies) {
        if (!wire::valid(copy.sequence) || copy.copy >= 64) continue;
        if (copy.copies > 1) {
            auto& some = events->some[copy.event];
            some.copies_found |= std::uint64_t{1} << copy.copy;
            some.streams.push_back(index.opened.stream_type + "_" + index.opened.stream_name);
            if (std::popcount(some.copies_found) < copy.copies) continue;
            events->some.erase(copy.event);
        }
        events->durable.insert(copy.event);
    }
}

void RunHoldings::add(const datafile::StoredIndex& index) {
    if (events) add_events(index);
    for (const auto& copy : index.copies) {
        const auto session = index.sessions.find(copy.session);
        if (session == index.sessions.end() || !wire::valid(copy.sequence) || copy.copy >= 64) continue;
        const wire::SessionKey key{session->second.sender, session->second.incarnation, session->second.connection,
                                   session->second.run};
        if (copy.copies > 1) {
            auto& taken = partial[{key, copy.sequence}];
            taken |= std::uint64_t{1} << copy.copy;
            if (std::popcount(taken) < copy.copies) continue;
            partial.erase({key, copy.sequence});
        }
        durable[key].insert(copy.sequence);
    }
}

Result<> RunHoldings::add_marks(RunNumber run, const std::string& recorder, catalogue::Catalogue& catalogue) {
    const auto marks = WEIR_TRY(catalogue.marks(run));
    for (const auto& mark : marks) {
        if (mark.recorder != recorder) continue;
        if (is_mark_of_events(mark)) {
            const auto ids = WEIR_TRY(events_of(mark));
            if (events) events->durable |= ids;
            if (events) events->marked |= ids;
            continue;
        }
        const auto session = WEIR_TRY(session_of(mark));
        durable[session.first].merge(session.second);
    }
    if (events) std::erase_if(events->some, [&](const auto& some) { return events->durable.contains(some.first); });
    std::erase_if(partial, [&](const auto& entry) {
        const auto session = durable.find(entry.first.first);
        return session != durable.end() && session->second.contains(entry.first.second);
    });
    return {};
}

std::vector<catalogue::SessionMark> RunHoldings::marks(RunNumber run, const std::string& recorder) const {
    std::vector<catalogue::SessionMark> marks;
    for (const auto& [key, sequences] : durable) {
        if (wire::valid_sender_name(key.sender)) marks.push_back(mark_of(key, sequences, recorder));
    }
    if (events) std::ranges::move(marks_of_events(*events, run, recorder), std::back_inserter(marks));
    return marks;
}

Result<RunHoldings> run_holdings(RunNumber run, std::span<const std::filesystem::path> directories,
                                 catalogue::Catalogue& catalogue, const std::string& recorder, KeepEvents events) {
    RunHoldings holdings;
    if (events == KeepEvents::yes) holdings.events.emplace();
    if (events == KeepEvents::as_marked) {
        const auto marks = WEIR_TRY(catalogue.marks(run));
        const auto kept = [&](const catalogue::SessionMark& mark) {
            return mark.recorder == recorder && is_mark_of_events(mark);
        };
        if (std::ranges::any_of(marks, kept)) holdings.events.emplace();
    }
    for (const auto& directory : directories) {
        const auto indexes = WEIR_TRY(files_ending(directory, ".index"));
        for (const auto& path : indexes) {
            const auto name = event::parse_raw_file_name(path.filename().native());
            if (!name || name->name.run != run) continue;
            const auto index = datafile::StoredIndex::read(path);
            std::error_code error;
            if (!index && !std::filesystem::exists(path, error))
                continue;  // handed over and deleted meanwhile: marks remain
            if (!index) return std::unexpected(index.error());
            holdings.add(*index);
        }
    }
    WEIR_TRY(holdings.add_marks(run, recorder, catalogue));
    return holdings;
}

Result<> keep_marks(std::span<const std::filesystem::path> directories, catalogue::Catalogue& catalogue) {
    const auto found = WEIR_TRY(find_files(directories));
    const auto runs = WEIR_TRY(catalogue.runs());
    for (const auto& run : runs) {
        if (run.state != catalogue::OpenState::opened || !found.runs.contains({run.run, run.recorder})) continue;
        const auto holdings =
            WEIR_TRY(run_holdings(run.run, directories, catalogue, run.recorder, KeepEvents::as_marked));
        WEIR_TRY(catalogue.set_marks(holdings.marks(run.run, run.recorder)));
    }
    return {};
}

}  // namespace weir::recovery
