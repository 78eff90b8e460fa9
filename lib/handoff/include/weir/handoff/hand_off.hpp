// SPDX-License-Identifier: Apache-2.0
// The hand-off as a whole: it looks into the catalogue for closed files, copies them to every destination
// by a few threads each, so that a destination that hangs holds up nobody else, and makes room when all
// have them. It owns its threads and reports what a person must know.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "weir/fixity/rate_limit.hpp"
#include "weir/handoff/deletion.hpp"
#include "weir/handoff/plan.hpp"
#include "weir/handoff/transfer.hpp"
#include "weir/service/reports.hpp"

namespace weir::handoff {

struct HandOffOptions {
    TransferOptions transfer;
    std::vector<std::string> patterns;    // of the directories at each destination, in their order
    std::vector<std::string> priorities;  // "express_*=1"
    std::optional<std::string> recorder;  // only files of this one; none: all of the catalogue
    unsigned concurrency = 2;             // files at once, of each destination
    Bytes rate{0};                        // of all copies together, bytes a second; 0: no limit
    std::chrono::milliseconds retry_first{1'000};
    std::chrono::milliseconds retry_most{600'000};
    std::chrono::milliseconds poll{1'000};  // how often the catalogue is looked at
    std::chrono::seconds alarm_age{3'600};  // a file that is closed longer than this and not handed over is an alarm
    unsigned tries = 3;                     // with `once`: of one file, and in sequence of a destination
    bool once = false;                      // what is closed now, then the end
    DeletionOptions deletion;
};

struct DestinationSummary {
    std::string name;
    std::uint64_t transferred = 0;  // files, since the start
    std::uint64_t bytes = 0;        // of these
    std::uint64_t bytes_sent = 0;   // also of attempts that failed
    std::uint64_t failed = 0;       // attempts
    std::uint64_t unverified = 0;   // answers that did not come
    std::uint64_t given_up = 0;     // files, with `once`
    std::size_t waiting = 0, in_hand = 0;
    std::optional<WallTime> oldest;  // of these: when it was closed
    bool up = true;                  // the last attempt did not fail by the destination
    std::string error;               // of the last failure
};

struct HandOffSummary {
    std::vector<DestinationSummary> destinations;
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
    /// Catalogue, reports and clock must outlive it. Errc::usage: an option that cannot be.
    [[nodiscard]] static Result<std::unique_ptr<HandOff>> create(Catalogue& catalogue,
                                                                 std::vector<std::unique_ptr<Destination>> destinations,
                                                                 HandOffOptions options, Reports& reports,
                                                                 const Clock& clock);
    ~HandOff();
    HandOff(const HandOff&) = delete;
    HandOff& operator=(const HandOff&) = delete;

    void start();

    /// With `once`: everything is done or given up. Waits at most `at_most`.
    [[nodiscard]] bool wait_until_over(std::chrono::milliseconds at_most);

    /// Asks all threads to stop and waits for them; false: some did not (a disk that hangs), and the process should end
    /// without destroying this. Copies that were begun are removed as far as their destination answers.
    [[nodiscard]] bool stop(std::chrono::milliseconds deadline);

    [[nodiscard]] HandOffSummary summary() const;

private:
    struct Lane {  // of one destination
        Destination* destination = nullptr;
        std::string pattern;
        TransferOptions options;
        std::unique_ptr<Transfer> transfer;
        std::atomic<std::uint64_t> bytes_sent{0};  // relaxed: for people
        // Under the lock:
        DestinationSummary counts;
        unsigned failures = 0;                                     // in sequence, by the destination
        SteadyTime not_before{};                                   // after such a failure
        bool probing = false;                                      // one tries whether it is back
        std::vector<std::pair<std::string, TransferRow>> orphans;  // places and rows of copies that are not tried again
    };

    HandOff(Catalogue& catalogue, std::vector<std::unique_ptr<Destination>> destinations, HandOffOptions options,
            Priorities priorities, Reports& reports, const Clock& clock);
    // The work of each kind of thread.
    void look(const std::stop_token& stop);
    void copy_files(Lane& lane, std::size_t number, const std::stop_token& stop);
    void delete_files(const std::stop_token& stop);

    [[nodiscard]] Result<> begin();
    [[nodiscard]] Result<> offer(const FileRow& file);
    [[nodiscard]] Result<> refresh();
    [[nodiscard]] Result<> find_missing_copies();
    [[nodiscard]] Result<> find_orphans();
    [[nodiscard]] bool to_be_handed_over(const FileRow& file);
    void complete_files();
    void alarm_the_late();
    void clean_orphans(Lane& lane, const std::stop_token& stop);
    [[nodiscard]] std::optional<Job> next_job(Lane& lane, std::size_t number, const std::stop_token& stop);
    void finish(Lane& lane, std::size_t number, const Job& job, const TransferResult& result);
    void report(const Lane& lane, const Job& job, const TransferResult& result);
    void wait(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time, const std::stop_token& stop);
    [[nodiscard]] bool over_in_lock() const;
    void run_thread(std::function<void(const std::stop_token&)> work);

    Catalogue& catalogue_;
    const std::vector<std::unique_ptr<Destination>> destinations_;
    const HandOffOptions options_;
    Reports& reports_;
    const Clock& clock_;
    std::optional<fixity::RateLimit> limit_;
    Backoff backoff_;
    std::vector<std::unique_ptr<Lane>> lanes_;
    std::optional<Deletion> deletion_;
    const SteadyTime begin_;

    mutable std::mutex mutex_;  // of what follows, and of what the lanes have under it
    std::condition_variable_any changed_;
    Plan plan_;
    bool looked_ = false;  // into the catalogue
    std::set<Guid> missing_;      // TRANSFERRED, and a destination that is new has them not
    std::set<Guid> without_sum_;  // not handed over, and told
    std::map<Guid, unsigned>
        to_be_completed_;  // every destination has them, the catalogue shall say so; times it was tried
    HandOffSummary counts_;
    std::optional<SteadyTime> first_taken_, last_verified_;
    std::size_t threads_running_ = 0;

    std::stop_source stop_;
    std::vector<std::thread> threads_;
};

}  // namespace weir::handoff
