// SPDX-License-Identifier: Apache-2.0
#include "run/directory/run_claim.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/process/signals.hpp"
#include "host/own_tls.hpp"
#include "run/directory/run_place.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"
#include "weir/control/lease_keeper.hpp"
#include "weir/control/open_run.hpp"
#include "weir/control/run_documents.hpp"
#include "weir/service/configuration_sections.hpp"
#include "weir/wire/peer.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* claims = "weir run";
constexpr auto look_each = 200ms;

std::string seconds_text(std::chrono::milliseconds time) {
    return fmt::format("{:.1f} s", std::chrono::duration<double>(time).count());
}

/// Behind an absence of the server every holder looks silent: it must have answered for so long that one that lives was
/// heard.
class Listening {
public:
    bool has_answered_long(SteadyTime now) {
        if (!since_) since_ = now;
        return now - *since_ >= control::lease_lost_after;
    }
    void no_answer() { since_.reset(); }

private:
    std::optional<SteadyTime> since_;
};

}  // namespace

Result<std::optional<LeasePlace>> lease_place(std::string_view text, const std::string& file) {
    const auto sections = WEIR_TRY(service::list_sections(text, file));
    LeasePlace place{{}, "weir"};
    bool has_hosts = false, all_share = true;
    std::optional<std::string> named, shared;
    for (const auto& section : sections) {
        has_hosts = has_hosts || section.path.starts_with("hosts.");
        const bool recorder = section.path.starts_with(fmt::format("{}.", name(StationKind::record))) &&
                              std::ranges::count(section.path, '.') == 1;
        std::string catalogue;
        for (const auto& value : section.texts) {
            if (section.path == "partition" && value.key == "name") place.partition = value.text;
            if (section.path == "run" && value.key == "lease") named = value.text;
            if (recorder && value.key == "catalogue") catalogue = value.text;
        }
        if (!recorder) continue;
        all_share = all_share && catalogue::is_postgres_uri(catalogue) && shared.value_or(catalogue) == catalogue;
        shared = catalogue;
    }
    if (!has_hosts || named == "none") return std::nullopt;
    if (named && !named->empty()) {
        place.uri = *named;
    } else if (shared && all_share) {
        place.uri = *shared;
    } else {
        return std::nullopt;
    }
    return place;
}

Result<RunClaim> RunClaim::lock(const std::filesystem::path& directory) {
    std::error_code failed;
    auto path = std::filesystem::absolute(directory, failed);
    if (!failed) std::filesystem::create_directories(path, failed);
    if (failed) return fail_errno(failed.value(), fmt::format("cannot make directory {}", directory.native()));
    auto numbers = WEIR_TRY(control::RunNumbers::open(path));
    return RunClaim(std::move(path), std::move(numbers));
}

std::string RunClaim::name() const { return fmt::format("{} (pid {})", place_name(), ::getpid()); }

std::string RunClaim::place_name() const { return fmt::format("{}:{}", system_name(), directory_.native()); }

/// By a run control that is gone.
bool RunClaim::is_left_here() const {
    std::error_code unknown;
    return RunPlace::find(directory_).has_value() ||
           std::filesystem::exists(control::OpenRun::file(directory_), unknown);
}

/// A run control of this directory had the lease: what is here is at least as new.
bool RunClaim::was_of_this_directory(const catalogue::LeaseHolder& holder) const {
    const auto ids = control::lease_ids(directory_);
    return std::ranges::find(ids, holder.id) != ids.end();
}

/// And it was one of this machine, so that the lock says that it is gone.
bool RunClaim::was_here(const catalogue::LeaseHolder& holder) const {
    return was_of_this_directory(holder) && holder.name.starts_with(place_name() + " (");
}

Result<> RunClaim::take(const LeasePlace& place, How how, const MayComeFromElsewhere& may) {
    place_ = place;
    if (lease_ == nullptr) {
        auto opened = catalogue::open_run_lease(place.uri, place.partition);
        if (opened) lease_ = std::move(*opened);
        else if (opened.error().code != Errc::io || (how == How::take_over && !is_left_here()))
            return std::unexpected(opened.error());
        else complain(claims, alone(opened.error()));
        if (!opened) return {};
    }
    auto taken = take_from_database(how, may);
    // Once it is taken from elsewhere, what is here is known to be older: without the documents nothing goes on.
    if (taken || taken_ || taken.error().code != Errc::io || (how == How::take_over && !is_left_here())) return taken;
    lease_.reset();
    complain(claims, alone(taken.error()));
    return {};
}

std::string RunClaim::alone(const Error& error) const {
    return fmt::format("{}; what this run control must remember is in {} alone until it answers", error.message(),
                       directory_.native());
}

Result<> RunClaim::take_from_database(How how, const MayComeFromElsewhere& may) {
    auto holder = WEIR_TRY(lease_->look());
    if (holder && !holder->ended && !was_here(*holder)) {
        if (holder->silent >= control::lease_lost_after && !listened_) {
            complain(claims, fmt::format("{} was not heard for {}; listens for {} whether it is alive", holder->name,
                                         seconds_text(holder->silent), seconds_text(control::lease_lost_after)));
            if (Signals().wait(control::lease_lost_after)) return fail(Errc::refused, "interrupted while it listened");
            holder = WEIR_TRY(lease_->look());
        }
        if (holder && !holder->ended && holder->silent < control::lease_lost_after)
            return fail(Errc::refused,
                        fmt::format("{} is run control of partition {}, and was heard {} ago; weir run --standby waits "
                                    "until it is gone, another partition needs another name",
                                    holder->name, place_->partition, seconds_text(holder->silent)));
    }
    const bool elsewhere = holder && !was_of_this_directory(*holder);
    if (elsewhere && how == How::take_over && !holder->ended) WEIR_TRY(may(*holder));
    if (!elsewhere) WEIR_TRY(control::note_lease_id(directory_, id_));
    taken_ = WEIR_TRY(lease_->take(id_, name(), holder ? std::optional(holder->id) : std::nullopt));
    if (!taken_)
        return fail(Errc::refused,
                    fmt::format("another run control took partition {} at the same time", place_->partition));
    if (!elsewhere) return {};
    // What is here is older, whatever it is.
    const auto documents = WEIR_TRY(lease_->documents());
    WEIR_TRY(control::put_run_documents(directory_, documents));
    WEIR_TRY(numbers_.read_again());
    WEIR_TRY(control::note_lease_id(directory_, id_));
    if (holder->ended) return {};
    complain(
        claims,
        how == How::take_over
            ? fmt::format("goes on with what {} left in {}", holder->name,
                          catalogue::printable_postgres_uri(place_->uri))
            : fmt::format("partition {} was left by {}; --take-over would have gone on with its run, if it had one",
                          place_->partition, holder->name));
    return {};
}

Result<RunClaim::Standing> RunClaim::look(const LeasePlace& place, const MayComeFromElsewhere& may) {
    if (lease_ == nullptr) {
        lease_ = WEIR_TRY(catalogue::open_run_lease(place.uri, place.partition));
    }
    const auto holder = WEIR_TRY(lease_->look());
    if (!holder || holder->ended) return Standing::nobody;
    if (was_here(*holder)) return Standing::ours;
    if (!was_of_this_directory(*holder)) WEIR_TRY(may(*holder));
    return holder->silent < control::lease_lost_after ? Standing::held : Standing::free;
}

Result<std::optional<RunClaim>> RunClaim::stand_by(const std::filesystem::path& directory,
                                                   const std::optional<LeasePlace>& place,
                                                   const MayComeFromElsewhere& may) {
    complain(claims, place ? fmt::format("stands by for the run control of partition {}, in {}", place->partition,
                                         catalogue::printable_postgres_uri(place->uri))
                           : fmt::format("stands by for the run control of {}", directory.native()));
    Signals signals;
    const SystemClock clock;
    Listening listening;
    std::optional<RunClaim> claim;
    std::string trouble;
    do {
        if (!claim) {
            auto locked = lock(directory);
            if (locked) claim.emplace(std::move(*locked));
            else if (locked.error().code != Errc::refused) return std::unexpected(locked.error());
        }
        if (!claim) continue;
        const bool left_here = RunPlace::find(claim->directory_).has_value();
        if (!place) return left_here ? std::optional(std::move(*claim)) : std::nullopt;
        // A run control of this directory that never reached the database: its lock alone counts.
        const bool of_lock_alone = left_here && control::lease_ids(claim->directory_).empty();
        const auto standing = claim->look(*place, may);
        if (!standing && standing.error().code != Errc::io) return std::unexpected(standing.error());
        if (of_lock_alone && (!standing || *standing == Standing::nobody)) return claim;
        if (!standing) {
            listening.no_answer();
            if (trouble == standing.error().message()) continue;
            trouble = standing.error().message();
            complain(claims, trouble + "; it is tried again");
            continue;
        }
        if (*standing == Standing::nobody) return std::nullopt;
        claim->listened_ = listening.has_answered_long(clock.now());
        if (*standing == Standing::ours || (*standing == Standing::free && claim->listened_)) return claim;
    } while (!signals.wait(look_each));
    return fail(Errc::refused, "interrupted while it stood by");
}

}  // namespace weir::app
