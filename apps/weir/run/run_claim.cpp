// SPDX-License-Identifier: Apache-2.0
#include "run/run_claim.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/command_line.hpp"
#include "cli/process/signals.hpp"
#include "host/own_tls.hpp"
#include "run/run_place.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"
#include "weir/control/lease_keeper.hpp"
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
        return now - *since_ >= 3 * control::lease_renewed_each;
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

std::string RunClaim::name() const {
    return fmt::format("{}:{} (pid {})", system_name(), directory_.native(), ::getpid());
}

bool RunClaim::was_of_this_directory(const catalogue::LeaseHolder& holder) const {
    const auto ids = control::lease_ids(directory_);
    return std::ranges::find(ids, holder.id) != ids.end();
}

Result<> RunClaim::take(const LeasePlace& place, How how, const MayComeFromElsewhere& may) {
    tried_ = true;
    if (lease_ == nullptr) {
        auto opened = catalogue::open_run_lease(place.uri, place.partition);
        if (!opened && opened.error().code != Errc::io) return std::unexpected(opened.error());
        if (!opened) {
            complain(claims, fmt::format("{}; what this run control must remember is in {} alone until it answers",
                                         opened.error().message(), directory_.native()));
            return {};
        }
        lease_ = std::move(*opened);
    }
    const auto holder = WEIR_TRY(lease_->look());
    if (holder && !holder->ended && !was_of_this_directory(*holder)) {
        if (holder->silent < control::lease_lost_after)
            return fail(Errc::refused,
                        fmt::format("{} is run control of partition {}, and was heard {} ago; weir run --standby waits "
                                    "until it is gone, another partition needs another name",
                                    holder->name, place.partition, seconds_text(holder->silent)));
        if (how == How::begin) {
            complain(claims, fmt::format("partition {} was left by {}, which was heard {} ago; --take-over would have "
                                         "gone on with its run, if it had one",
                                         place.partition, holder->name, seconds_text(holder->silent)));
        } else {
            WEIR_TRY(may(*holder));
            const auto documents = WEIR_TRY(lease_->documents());
            WEIR_TRY(control::put_run_documents(directory_, documents));
            WEIR_TRY(numbers_.read_again());
            complain(claims, fmt::format("goes on with what {} left in {}", holder->name,
                                         catalogue::printable_postgres_uri(place.uri)));
        }
    }
    WEIR_TRY(control::note_lease_id(directory_, id_));
    taken_ = WEIR_TRY(lease_->take(id_, name(), holder ? std::optional(holder->id) : std::nullopt));
    if (taken_) return {};
    return fail(Errc::refused, fmt::format("another run control took partition {} at the same time", place.partition));
}

Result<RunClaim::Standing> RunClaim::look(const LeasePlace& place, const MayComeFromElsewhere& may) {
    if (lease_ == nullptr) {
        lease_ = WEIR_TRY(catalogue::open_run_lease(place.uri, place.partition));
    }
    const auto holder = WEIR_TRY(lease_->look());
    if (!holder || holder->ended) return Standing::nobody;
    if (was_of_this_directory(*holder)) return Standing::ours;
    WEIR_TRY(may(*holder));
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
        const bool heard_enough = listening.has_answered_long(clock.now());
        if (*standing == Standing::ours || (*standing == Standing::free && heard_enough)) return claim;
    } while (!signals.wait(look_each));
    return fail(Errc::refused, "interrupted while it stood by");
}

}  // namespace weir::app
