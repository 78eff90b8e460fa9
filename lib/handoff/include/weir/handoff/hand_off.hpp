// SPDX-License-Identifier: Apache-2.0
// The hand-off as a whole: it looks into the catalogue for closed files, copies them to every destination
// by a few threads each, so that a destination that hangs holds up no other, and makes room when all
// have them. It owns its threads and reports what a person must know.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/handoff/destination.hpp"
#include "weir/handoff/hand_off_options.hpp"

namespace weir::handoff {

struct DestinationSummary {
    std::string name;
    std::uint64_t transferred = 0;  // files, since the start
    std::uint64_t bytes = 0;        // of these
    std::uint64_t bytes_sent = 0;   // also of attempts that failed
    std::uint64_t failed = 0;       // attempts
    std::uint64_t wrong_bytes = 0;  // of these: other bytes are there than were sent
    std::uint64_t unverified = 0;   // answers that did not come
    std::uint64_t abandoned = 0;    // files, with `once`
    std::size_t waiting = 0, in_hand = 0;
    std::optional<WallTime> oldest;  // of these: when it was closed
    bool up = true;                  // the last attempt did not fail by the destination
    std::string error;               // of the last failure
};

struct HandOffSummary {
    std::vector<DestinationSummary> destinations;
    std::uint64_t files_open = 0;  // that some destination has not yet, or the catalogue does not call transferred
    std::uint64_t files_transferred = 0;  // to every destination
    std::uint64_t files_quarantined = 0;
    std::uint64_t files_without_sum = 0;  // not handed over: nothing to verify a copy against
    std::uint64_t files_deleted = 0;
    std::uint64_t bytes_deleted = 0;
    std::uint64_t catalogue_failures = 0;
    std::chrono::nanoseconds running{0};
    std::optional<std::chrono::nanoseconds> busy;  // from the first file taken to the last that was verified
};

class HandOff {
public:
    /// Catalogue, clock and what `report` reaches must outlive it. Errc::usage: an option that cannot be.
    [[nodiscard]] static Result<std::unique_ptr<HandOff>> create(catalogue::Catalogue& catalogue,
                                                                 std::vector<std::unique_ptr<Destination>> destinations,
                                                                 HandOffOptions options, const Clock& clock,
                                                                 Reporter report = {});
    ~HandOff();
    HandOff(const HandOff&) = delete;
    HandOff& operator=(const HandOff&) = delete;

    void start();

    /// With `once`: everything is done or abandoned. Waits at most `at_most`.
    [[nodiscard]] bool wait_until_over(std::chrono::milliseconds at_most);

    /// Looks into the catalogue at once, and waits until each file of the run that is closed there is handed over, or
    /// cannot be (it is damaged, or has no sum). False: some are not after `at_most`, and are tried further; or stop()
    /// was called meanwhile.
    [[nodiscard]] bool finish_run(RunNumber run, std::chrono::milliseconds at_most);

    /// Asks all threads to stop and waits for them; false: some did not (a disk that hangs), and the process should end
    /// without destroying this. Copies that were begun are removed as far as their destination answers.
    [[nodiscard]] bool stop(std::chrono::milliseconds deadline);

    [[nodiscard]] HandOffSummary summary() const;

private:
    class Work;
    explicit HandOff(std::unique_ptr<Work> work);
    std::unique_ptr<Work> work_;
};

}  // namespace weir::handoff
