// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/file_keeper.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "end_record.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/storage/stored_index.hpp"
#include "weir/base/named_thread.hpp"

namespace weir::storage {
namespace {

using namespace std::chrono_literals;

constexpr auto tick_interval = 100ms;
constexpr auto retry_interval = 20ms;  // when the recorder stops
constexpr int names_tried_max = 1000;

std::string format_text(const FileOpened& opened) { return fmt::format("raw-{}", opened.file_version); }

}  // namespace

LedgerRow ledger_of_file(const FileOpened& opened, const FileClosed& closed, const std::string& recorder) {
    LedgerRow row;
    row.run = opened.run;
    row.recorder = recorder;
    row.stream_type = opened.stream_type;
    row.stream_name = opened.stream_name;
    row.received = row.stored = closed.events;
    return row;
}

FileKeeper::FileKeeper(const RecorderOptions& options, RunNumber run, Catalogue& catalogue,
                       std::vector<std::unique_ptr<Volume>>& volumes, LumiBlocks& blocks, Callbacks callbacks,
                       const Clock& clock)
    : options_(options),
      run_(run),
      catalogue_(catalogue),
      volumes_(volumes),
      blocks_(blocks),
      callbacks_(std::move(callbacks)),
      clock_(clock),
      thread_(named_jthread("closing", [this](const std::stop_token& stop) { this->run(stop); })) {}

Result<> FileKeeper::load_sequences() {
    const auto rows = catalogue_.files({.run = run_, .recorder = options_.recorder});
    if (!rows) return std::unexpected(rows.error());
    const std::scoped_lock lock(sequences_mutex_);
    for (const auto& row : *rows) {
        auto& sequence = sequences_[{row.stream_type + "_" + row.stream_name, row.lumi_block}];
        sequence.next_number = std::max(sequence.next_number, row.sequence + 1);
        sequence.events += row.events;
        sequence.bytes += row.event_bytes;
        // What a crash cut off a file had numbers too, and files after it may hold events that go on from there.
        sequence.cut = sequence.cut || row.file_health != FileHealth::sane;
        sequence.blocks += row.events;
        if (!sequence.cut) continue;
        if (const auto index = StoredIndex::read(index_path_of(std::filesystem::path(row.volume) / row.name)))
            sequence.blocks = std::max(sequence.blocks, index->opened.blocks_before + index->closed.events);
    }
    return restore_blocks(*rows);
}

Result<> FileKeeper::restore_blocks(const std::vector<FileRow>& files) {
    const auto known = catalogue_.lumi_blocks(run_);
    if (!known) return std::unexpected(known.error());
    for (const auto& row : *known) {
        if (row.recorder != options_.recorder) continue;
        blocks_.saw(row.lumi_block, clock_.now());
        // Block 0 may be that of a stream without blocks, which ends with the run.
        if (row.state == OpenState::closed || row.lumi_block == LumiBlock{0}) continue;
        const auto open = std::ranges::count_if(files, [&](const FileRow& file) {
            return file.file_state == FileState::opened && file.stream_type == row.stream_type &&
                   file.stream_name == row.stream_name && file.lumi_block == row.lumi_block;
        });
        blocks_.restore({row.stream_type, row.stream_name, row.lumi_block}, static_cast<std::uint64_t>(open), clock_.now());
    }
    return {};
}

Volume* FileKeeper::best(const std::vector<const Volume*>& without) const {
    Volume* best = nullptr;
    for (const auto& volume : volumes_) {
        if (volume->state() != VolumeState::good || std::ranges::find(without, volume.get()) != without.end()) continue;
        const auto better = [](const Volume& a, const Volume& b) {
            return a.failures() != b.failures() ? a.failures() < b.failures() : a.free_space() > b.free_space();
        };
        if (best == nullptr || better(*volume, *best)) best = volume.get();
    }
    return best;
}

Volume& FileKeeper::volume_of(const Guid& guid) {
    const std::scoped_lock lock(sequences_mutex_);
    return *volume_of_.at(guid);
}

Result<> FileKeeper::describe(FileOpened& opened, const StreamTag& stream) const {
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
        head.metadata = event::compose_metadata(opened.guid, {}, stream, options_.project, opened.lumi_block, opened.format);
    auto start = event::encode_file_head(head);
    if (!start) return std::unexpected(start.error());
    opened.start = std::move(*start);
    return {};
}

FileRow FileKeeper::row_of(const FileOpened& opened, const Volume& volume) const {
    FileRow row;
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

std::shared_ptr<StreamFile> FileKeeper::open_next(const StreamTag& stream, LumiBlock lumi_block, event::Format format) {
    FileOpened opened;
    opened.run = run_;
    opened.lumi_block = lumi_block;
    opened.format = format;
    opened.file_version = static_cast<std::uint8_t>(options_.file_version.value_or(event::file_version(format)));
    opened.has_adler32 = options_.mode != Mode::off;
    opened.stream_type = stream.type;
    opened.stream_name = stream.name;
    {
        const std::scoped_lock lock(sequences_mutex_);
        auto& sequence = sequences_[{stream_key(stream), lumi_block}];
        opened.sequence = sequence.next_number;
        opened.events_before = sequence.events;
        opened.bytes_before = sequence.bytes;
        opened.blocks_before = static_cast<std::uint32_t>(sequence.blocks);
    }
    std::vector<const Volume*> tried;
    for (int tries = 0; tries < names_tried_max; ++tries) {
        auto* const volume = best(tried);
        if (volume == nullptr) return nullptr;
        opened.guid = Guid::random();
        if (auto described = describe(opened, stream); !described) {
            callbacks_.alarm(fmt::format("no file: {}", stream_key(stream)), described.error().message());
            return nullptr;
        }
        auto created = std::make_shared<Result<std::shared_ptr<StreamFile>>>();  // with the thread that creates it
        const auto done = volume->unless_it_hangs([volume, opened, created]() -> Result<> {
            *created = volume->create(opened, opened.has_adler32);
            return {};
        });
        if (!done || (!*created && created->error().os_errno != EEXIST)) {
            tried.push_back(volume);  // the volume has said what it makes of it
            continue;
        }
        if (!*created) {
            callbacks_.warn(fmt::format("{} exists in {}; the sequence number is raised by {}", opened.name,
                                        volume->directory().native(), event::sequence_step_when_taken));
            opened.sequence += event::sequence_step_when_taken;
            continue;
        }
        auto file = std::move(**created);
        if (auto known = catalogue_.file_opened(row_of(opened, *volume)); !known) {
            volume->discard(file);
            callbacks_.alarm("catalogue", fmt::format("{}; the senders wait", known.error().message()));
            return nullptr;
        }
        blocks_.file_opened(stream, lumi_block, clock_.now());
        const std::scoped_lock lock(sequences_mutex_);
        sequences_[{stream_key(stream), lumi_block}].next_number = opened.sequence + 1;
        volume_of_[opened.guid] = volume;
        return file;
    }
    callbacks_.alarm(fmt::format("no file: {}", stream_key(stream)),
                     fmt::format("cannot find a free name for {}; move older files away", opened.name));
    return nullptr;
}

void FileKeeper::close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence) {
    const auto& opened = file->opened();
    const bool given_up = file->given_up();
    const auto counts = given_up ? file->durable() : file->counts();
    {
        const std::scoped_lock lock(sequences_mutex_);
        auto& sequence = sequences_[{opened.stream_type + "_" + opened.stream_name, opened.lumi_block}];
        sequence.events += counts.events;
        sequence.blocks += counts.events;
        sequence.bytes += counts.bytes;
    }
    const std::scoped_lock lock(queue_mutex_);
    queue_.push_back({std::move(file), last_of_sequence, !given_up});
    queue_changed_.notify_all();
}

Result<> FileKeeper::close(Closing& closing) {
    const auto file = closing.file;
    const auto& opened = file->opened();
    auto& volume = volume_of(opened.guid);
    if (closing.named || closing.removed) return tell_catalogue(closing, volume);
    const auto end_of = [&](std::uint64_t events, std::uint64_t bytes) {
        return end_record(opened, events, bytes, clock_.wall(), closing.last_of_sequence);
    };
    if (!closing.closed) {
        auto finished = file->finish(end_of, [&] { return file->failure().has_value(); });
        if (finished) closing.closed = std::move(*finished);
        else if (!file->given_up()) return std::unexpected(finished.error());  // the next round gives it up
    }
    if (closing.closed && !file->given_up()) {
        auto closed = volume.unless_it_hangs([&volume, file, last = *closing.closed] { return volume.close(file, last); });
        closing.named = closed.has_value();
        if (!closed && !file->given_up()) return closed;
    }
    if (!closing.named) {
        if (auto closed = close_up(closing, volume); !closed) return closed;
    }
    return closing.named || closing.removed ? tell_catalogue(closing, volume) : Result<>{};
}

Result<> FileKeeper::close_up(Closing& closing, Volume& volume) {
    const auto file = closing.file;
    const bool cut_short = may_pass(disk_fault_of(*file->failure()));
    if (volume.state() == VolumeState::failed) return leave(*file, volume);
    auto closed = std::make_shared<std::optional<FileClosed>>();
    auto done = volume.unless_it_hangs([&volume, file, closed, also_empty = closing.counted_whole]() -> Result<> {
        auto got = volume.close_up(file, also_empty);
        if (!got) return std::unexpected(got.error());
        *closed = std::move(*got);
        return {};
    });
    if (done) {
        closing.closed = std::move(*closed);
        closing.removed = !closing.closed;
        closing.named = closing.closed.has_value();
        closing.health = cut_short ? FileHealth::truncated : FileHealth::quarantined;
        return {};
    }
    if (may_pass(disk_fault_of(done.error()))) return done;
    callbacks_.alarm(fmt::format("file left open: {}", file->opened().name),
                     fmt::format("{}; it is left for weir recover {}", done.error().message(), volume.directory().native()));
    return leave(*file, volume);
}

Result<> FileKeeper::leave(const StreamFile& file, Volume& volume) {
    // The journal may name events that were given back; recovery believes what stands here.
    auto row = row_of(file.opened(), volume);
    const auto durable = file.durable();
    row.events = durable.events;
    row.event_bytes = durable.bytes;
    row.bytes = durable.size;
    row.file_health = FileHealth::quarantined;
    if (auto known = catalogue_.put_file(row); !known) return known;
    volume.leave(file.opened().guid);
    return {};
}

Result<> FileKeeper::tell_catalogue(Closing& closing, Volume& volume) {
    const auto& opened = closing.file->opened();
    if (closing.removed) {
        if (auto forgotten = catalogue_.forget_file(opened.guid); !forgotten) return forgotten;
    } else {
        const auto& closed = *closing.closed;
        FileClose row;
        row.guid = closed.guid;
        row.volume = volume.directory().native();
        row.name = opened.name + ".data";
        row.events = closed.events;
        row.bytes = closed.size;
        row.event_bytes = closed.bytes;
        row.first_event = closed.content.first_event;
        row.last_event = closed.content.last_event;
        row.shared = closed.content.shared;
        if (closing.file->writes_adler32()) row.sums.push_back({"adler32", fmt::format("{:08x}", closed.adler32)});
        row.sums.push_back({"crc32c", fmt::format("{:08x}", closed.crc32c)});
        row.file_health = closing.health;
        row.at = clock_.wall();
        if (!closing.marks) closing.marks = callbacks_.marks();
        const auto ledger = ledger_of_file(opened, closed, options_.recorder);
        if (auto known = catalogue_.file_closed(row, *closing.marks, {&ledger, 1}); !known) return known;
        files_closed_.fetch_add(1, std::memory_order_relaxed);
    }
    blocks_.file_closed(opened.stream_type, opened.stream_name, opened.lumi_block, clock_.now());
    // The next start makes up for a journal that cannot be removed.
    static_cast<void>(volume.unless_it_hangs([&volume, guid = opened.guid] { return volume.forget(guid); }));
    const std::scoped_lock lock(sequences_mutex_);
    volume_of_.erase(opened.guid);
    return {};
}

void FileKeeper::run(const std::stop_token& stop) {
    std::deque<Closing> work;  // also what is to be tried again
    while (true) {
        {
            std::unique_lock lock(queue_mutex_);
            const ScopedWait wait(WaitCause::queue);
            queue_changed_.wait_for(lock, stop, tick_interval, [&] { return !queue_.empty(); });
            std::ranges::move(queue_, std::back_inserter(work));
            queue_.clear();
        }
        std::deque<Closing> again;
        for (auto& closing : work) {
            if (const auto closed = close(closing); !closed) {
                if (closing.named || closing.removed) callbacks_.alarm("catalogue", closed.error().message());
                again.push_back(std::move(closing));
            }
        }
        work = std::move(again);
        if (!stop.stop_requested()) {
            callbacks_.tick();
            continue;
        }
        {
            const std::scoped_lock lock(queue_mutex_);
            if (queue_.empty() && (work.empty() || clock_.now() >= give_up_at_)) return;
        }
        if (!work.empty()) std::this_thread::sleep_for(retry_interval);
    }
}

void FileKeeper::stop(std::chrono::milliseconds patience) {
    if (!thread_.joinable()) return;
    {
        const std::scoped_lock lock(queue_mutex_);
        give_up_at_ = clock_.now() + patience;
    }
    thread_.request_stop();
    thread_.join();
}

}  // namespace weir::storage
