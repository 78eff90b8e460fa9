// SPDX-License-Identifier: Apache-2.0
// What stands behind a Recorder: it connects the parts (receiver, streams, files, volumes, catalogue) and owns them.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "accounts/durable_sessions.hpp"
#include "accounts/held_answers.hpp"
#include "accounts/partial_copies.hpp"
#include "accounts/unique_events.hpp"
#include "closing/file_keeper.hpp"
#include "reports/catalogue_watch.hpp"
#include "reports/operator_reports.hpp"
#include "reports/recording_watch.hpp"
#include "streams/event_copier.hpp"
#include "streams/stream.hpp"
#include "streams/stream_thread.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/delivery/receiver.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/recorder_options.hpp"
#include "weir/recorder/recorder_summary.hpp"

namespace weir::recovery {
struct RecoveryResult;
}

namespace weir::recorder {

class Recording final : public delivery::EventSink {
public:
    [[nodiscard]] static Result<std::unique_ptr<Recording>> open(RecorderOptions options, Reporter report,
                                                                 const Clock& clock, FileSystem& system);
    ~Recording() override;

    // As of Recorder:
    void start();
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline);
    [[nodiscard]] std::optional<Error> failure() const;
    [[nodiscard]] RunNumber run() const noexcept { return run_; }
    [[nodiscard]] bool continued() const noexcept { return continued_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return receiver_->port(); }
    [[nodiscard]] RecorderSummary summary() const;
    [[nodiscard]] std::optional<wire::EventIdSet> stored_events() const;
    [[nodiscard]] std::vector<std::string> volumes() const;
    [[nodiscard]] std::optional<WallTime> certificate_ends() const { return receiver_->certificate_ends(); }

    [[nodiscard]] std::optional<RunNumber> joined_run() override { return run_; }
    [[nodiscard]] std::optional<delivery::Refusal> hello(delivery::SessionId session,
                                                         const wire::Hello& hello) override;
    void session_closed(delivery::SessionId session) override { sessions_.forget(number(session)); }
    [[nodiscard]] delivery::Taken take(delivery::IncomingEvent& event) override;
    void not_passed_on(delivery::SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                       delivery::CreditHold& credit) override;
    [[nodiscard]] delivery::AnswerTime not_passed_on_is_answered() const override {
        return delivery::AnswerTime::later;
    }

private:
    struct StreamEntry {
        std::unique_ptr<Stream> stream;
        std::unique_ptr<StreamThread> thread;  // modes original and parallel
    };
    struct EventInHand;

    Recording(RecorderOptions options, Reporter report, const Clock& clock, FileSystem& system);
    [[nodiscard]] Result<> open_all();
    [[nodiscard]] Result<> open_catalogue_and_run();
    [[nodiscard]] bool make_room_for_catalogue();
    [[nodiscard]] Result<> restore_promises();
    [[nodiscard]] std::vector<catalogue::SessionMark> take_changed_marks();
    [[nodiscard]] StreamEntry* find_or_make_stream(const StreamTag& tag, event::Format format,
                                                   wire::RejectReason& why_not);
    void count_rejected(const wire::EventMeta& event, wire::RejectReason reason);
    /// Its count is durable before it is answered.
    void hold_rejection(delivery::Answer event, wire::RejectReason reason, std::string text,
                        delivery::CreditHold credit = {});
    void answer(HeldAnswers::Round& round);
    [[nodiscard]] delivery::Taken reject(delivery::IncomingEvent& event, wire::RejectReason reason, std::string text);
    enum class Stored { yes, full, late };
    [[nodiscard]] Stored store_copy(Stream& stream, const delivery::IncomingEvent& event,
                                    const std::shared_ptr<Ticket>& ticket, std::uint16_t copy,
                                    datafile::EarlierStreams earlier);
    /// The streams of those copies before `copy` that are taken.
    [[nodiscard]] datafile::EarlierStreams earlier_streams(const std::vector<StreamEntry*>& entries,
                                                           std::uint64_t taken, std::uint16_t copy);
    void store_copy_waiting(Stream& stream, EventInHand& event, std::uint16_t copy,
                            const datafile::EarlierStreams& earlier);
    enum class Fate { durable, late, lost };
    void mark(Ticket& ticket, std::uint16_t copy, Fate fate);
    /// What becomes of an event of which `count` copies more have met their fate. An answer that is held takes its
    /// credit.
    enum class Answered { not_yet, acknowledge, send_again, held };
    [[nodiscard]] Answered settle(Ticket& ticket, std::uint32_t count, std::vector<delivery::Answer>& duplicates_again,
                                  delivery::CreditHold* credit = nullptr);
    void settle_and_answer(Ticket& ticket, delivery::CreditHold* credit = nullptr);
    void on_durable(std::vector<PlacedCopy>& copies);
    void on_lost(std::vector<PlacedCopy>& copies);
    void no_longer_in_hand(std::uint64_t copies);
    // Unique events: recording_duplicates.cpp
    /// Nothing: the event is taken now, and `left` says what of it is there; else what became of it.
    [[nodiscard]] std::optional<delivery::Taken> look_for_duplicate(delivery::IncomingEvent& event,
                                                                    const std::vector<StreamEntry*>& entries,
                                                                    std::uint64_t& streams, UniqueEvents::Left& left);
    void reject_duplicates(const std::vector<UniqueEvents::Duplicate>& duplicates);
    void ask_again(const std::vector<UniqueEvents::Duplicate>& duplicates, std::vector<delivery::Answer>& again);
    [[nodiscard]] Result<std::vector<catalogue::FileRow>> recover_what_is_left(bool also_good_volumes);
    [[nodiscard]] Result<> recover_volume(const std::filesystem::path& directory);
    void doubt(const recovery::RecoveryResult& recovered) const;
    [[nodiscard]] Result<> tell_ledger(bool at_the_end);
    void tell_ledger_now_and_then();
    void close_blocks();  // in the catalogue, those that are over
    void report_rejections(bool at_the_end);
    void watch_disks();  // disk watch
    [[nodiscard]] RecordingWatch::Sources watched();

    const RecorderOptions options_;
    OperatorReports reports_;
    const Clock& clock_;
    FileSystem& system_;
    RunNumber run_{};
    bool continued_ = false;
    bool stopped_ = false;
    SteadyTime started_{};

    std::unique_ptr<catalogue::Catalogue> catalogue_;
    std::unique_ptr<CatalogueWatch> catalogue_watch_;  // the keeper's thread, then stop()
    memory::BufferPool buffers_;
    std::unique_ptr<SegmentPool> segments_;
    std::unique_ptr<EventCopier> copier_;
    DurableSessions sessions_;
    PartialCopies partial_;
    UniqueEvents unique_;
    std::atomic<bool> unchecked_said_{false};
    const std::uint64_t copies_in_hand_max_;  // so that small events have a bound too
    std::atomic<std::uint64_t> copies_in_hand_{0};
    std::atomic<bool> somebody_waits_{false};
    std::vector<std::unique_ptr<Volume>> volumes_;
    LumiBlocks blocks_;
    std::unique_ptr<FileKeeper> keeper_;

    mutable std::shared_mutex streams_mutex_;
    std::map<std::string, StreamEntry, std::less<>> streams_;
    std::mutex earlier_mutex_;
    std::map<std::vector<const Stream*>, datafile::EarlierStreams> earlier_;  // each list once
    Ledger unplaced_;  // copies that were refused before they had a stream
    HeldAnswers held_;
    std::mutex ledger_mutex_;
    std::map<const Ledger*, Ledger::Counts> ledger_told_;  // to the catalogue
    SteadyTime ledger_due_{};
    std::atomic<std::uint64_t> last_rejected_{0};               // global id
    std::map<std::string, std::uint64_t> rejections_reported_;  // by the keeper's thread, then by stop()
    SteadyTime rejections_due_{};

    std::atomic<bool> nowhere_{
        false};  // somebody waits for a new file; the keeper's thread looks, and the closing ones
    std::atomic<SteadyTime::rep> give_up_at_{std::numeric_limits<SteadyTime::rep>::max()};  // a stop's deadline

    std::unique_ptr<RecordingWatch> watch_;  // open(), then the disk watch
    std::jthread disk_watch_;                // ends before the volumes

    std::unique_ptr<delivery::Receiver> receiver_;  // the last member: its threads call into all the others
};

}  // namespace weir::recorder
