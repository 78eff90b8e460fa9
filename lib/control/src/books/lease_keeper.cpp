// SPDX-License-Identifier: Apache-2.0
#include "weir/control/lease_keeper.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "weir/base/file.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"
#include "weir/control/run_documents.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto look_for_changes = 50ms;
constexpr auto try_again_after = 500ms;
constexpr auto alarm_after = 5s;  // without a copy that is up to date
constexpr Bytes document_max = 64_MiB;
constexpr const char* ids_name = "run-lease";
constexpr std::size_t ids_max = 4;

}  // namespace

std::vector<Guid> lease_ids(const std::filesystem::path& directory) {
    std::vector<Guid> ids;
    const auto text = read_text(directory / ids_name, 1_KiB);
    if (!text) return ids;
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);)
        if (const auto id = parse_guid(line)) ids.push_back(*id);
    return ids;
}

Result<> note_lease_id(const std::filesystem::path& directory, const Guid& id) {
    auto ids = lease_ids(directory);
    if (std::ranges::find(ids, id) != ids.end()) return {};
    ids.insert(ids.begin(), id);
    ids.resize(std::min(ids.size(), ids_max));
    std::string text;
    for (const auto& one : ids) text += to_string(one) + "\n";
    return replace_text(directory / ids_name, text, Synced::yes);
}

LeaseKeeper::LeaseKeeper(LeaseKeeperOptions options, std::unique_ptr<catalogue::RunLease> lease, Reporter report,
                         const Clock& clock)
    : options_(std::move(options)),
      report_(std::move(report)),
      clock_(clock),
      lease_(std::move(lease)),
      taken_(options_.taken && lease_ != nullptr),
      good_(clock.now()),
      thread_([this](const std::stop_token& stop) { keep(stop); }) {}

LeaseKeeper::~LeaseKeeper() = default;

std::optional<std::string> LeaseKeeper::superseded() const {
    const std::scoped_lock lock(mutex_);
    return superseded_;
}

void LeaseKeeper::end() {
    thread_.request_stop();
    thread_.join();
    if (superseded()) return;
    const auto last = once();  // what changed since the last look
    if (!taken_ || superseded()) return;
    const auto ended = last ? lease_->end(options_.id) : std::unexpected(last.error());
    if (!ended)
        report_({.severity = Severity::warning,
                 .what = "the end of this run control is not known in the database",
                 .why = ended.error().message(),
                 .advice = "what stands by will take over, and find no run"});
}

LeaseKeeper::Stamp LeaseKeeper::stamp_of(const std::filesystem::path& file) {
    struct stat seen{};
    if (::stat(file.c_str(), &seen) != 0) return {};
    return {seen.st_ino, seen.st_mtim.tv_sec * 1'000'000'000LL + seen.st_mtim.tv_nsec, seen.st_size};
}

void LeaseKeeper::keep(const std::stop_token& stop) {
    while (!stop.stop_requested()) {
        const auto done = once();
        if (!done) lease_.reset();  // opened again: it may be another server by then, without our tables
        show(done);
        if (superseded()) return;
        std::unique_lock lock(mutex_);
        stopped_.wait_for(lock, stop, done ? look_for_changes : try_again_after, [] { return false; });
    }
}

Result<> LeaseKeeper::once() {
    if (lease_ == nullptr) {
        lease_ = WEIR_TRY(catalogue::open_run_lease(options_.uri, options_.partition));
    }
    if (!taken_) {
        WEIR_TRY(take_lease());
    }
    const auto now = clock_.now();
    if (now - renewed_ >= lease_renewed_each) {
        const auto ours = WEIR_TRY(lease_->renew(options_.id));
        if (!ours) return lose();
        renewed_ = now;
    }
    const auto ours = WEIR_TRY(copy_changes());
    return ours ? Result<>{} : lose();
}

/// The database was away when this run control began. What another one has that lives is left to it: which of the two
/// commands is decided at the machines, and the other one ends.
Result<> LeaseKeeper::take_lease() {
    const auto holder = WEIR_TRY(lease_->look());
    if (holder && holder->id != options_.id && !holder->ended && holder->silent < lease_lost_after) {
        const auto ids = lease_ids(options_.directory);
        if (std::ranges::find(ids, holder->id) == ids.end())
            return fail(Errc::refused,
                        fmt::format("{} has the lease of partition {}", holder->name, options_.partition));
    }
    WEIR_TRY(note_lease_id(options_.directory, options_.id));
    taken_ = WEIR_TRY(lease_->take(options_.id, options_.name, holder ? std::optional(holder->id) : std::nullopt));
    if (taken_) return {};
    return fail(Errc::io, "two run controls took the lease at once");
}

Result<bool> LeaseKeeper::copy_changes() {
    if (!knows_) {  // of the one before, which this one has perhaps not
        const auto there = WEIR_TRY(lease_->documents());
        for (const auto& [name, text] : there) copied_[name] = {.size = unknown};
        knows_ = true;
    }
    auto gone = copied_;
    auto copy = [&](const std::string& name) -> Result<bool> {
        gone.erase(name);
        const auto path = options_.directory / name;
        const auto stamp = stamp_of(path);
        if (const auto before = copied_.find(name);
            before != copied_.end() ? before->second == stamp : stamp == Stamp{})
            return true;
        std::optional<std::string> text;
        if (stamp.size != not_there) {
            auto read = read_text(path, document_max);
            if (!read && read.error().os_errno == ENOENT) return true;  // it went in between: with the next look
            if (!read) return std::unexpected(read.error());
            text = std::move(*read);
        }
        const auto ours = WEIR_TRY(lease_->put(options_.id, name, text));
        if (ours) copied_[name] = stamp;
        return ours;
    };
    for (const auto& name : run_documents(options_.directory)) {
        const auto ours = WEIR_TRY(copy(name));
        if (!ours) return false;
    }
    for (const auto& [name, stamp] : gone) {  // records of runs that are over
        const auto ours = WEIR_TRY(lease_->put(options_.id, name, std::nullopt));
        if (!ours) return false;
        copied_.erase(name);
    }
    return true;
}

/// Another one took the lease, or the database is not what it was: an older copy, say, in which it is to be had again.
Result<> LeaseKeeper::lose() {
    taken_ = knows_ = false;
    copied_.clear();
    const auto holder = WEIR_TRY(lease_->look());
    if (!holder || (!holder->ended && holder->silent >= lease_lost_after))
        return fail(Errc::io, fmt::format("partition {} has lost its lease; it is taken again", options_.partition));
    const std::scoped_lock lock(mutex_);
    superseded_ = fmt::format("superseded: {} has the lease of partition {} in {}", holder->name, options_.partition,
                              catalogue::printable_postgres_uri(options_.uri));
    return {};
}

void LeaseKeeper::show(const Result<>& done) {
    const auto now = clock_.now();
    if (done) {
        if (alarmed_)
            report_.information(fmt::format("what run control must remember is in {} again",
                                            catalogue::printable_postgres_uri(options_.uri)));
        alarmed_ = false;
        good_ = now;
    } else if (!alarmed_ && now - good_ >= alarm_after) {
        alarmed_ = true;
        report_({.severity = Severity::error,
                 .what = "what run control must remember does not reach the database",
                 .why = done.error().message(),
                 .advice = "the run goes on; until it does, only a run control in this directory can take over",
                 .alarm = "lease not kept"});
    }
}

}  // namespace weir::control
