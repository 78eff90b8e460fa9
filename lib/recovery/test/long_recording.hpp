// SPDX-License-Identifier: Apache-2.0
// The directory of a recorder that died after a long time: files that are open and a journal that names every
// event in them. The files have holes instead of events, so that 100 GB are made in a moment: recovery must not
// look at what the journal vouches for.
#pragma once

#include <filesystem>
#include <string>

#include "weir/base/file.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recovery {

struct LongRecording {
    RunNumber run{17};
    std::uint64_t files = 25;
    std::uint64_t events = 4000;  // of each file
    std::uint64_t event_size = 1'000'000;
    std::uint32_t sessions = 100;
    std::uint64_t tail = 4U << 20;  // bytes behind the last event that belong to no event
};

/// Errors are those of the disk: the directory exists and is empty.
[[nodiscard]] inline Result<> make_dead_recorder(const std::filesystem::path& directory,
                                                 const LongRecording& recording) {
    auto journal = datafile::JournalWriter::open(directory, [&](std::uint32_t session) {
        return datafile::SessionDeclared{session, 1000 + session, 0, recording.run,
                                         "sender-" + std::to_string(session)};
    });
    if (!journal) return std::unexpected(journal.error());
    for (std::uint64_t n = 0; n < recording.files; ++n) {
        event::RawFileName name;
        name.project = "data_test";
        name.run = recording.run;
        name.stream_type = "physics";
        name.stream_name = "Main";
        name.lumi_block = LumiBlock{static_cast<std::uint32_t>(n + 1)};
        name.application = "weir";
        name.sequence = 1;
        event::FileHead head;
        head.version = 6;
        head.file_number = 1;
        head.application = name.application;
        head.name_core = name.core();
        head.run.run = recording.run;

        datafile::FileOpened opened;
        opened.guid = Guid::random();
        opened.run = recording.run;
        opened.lumi_block = name.lumi_block;
        opened.sequence = 1;
        opened.format = event::Format::opaque;
        opened.stream_type = name.stream_type;
        opened.stream_name = name.stream_name;
        const auto file_name = name.file(event::FileState::data);
        opened.name = file_name.substr(0, file_name.rfind('.'));
        head.metadata = event::compose_metadata(opened.guid, {}, {}, name.project, opened.lumi_block, opened.format);
        opened.start = WEIR_TRY(event::encode_file_head(head));
        journal->add(opened);

        std::uint64_t end = opened.start.size();
        for (std::uint64_t i = 0; i < recording.events; ++i) {
            datafile::StoredCopy copy;
            copy.guid = opened.guid;
            copy.offset = end;
            copy.length = recording.event_size;
            copy.block_number = static_cast<std::uint32_t>(i + 1);
            copy.event = GlobalEventId{n * recording.events + i};
            copy.session = static_cast<std::uint32_t>(i % recording.sessions);
            copy.sequence = Sequence{n * recording.events + i / recording.sessions + 1};
            journal->add(copy);
            end += event::separator_size_bytes + copy.length;
        }
        WEIR_TRY(journal->commit(false));
        auto file = WEIR_TRY(File::open(directory / (opened.name + ".writing"), File::Mode::create_new));
        WEIR_TRY(file.write_at(0, opened.start));
        WEIR_TRY(file.truncate(end + recording.tail));
    }
    return {};
}

}  // namespace weir::recovery
