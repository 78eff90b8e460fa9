// SPDX-License-Identifier: Apache-2.0
// How a volume that failed comes back, and how one is found out that never will.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "volume/volume.hpp"
#include "weir/datafile/volume_marker.hpp"

namespace weir::recorder {

Result<> Volume::probe() {
    const auto path = options_.directory / "weir.probe";
    const std::vector<std::byte> block(SegmentPool::alignment, std::byte{0x5a});
    auto file = WEIR_TRY(File::open(path, File::Mode::open_or_create, system_));
    WEIR_TRY(file.write_at(0, block));
    WEIR_TRY(file.sync_data());
    WEIR_TRY(file.close());
    WEIR_TRY(remove_file(path, system_));
    return sync_directory(options_.directory, system_);
}

/// A disk that was away may come back as another device: by the marker it is the same.
bool Volume::take_place() {
    const auto marker = [&] { return datafile::read_volume_marker(options_.directory); };
    if (options_.id == Guid{} || system_.watched(marker) != options_.id) return false;
    auto place = system_.watched(
        [&] { return File::open(options_.directory, File::Mode::read, real_file_system(), O_DIRECTORY); });
    auto lock = system_.watched([&] { return datafile::DirectoryLock::take(options_.directory); });
    if (!place || !lock) return false;
    place_ = std::move(*place);
    lock_ = std::move(*lock);
    return true;
}

void Volume::try_again(SteadyTime now) {
    {
        const std::scoped_lock lock(files_mutex_, rounds_mutex_);
        if (!files_.empty()) return;  // the closing thread has not seen all of them
        if (hangs_ || now < next_try_) return;
        retry_ = std::min(2 * retry_, options_.retry_last);
        next_try_ = now + retry_;
    }
    if (!is_in_place() && !take_place()) return;
    if (!probe() || hangs()) return;  // after a hang the recording may be gone
    const auto recovered = callbacks_.recover(*this);
    if (hangs()) return;
    if (!recovered) {
        reports_.alarm(fmt::format("volume dropped: {}", options_.directory.native()),
                       fmt::format("it can be written again, but {}", recovered.error().message()));
        return;
    }
    {
        const std::scoped_lock lock(unbegun_mutex_);
        remove_all_unbegun();  // recovery has removed nearly all of them
    }
    const std::scoped_lock journal_lock(journal_mutex_);
    auto journal =
        datafile::JournalWriter::open(options_.directory, session_names(), system_, datafile::JournalWriter::size_max,
                                      {.run = options_.run, .volume = options_.id, .recorder = options_.recorder});
    if (!journal) return;
    journal_ = std::move(*journal);
    reserve_.release();  // recovery has removed it
    const bool reserved = reserve_.make().has_value();
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (hangs_) return;
        state_ = reserved ? VolumeState::good : VolumeState::full;
        failure_.reset();
        failures_ = 0;
        last_trouble_ = clock_.now();
    }
    reports_.warning(fmt::format("{} can be written again and is used again", options_.directory.native()));
    callbacks_.changed();
}

void Volume::check_silence(std::chrono::nanoseconds longest) {
    const auto silence = system_.silence();
    if (silence < longest) return;
    const Error error{Errc::io, 0,
                      fmt::format("{} has not answered for {} s", options_.directory.native(),
                                  std::chrono::duration_cast<std::chrono::seconds>(silence).count())};
    if (hangs()) return;
    take_out_of_use(error, true);  // also when it was out of use before: its threads are stuck
    std::optional<HeldAnswers::Round> held;
    {
        const std::scoped_lock lock(rounds_mutex_);
        held = std::exchange(held_round_, std::nullopt);
    }
    if (held) settlement_.held().not_written(std::move(*held));
}

}  // namespace weir::recorder
