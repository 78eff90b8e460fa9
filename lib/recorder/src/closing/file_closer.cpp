// SPDX-License-Identifier: Apache-2.0
#include "closing/file_closer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "weir/base/named_thread.hpp"
#include "weir/datafile/end_record.hpp"
#include "weir/recovery/ledger_rows.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

constexpr auto retry_interval = 100ms;
constexpr auto retry_interval_at_stop = 20ms;

auto session(const catalogue::SessionMark& m) {
    return std::tie(m.recorder, m.run, m.sender, m.incarnation, m.connection);
}

/// The newer replace the older of the same session.
void put(std::vector<catalogue::SessionMark>& marks, std::vector<catalogue::SessionMark> newer) {
    if (!marks.empty()) {  // only when the catalogue could not be written
        std::set<decltype(session(marks.front()))> replaced;
        for (const auto& mark : newer) replaced.insert(session(mark));
        std::erase_if(marks, [&](const catalogue::SessionMark& mark) { return replaced.contains(session(mark)); });
    }
    std::ranges::move(newer, std::back_inserter(marks));
}

}  // namespace

FileCloser::FileCloser(Volume& volume, catalogue::Catalogue& catalogue, LumiBlocks& blocks, std::string recorder,
                       ClosingAccount& account, Settlement& settlement, const OperatorReports& reports,
                       Callbacks callbacks, const Clock& clock)
    : volume_(volume),
      catalogue_(catalogue),
      blocks_(blocks),
      recorder_(std::move(recorder)),
      account_(account),
      settlement_(settlement),
      reports_(reports),
      callbacks_(std::move(callbacks)),
      clock_(clock) {}

void FileCloser::start() {
    thread_ = named_jthread("closing", [this](const std::stop_token& stop) { run(stop); });
}

void FileCloser::close_later(std::shared_ptr<StreamFile> file, bool last_of_sequence, bool counted_whole) {
    account_.waiting.fetch_add(1, std::memory_order_relaxed);
    waiting_.fetch_add(1, std::memory_order_relaxed);
    const std::scoped_lock lock(mutex_);
    queue_.push_back({std::move(file), last_of_sequence, counted_whole});
    changed_.notify_all();
}

void FileCloser::request_stop(SteadyTime deadline, std::chrono::milliseconds patience) {
    {
        const std::scoped_lock lock(mutex_);
        deadline_ = deadline;
        patience_ = patience;
    }
    thread_.request_stop();
}

void FileCloser::join() {
    if (thread_.joinable()) thread_.join();
}

void FileCloser::run(const std::stop_token& stop) {
    while (true) {
        {
            std::unique_lock lock(mutex_);
            const ScopedWait wait(WaitCause::queue);
            const auto there = [&] { return !queue_.empty(); };
            if (again_.empty()) changed_.wait(lock, stop, there);
            else if (stop.stop_requested()) changed_.wait_for(lock, retry_interval_at_stop, there);
            else changed_.wait_for(lock, stop, retry_interval, there);
        }
        step();
        if (stop.stop_requested() && ends(clock_.now())) return;
    }
}

void FileCloser::step() {
    Group group;
    {
        const std::scoped_lock lock(mutex_);
        while (!queue_.empty() && group.size() < group_max) {
            group.push_back(std::move(queue_.front()));
            queue_.pop_front();
        }
    }
    // What failed before goes with what is new, or alone: so neither waits for the other.
    const auto fresh = group.size();
    std::ranges::move(again_, std::back_inserter(group));
    again_.clear();
    if (group.empty()) return;
    close(group);
    const auto closed = std::erase_if(group, [](const Closing& closing) { return closing.done; });
    if (closed > 0 || fresh > 0) only_failures_since_.reset();
    again_ = std::move(group);
    account_.waiting.fetch_sub(closed, std::memory_order_relaxed);
    waiting_.fetch_sub(closed, std::memory_order_relaxed);
    account_.attempts.fetch_add(1, std::memory_order_relaxed);
    if (closed > 0) callbacks_.closed();
}

bool FileCloser::ends(SteadyTime now) {
    const std::scoped_lock lock(mutex_);
    if (queue_.empty() && again_.empty()) return true;
    if (now >= deadline_) return true;
    if (!queue_.empty()) return false;
    if (!only_failures_since_) only_failures_since_ = now;
    return now - *only_failures_since_ >= patience_;
}

void FileCloser::close(Group& group) {
    finish(group);
    close_on_disk(group);
    for (auto& closing : group) {
        if (!closing.named && !closing.removed && closing.file->abandoned()) close_up(closing);
    }
    write_to_catalogue(group);
    forget(group);
}

void FileCloser::finish(Group& group) {
    for (auto& closing : group) {
        if (closing.closed || closing.removed) continue;
        const auto end_of = [&](std::uint64_t events, std::uint64_t bytes) {
            return datafile::end_record(closing.file->opened(), events, bytes, clock_.wall(), closing.last_of_sequence);
        };
        if (auto finished = closing.file->finish(end_of)) closing.closed = std::move(*finished);
        // Else it has failed: the next round abandons it.
    }
}

void FileCloser::close_on_disk(Group& group) {
    auto files = std::make_shared<std::vector<Volume::FileToClose>>();  // with the thread that closes them
    std::vector<Closing*> of;
    for (auto& closing : group) {
        if (!closing.closed || closing.named || closing.file->abandoned()) continue;
        files->push_back({closing.file, *closing.closed});
        of.push_back(&closing);
    }
    if (files->empty()) return;
    const auto ended = volume_.unless_it_hangs([&volume = volume_, files]() -> Result<> {
        volume.close(*files);
        return {};
    });
    if (!ended) return;  // it hangs, and the files were abandoned
    for (std::size_t i = 0; i < of.size(); ++i) of[i]->named = (*files)[i].done.has_value();
}

void FileCloser::close_up(Closing& closing) {
    const auto file = closing.file;
    const auto left = [&] {
        if (leave(*file)) closing.done = true;
    };
    const bool cut_short = keeps_file_good(datafile::disk_fault_of(*file->failure()));
    if (volume_.state() == VolumeState::failed) return left();
    auto closed = std::make_shared<std::optional<datafile::FileClosed>>();
    auto done =
        volume_.unless_it_hangs([&volume = volume_, file, closed, also_empty = closing.counted_whole]() -> Result<> {
            auto got = WEIR_TRY(volume.close_up(file, also_empty));
            *closed = std::move(got);
            return {};
        });
    if (done) {
        closing.closed = std::move(*closed);
        closing.removed = !closing.closed;
        closing.named = closing.closed.has_value();
        closing.health = cut_short ? catalogue::FileHealth::truncated : catalogue::FileHealth::quarantined;
        return;
    }
    if (may_pass(datafile::disk_fault_of(done.error()))) return;
    reports_.alarm(
        fmt::format("file left open: {}", file->opened().name),
        fmt::format("{}; it is left for weir recover {}", done.error().message(), volume_.directory().native()));
    left();
}

Result<> FileCloser::leave(const StreamFile& file) {
    // The journal may name events that were returned; recovery relies on what stands here.
    auto row = callbacks_.row_of(file.opened(), volume_);
    const auto durable = file.durable();
    row.events = durable.events;
    row.event_bytes = durable.bytes;
    row.bytes = durable.size;
    row.file_health = keeps_file_good(datafile::disk_fault_of(*file.failure())) ? catalogue::FileHealth::truncated
                                                                                : catalogue::FileHealth::quarantined;
    WEIR_TRY(catalogue_.put_file(row));
    volume_.leave(file.opened().guid);
    return {};
}

Result<> FileCloser::write_row(const Closing& closing, std::span<const catalogue::SessionMark> marks) {
    const auto& opened = closing.file->opened();
    if (closing.removed) return catalogue_.remove_opened_file(opened.guid);
    const auto& closed = *closing.closed;
    catalogue::FileClose row;
    row.guid = closed.guid;
    row.volume = volume_.directory().native();
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
    const auto ledger = recovery::ledger_of_file(opened, closed, recorder_);
    return catalogue_.file_closed(row, marks, {&ledger, 1});
}

void FileCloser::write_to_catalogue(Group& group) {
    std::vector<Closing*> files;
    for (auto& closing : group) {
        if (closing.to_write()) files.push_back(&closing);
    }
    if (files.empty()) return;
    const std::scoped_lock lock(account_.marks_mutex);
    put(account_.marks, settlement_.take_changed_marks());
    const auto together = catalogue_.together([&]() -> Result<> {
        WEIR_TRY(catalogue_.set_marks(account_.marks));
        for (const auto* closing : files) {
            WEIR_TRY(write_row(*closing, {}));
        }
        return {};
    });
    for (auto* closing : files) {
        // One that the catalogue refuses must not hold up the others.
        const auto known = together || files.size() == 1 ? together : write_row(*closing, account_.marks);
        if (!known) {
            reports_.alarm("catalogue", known.error().message());
            continue;
        }
        closing->done = true;
        const auto& opened = closing->file->opened();
        blocks_.file_closed(opened.stream_type, opened.stream_name, opened.lumi_block, clock_.now());
        if (!closing->removed) account_.closed.fetch_add(1, std::memory_order_relaxed);
    }
    if (together) account_.marks.clear();
}

void FileCloser::forget(Group& group) {
    std::vector<Guid> written;
    for (const auto& closing : group) {
        if (closing.done && (closing.named || closing.removed)) written.push_back(closing.file->opened().guid);
    }
    if (written.empty()) return;
    // The next start makes up for a journal that cannot be removed.
    static_cast<void>(volume_.unless_it_hangs([&volume = volume_, written] { return volume.forget(written); }));
}

}  // namespace weir::recorder
