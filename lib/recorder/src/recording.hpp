// SPDX-License-Identifier: Apache-2.0
// What stands behind a Recorder, put together. An event comes in at the left, and its answer goes out there:
//
//     sender -> receiver_ -- take() --> intake_ ---> streams_ ---> a file of one of volumes_
//                  ^                       | begin()    | open_next(), close_later()  | sync round
//                  |                       v            |                             v
//     sender <- receiver_ <-- answers -- settlement_ <--|--------- durable(), lost(), held()
//                                                       v
//                                                    keeper_ ---> files are closed ---> catalogue_
//
// An arrow is a call; what stands further right knows nothing of what stands further left, but for the settlement, and
// for notify_waiting(): there may be room for senders that wait. Beside this way, by time:
//
//     thread "due files":   files that are due, accounts_ (catalogue), catalogue_watch_
//     thread "disk watch":  volumes that do not answer, watch_ (what an operator must know in time)
//
// The header of each part names the threads that may call it. docs/architecture.md names the file of each.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "accounts/catalogue_accounts.hpp"
#include "accounts/lumi_blocks.hpp"
#include "closing/file_keeper.hpp"
#include "reports/catalogue_watch.hpp"
#include "reports/operator_reports.hpp"
#include "reports/recording_watch.hpp"
#include "settlement/settlement.hpp"
#include "streams/event_intake.hpp"
#include "streams/stream_set.hpp"
#include "volume/volume.hpp"
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

class Recording final : public delivery::EventSink, private AnswerTarget {
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

    // From the receiver:
    [[nodiscard]] std::optional<RunNumber> joined_run() override { return run_; }
    [[nodiscard]] std::optional<delivery::Refusal> hello(delivery::SessionId session,
                                                         const wire::Hello& hello) override;
    void session_closed(delivery::SessionId session) override { settlement_.forget(session); }
    [[nodiscard]] delivery::Taken take(delivery::IncomingEvent& event) override { return intake_->take(event); }
    void not_passed_on(delivery::SessionId session, const wire::EventMeta& event, wire::RejectReason reason,
                       delivery::CreditHold& credit) override {
        intake_->not_passed_on(session, event, reason, credit);
    }
    [[nodiscard]] delivery::AnswerTime not_passed_on_is_answered() const override {
        return delivery::AnswerTime::later;
    }

private:
    // To the receiver, from the settlement:
    void acknowledge(std::span<const delivery::Answer> events) override { receiver_->acknowledge(events); }
    void reject(delivery::Answer event, wire::RejectReason reason, std::string text) override {
        receiver_->reject(event, reason, std::move(text));
    }
    void not_passed_on(std::span<const delivery::Answer> events) override { receiver_->answer(events); }
    void send_again(std::span<const delivery::Answer> events) override { receiver_->send_again(events); }
    void retry() override { receiver_->retry(); }
    /// Of senders that wait for a new file.
    void notify_waiting();

    Recording(RecorderOptions options, Reporter report, const Clock& clock, FileSystem& system);

    // Opening: recording_open.cpp, in this order
    struct Directories;
    [[nodiscard]] Result<> open_all();
    [[nodiscard]] Result<Directories> take_directories();
    [[nodiscard]] Result<> open_receiver();
    [[nodiscard]] Result<> open_catalogue();
    [[nodiscard]] Result<> open_run();
    [[nodiscard]] Result<> open_volumes(Directories directories);
    [[nodiscard]] Result<> open_streams();
    [[nodiscard]] Result<> restore_promises();
    [[nodiscard]] RecordingWatch::Sources watched();

    void step_due_files();   // thread "due files"
    void step_disk_watch();  // thread "disk watch"
    [[nodiscard]] bool make_room_for_catalogue();
    [[nodiscard]] Result<> recover_volume(Volume& volume);
    [[nodiscard]] Result<std::vector<catalogue::FileRow>> recover_what_is_left(bool also_good_volumes);
    void report_doubts(const recovery::RecoveryResult& recovered) const;

    const RecorderOptions options_;
    OperatorReports reports_;
    const Clock& clock_;
    FileSystem& system_;
    RunNumber run_{};
    bool continued_ = false;
    bool stopped_ = false;
    SteadyTime started_{};

    memory::BufferPool buffers_;                       // of events that are received
    std::unique_ptr<SegmentPool> segments_;            // of files that are written
    std::shared_ptr<catalogue::Catalogue> catalogue_;  // also of a thread that hangs in recover_volume()
    LumiBlocks blocks_;
    Settlement settlement_;
    std::vector<std::unique_ptr<Volume>> volumes_;
    std::unique_ptr<FileKeeper> keeper_;
    std::unique_ptr<StreamSet> streams_;
    std::unique_ptr<EventIntake> intake_;

    std::unique_ptr<CatalogueAccounts> accounts_;      // open(), due files, stop(); sync threads in recover_volume()
    std::unique_ptr<CatalogueWatch> catalogue_watch_;  // due files, then stop()
    std::unique_ptr<RecordingWatch> watch_;            // open(), then the disk watch
    std::jthread due_files_;                           // from open() to stop()
    std::jthread disk_watch_;                          // from start() on; ends before the volumes

    std::unique_ptr<delivery::Receiver> receiver_;  // the last member: its threads call into all the others
};

}  // namespace weir::recorder
