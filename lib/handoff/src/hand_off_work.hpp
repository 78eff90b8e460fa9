// SPDX-License-Identifier: Apache-2.0
// What the hand-off knows and does. hand_off.cpp copies, hand_off_look.cpp looks into the catalogue,
// hand_off_reports.cpp reports.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "plan/plan.hpp"
#include "transfer/backoff.hpp"
#include "transfer/deletion.hpp"
#include "transfer/transfer.hpp"
#include "weir/handoff/hand_off.hpp"

namespace weir::handoff {

class HandOff::Work {
public:
    Work(catalogue::Catalogue& catalogue, std::vector<std::unique_ptr<Destination>> destinations,
         HandOffOptions options, const Clock& clock, Reporter report);
    ~Work();
    Work(const Work&) = delete;
    Work& operator=(const Work&) = delete;

    void start();
    [[nodiscard]] bool wait_until_over(std::chrono::milliseconds at_most);
    [[nodiscard]] bool finish_run(RunNumber run, std::chrono::milliseconds at_most);
    [[nodiscard]] bool stop(std::chrono::milliseconds deadline);
    [[nodiscard]] HandOffSummary summary() const;

private:
    struct Session {  // of one destination
        Destination* destination = nullptr;
        std::string pattern;
        TransferOptions options;
        std::unique_ptr<Transfer> transfer;
        std::atomic<std::uint64_t> bytes_sent{0};  // relaxed: for people
        // Under the lock:
        DestinationSummary counts;
        unsigned failures = 0;    // in sequence, by the destination
        SteadyTime not_before{};  // after such a failure
        bool probing = false;     // one tries whether it is back
        std::vector<std::pair<std::string, catalogue::TransferRow>>
            orphans;  // places and rows of copies that are not tried again
    };

    // The work of each kind of thread.
    void look(const std::stop_token& stop);
    void copy_files(Session& session, std::size_t number, const std::stop_token& stop);
    void delete_files(const std::stop_token& stop);

    [[nodiscard]] Result<> begin();
    [[nodiscard]] Result<> offer(const catalogue::FileRow& file);
    [[nodiscard]] Result<> refresh();
    [[nodiscard]] Result<> find_missing_copies();
    [[nodiscard]] Result<> find_orphans();
    [[nodiscard]] bool to_be_handed_over(const catalogue::FileRow& file);
    void complete_files();
    void alarm_the_late();
    void clean_orphans(Session& session, const std::stop_token& stop);
    [[nodiscard]] std::optional<Job> next_job(Session& session, std::size_t number, const std::stop_token& stop);
    void finish(Session& session, std::size_t number, const Job& job, const TransferResult& result);
    void report_failure(const Session& session, const Job& job, const TransferResult& result);
    void wait(std::unique_lock<std::mutex>& lock, std::chrono::nanoseconds time, const std::stop_token& stop);
    [[nodiscard]] bool over_in_lock() const;
    void run_thread(std::function<void(const std::stop_token&)> work);

    catalogue::Catalogue& catalogue_;
    const std::vector<std::unique_ptr<Destination>> destinations_;
    const HandOffOptions options_;
    const Clock& clock_;
    const Reporter report_;
    std::optional<fixity::RateLimit> limit_;
    Backoff backoff_;
    std::vector<std::unique_ptr<Session>> sessions_;
    std::optional<Deletion> deletion_;
    const SteadyTime begin_;

    mutable std::mutex mutex_;  // of what follows, and of what the sessions have under it
    std::condition_variable_any changed_;
    Plan plan_;
    bool looked_ = false;                              // into the catalogue
    std::uint64_t looks_wanted_ = 0, looks_done_ = 0;  // of finish_run(): the number of the call that a look is for
    std::set<Guid> missing_;                           // TRANSFERRED, and a destination that is new has them not
    std::set<Guid> without_sum_;                       // not handed over, and reported
    struct Completion {
        RunNumber run{};
        unsigned tries = 0;
    };
    std::map<Guid, Completion> to_be_completed_;  // every destination has them; to be entered in the catalogue
    HandOffSummary counts_;
    std::optional<SteadyTime> first_taken_, last_verified_;
    std::size_t threads_running_ = 0;

    std::stop_source stop_;
    std::vector<std::thread> threads_;
};

}  // namespace weir::handoff
