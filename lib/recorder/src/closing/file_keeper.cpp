// SPDX-License-Identifier: Apache-2.0
#include "closing/file_keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "weir/datafile/stored_index.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"

namespace weir::recorder {
namespace {

constexpr int names_tried_max = 1000;

std::string format_text(const datafile::FileOpened& opened) { return fmt::format("raw-{}", opened.file_version); }

}  // namespace

FileKeeper::FileKeeper(const RecorderOptions& options, RunNumber run, catalogue::Catalogue& catalogue,
                       std::vector<std::unique_ptr<Volume>>& volumes, LumiBlocks& blocks, Settlement& settlement,
                       const OperatorReports& reports, std::function<void()> closed, const Clock& clock)
    : options_(options),
      files_per_stream_(std::clamp<std::size_t>(options.files_per_stream, 1, std::max<std::size_t>(volumes.size(), 1))),
      run_(run),
      catalogue_(catalogue),
      volumes_(volumes),
      blocks_(blocks),
      reports_(reports),
      clock_(clock) {
    for (const auto& volume : volumes_) {
        closers_[volume.get()] = std::make_unique<FileCloser>(
            *volume, catalogue_, blocks_, options_.recorder, closing_, settlement, reports_,
            FileCloser::Callbacks{.row_of = [this](const auto& opened, const auto& on) { return row_of(opened, on); },
                                  .closed = closed},
            clock_);
    }
}

Result<> FileKeeper::load_sequences() {
    const auto rows = WEIR_TRY(catalogue_.files({.run = run_, .recorder = options_.recorder}));
    const std::scoped_lock lock(sequences_mutex_);
    std::map<SequenceState*, const catalogue::FileRow*> last_of;
    const auto see_blocks_of = [](SequenceState& sequence, const catalogue::FileRow& row) {
        if (const auto index =
                datafile::StoredIndex::read(datafile::index_path_of(std::filesystem::path(row.volume) / row.name)))
            sequence.blocks = std::max(sequence.blocks, index->opened.blocks_before + index->closed.events);
    };
    for (const auto& row : rows) {
        auto& sequence = sequences_[{row.stream_type + "_" + row.stream_name, row.lumi_block}];
        if (row.sequence >= sequence.next_number) last_of[&sequence] = &row;
        sequence.next_number = std::max(sequence.next_number, row.sequence + 1);
        sequence.events += row.events;
        sequence.bytes += row.event_bytes;
        // What a crash cut off a file had numbers too, and files after it may hold events that go on from there.
        sequence.cut = sequence.cut || row.file_health != catalogue::FileHealth::sane;
        sequence.blocks += row.events;
        if (sequence.cut) see_blocks_of(sequence, row);
    }
    // Files before it may be unknown: gone without an event on stable storage, or deleted before the catalogue was
    // lost.
    for (const auto& [sequence, row] : last_of) see_blocks_of(*sequence, *row);
    return restore_blocks(rows);
}

Result<> FileKeeper::restore_blocks(const std::vector<catalogue::FileRow>& files) {
    const auto known = WEIR_TRY(catalogue_.lumi_blocks(run_));
    for (const auto& row : known) {
        if (row.recorder != options_.recorder) continue;
        blocks_.saw(row.lumi_block, clock_.now());
        // Block 0 may be that of a stream without blocks, which ends with the run.
        if (row.state == catalogue::OpenState::closed || row.lumi_block == LumiBlock{0}) continue;
        const auto open = std::ranges::count_if(files, [&](const catalogue::FileRow& file) {
            return file.file_state == catalogue::FileState::opened && file.stream_type == row.stream_type &&
                   file.stream_name == row.stream_name && file.lumi_block == row.lumi_block;
        });
        blocks_.restore({row.stream_type, row.stream_name, row.lumi_block}, static_cast<std::uint64_t>(open),
                        clock_.now());
    }
    return {};
}

Volume* FileKeeper::best(const std::vector<const Volume*>& without) const {
    Volume* best = nullptr;
    for (const auto& volume : volumes_) {
        if (volume->state() != VolumeState::good || !has_room(*volume) ||
            std::ranges::find(without, volume.get()) != without.end())
            continue;
        // In proportion to their space, so that equal disks have equally many files and all are full at the same time.
        const auto load = [](const Volume& v) {
            return static_cast<double>(v.work_in_hand() + 1) /
                   static_cast<double>(std::max<std::uint64_t>(v.usable_space().count(), 1));
        };
        const auto better = [&](const Volume& a, const Volume& b) {
            return a.failures() != b.failures() ? a.failures() < b.failures() : load(a) < load(b);
        };
        if (best == nullptr || better(*volume, *best)) best = volume.get();
    }
    return best;
}

bool FileKeeper::has_room(const Volume& volume) const {
    return closers_.at(&volume)->waiting() < options_.files_closing_max;
}

std::vector<const Volume*> FileKeeper::volumes_of(const Files& open) const {
    std::vector<const Volume*> volumes;
    const std::scoped_lock lock(sequences_mutex_);
    for (const auto& file : open) {
        if (const auto found = volume_of_.find(file->opened().guid); found != volume_of_.end())
            volumes.push_back(found->second);
    }
    return volumes;
}

bool FileKeeper::may_open_beside(const Files& open) const {
    const auto* const volume = best(volumes_of(open));
    return volume != nullptr && volume->failures() == 0;
}

bool FileKeeper::may_open() const {
    bool any_good = false;
    for (const auto& volume : volumes_) {
        if (volume->state() != VolumeState::good) continue;
        if (has_room(*volume)) return true;
        any_good = true;
    }
    return !any_good;  // else it is not the closing that holds up the senders
}

Result<> FileKeeper::describe(datafile::FileOpened& opened, const StreamTag& stream) const {
    event::RawFileName name;
    name.project = options_.project;
    name.run = run_;
    name.stream_type = stream.type;
    name.stream_name = stream.name;
    name.lumi_block = opened.lumi_block;
    name.application = options_.recorder;
    name.sequence = opened.sequence;
    const auto file_name = name.file(event::FileState::data);
    opened.name = file_name.substr(0, file_name.rfind('.'));

    event::FileHead head;
    head.version = opened.file_version;
    head.file_number = opened.sequence;
    head.opened = event::CalendarTime::local(clock_.wall());
    head.blocks_max = options_.file_events_max;
    head.size_max_mb = static_cast<std::uint32_t>(options_.file_size_max.count() >> 20);
    head.application = options_.recorder;
    head.name_core = name.core();
    head.run.run = run_;
    if (opened.file_version != event::file_version_bes3)
        head.metadata =
            event::compose_metadata(opened.guid, {}, stream, options_.project, opened.lumi_block, opened.format);
    opened.start = WEIR_TRY(event::encode_file_head(head));
    return {};
}

catalogue::FileRow FileKeeper::row_of(const datafile::FileOpened& opened, const Volume& volume) const {
    catalogue::FileRow row;
    row.guid = opened.guid;
    row.volume = volume.directory().native();
    row.name = opened.name + ".writing";
    row.run = run_;
    row.recorder = options_.recorder;
    row.stream_type = opened.stream_type;
    row.stream_name = opened.stream_name;
    row.lumi_block = opened.lumi_block;
    row.sequence = opened.sequence;
    row.format = format_text(opened);
    row.opened = clock_.wall();
    return row;
}

std::shared_ptr<StreamFile> FileKeeper::open_next(const StreamTag& stream, LumiBlock lumi_block, event::Format format,
                                                  const Files& open) {
    datafile::FileOpened opened;
    opened.run = run_;
    opened.lumi_block = lumi_block;
    opened.format = format;
    opened.file_version = static_cast<std::uint8_t>(options_.file_version.value_or(event::file_version(format)));
    opened.has_adler32 = options_.mode != Mode::off;
    opened.stream_type = stream.type;
    opened.stream_name = stream.name;
    opened.counts_alone = files_per_stream_ > 1;
    {
        const std::scoped_lock lock(sequences_mutex_);
        auto& sequence = sequences_[{stream_key(stream), lumi_block}];
        opened.sequence = sequence.next_number;
        if (!opened.counts_alone) {
            opened.events_before = sequence.events;
            opened.bytes_before = sequence.bytes;
            opened.blocks_before = static_cast<std::uint32_t>(sequence.blocks);
        }
    }
    const bool further = !open.empty();  // the stream goes on without it
    auto tried = volumes_of(open);
    for (int tries = 0; tries < names_tried_max; ++tries) {
        auto* const volume = best(tried);
        if (volume == nullptr) return nullptr;
        opened.guid = Guid::random();
        if (auto described = describe(opened, stream); !described) {
            reports_.alarm(fmt::format("no file: {}", stream_key(stream)), described.error().message());
            return nullptr;
        }
        auto created = std::make_shared<Result<std::shared_ptr<StreamFile>>>();  // with the thread that creates it
        const auto done = volume->unless_it_hangs([volume, opened, created]() -> Result<> {
            *created = volume->create(opened, opened.has_adler32);
            return {};
        });
        if (!done || (!*created && created->error().os_errno != EEXIST)) {
            if (further) return nullptr;
            tried.push_back(volume);  // the volume has reported it
            continue;
        }
        if (!*created) {
            reports_.warning(fmt::format("{} exists in {}; the sequence number is raised by {}", opened.name,
                                         volume->directory().native(), event::sequence_step_when_taken));
            opened.sequence += event::sequence_step_when_taken;
            continue;
        }
        auto file = std::move(**created);
        if (auto known = catalogue_.file_opened(row_of(opened, *volume)); !known) {
            static_cast<void>(volume->unless_it_hangs([volume, file]() -> Result<> {
                volume->discard(file);
                return {};
            }));
            if (further) {
                reports_.warning(
                    fmt::format("{} has no further file: {}", stream_key(stream), known.error().message()));
            } else {
                reports_.alarm("catalogue", fmt::format("{}; the senders wait", known.error().message()));
            }
            return nullptr;
        }
        blocks_.file_opened(stream, lumi_block, clock_.now());
        const std::scoped_lock lock(sequences_mutex_);
        sequences_[{stream_key(stream), lumi_block}].next_number = opened.sequence + 1;
        volume_of_[opened.guid] = volume;
        return file;
    }
    reports_.alarm(fmt::format("no file: {}", stream_key(stream)),
                   fmt::format("cannot find a free name for {}; move older files away", opened.name));
    return nullptr;
}

void FileKeeper::close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence) {
    const auto& opened = file->opened();
    const bool abandoned = file->abandoned();
    const auto counts = abandoned ? file->durable() : file->counts();
    Volume* volume = nullptr;
    {
        const std::scoped_lock lock(sequences_mutex_);
        auto& sequence = sequences_[{opened.stream_type + "_" + opened.stream_name, opened.lumi_block}];
        sequence.events += counts.events;
        sequence.blocks += counts.events;
        sequence.bytes += counts.bytes;
        last_of_sequence = last_of_sequence && opened.sequence + 1 == sequence.next_number;
        volume = volume_of_.extract(opened.guid).mapped();
    }
    closers_.at(volume)->close_later(std::move(file), last_of_sequence, !abandoned);
}

void FileKeeper::start() {
    for (const auto& [volume, closer] : closers_) closer->start();
}

void FileKeeper::step() {
    for (const auto& [volume, closer] : closers_) closer->step();
}

std::size_t FileKeeper::stop(SteadyTime deadline, std::chrono::milliseconds patience) {
    for (const auto& [volume, closer] : closers_) closer->request_stop(deadline, patience);
    for (const auto& [volume, closer] : closers_) closer->join();
    return closing_.waiting.exchange(0, std::memory_order_relaxed);  // no thread works on them any more
}

}  // namespace weir::recorder
