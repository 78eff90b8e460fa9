// SPDX-License-Identifier: Apache-2.0
#include "reports/recording_watch.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <utility>

namespace weir::recorder {
namespace {

constexpr std::chrono::seconds waiting_worth_an_alarm{10};

}  // namespace

RecordingWatch::RecordingWatch(RecordingWatchOptions options, Sources sources, const OperatorReports& reports,
                               const Clock& clock)
    : options_(std::move(options)),
      sources_(std::move(sources)),
      reports_(reports),
      clock_(clock),
      forecast_(clock.now()) {}

void RecordingWatch::step(SteadyTime now) {
    check_certificate();
    check_closing(now);
    check_memory();
    check_space(now);
}

/// Reported at the start, and once more when it gets worse: with a certificate that has ended no sender can connect.
void RecordingWatch::check_certificate() {
    const auto ends = sources_.certificate_ends();
    if (!ends) return;
    const auto now = clock_.wall();
    const auto state = now >= *ends                                             ? CertificateState::ended
                       : now > sources_.certificate_ends_soon().value_or(*ends) ? CertificateState::ends_soon
                                                                                : CertificateState::good;
    if (state <= certificate_) return;
    certificate_ = state;
    const auto when = fmt::format("{:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(*ends)));
    const auto& file = options_.certificate.native();
    reports_.alarm("certificate",
                   state == CertificateState::ended
                       ? fmt::format("{} ended on {}: senders refuse it; give a new one and start again", file, when)
                       : fmt::format("{} ends on {}; give a new one and start again before that", file, when));
}

void RecordingWatch::check_closing(SteadyTime now) {
    const auto files = sources_.closing_waits();
    if (!files) {
        waits_for_closing_since_.reset();
        closing_reported_ = false;
        return;
    }
    if (!waits_for_closing_since_) waits_for_closing_since_ = now;
    if (now - *waits_for_closing_since_ < waiting_worth_an_alarm || std::exchange(closing_reported_, true)) return;
    reports_.alarm("closing is slow",
                   fmt::format("{} files wait to be closed, no new ones are begun and senders wait; make files larger "
                               "(file_size_max), or look for what holds up the disks or the catalogue",
                               *files));
}

/// Senders of large events that come slowly hold memory for long.
void RecordingWatch::check_memory() {
    const auto wait = sources_.memory_wait();
    if (wait.longest < waiting_worth_an_alarm) {
        memory_reported_ = false;
        return;
    }
    if (std::exchange(memory_reported_, true)) return;
    reports_.alarm("senders wait for memory",
                   fmt::format("{} events wait, the first for {} s, for memory that events hold of which not all bytes "
                               "have come; look for slow senders, raise payload_rate_min or memory, or lower event_max",
                               wait.events, std::chrono::duration_cast<std::chrono::seconds>(wait.longest).count()));
}

void RecordingWatch::check_space(SteadyTime now) {
    if (!forecast_.due(now)) return;
    const auto [rate, until] = forecast_.add(now, sources_.bytes_stored(), sources_.usable_space());
    {
        const std::scoped_lock lock(mutex_);
        until_full_ = until;
    }
    if (!until || *until > 2 * options_.full_warning) space_reported_ = false;
    if (until && *until < options_.full_warning && !std::exchange(space_reported_, true))
        reports_.alarm("disks full soon",
                       fmt::format("at the present rate of {} a second there is space for {} s; add a directory or "
                                   "free some",
                                   human(rate), until->count()));
}

std::optional<std::chrono::seconds> RecordingWatch::until_full() const {
    const std::scoped_lock lock(mutex_);
    return until_full_;
}

}  // namespace weir::recorder
