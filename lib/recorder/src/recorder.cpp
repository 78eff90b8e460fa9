// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/recorder.hpp"

#include <utility>

#include "recording.hpp"

namespace weir::recorder {

Result<std::unique_ptr<Recorder>> Recorder::open(RecorderOptions options, Reporter report, const Clock& clock,
                                                 FileSystem& system) {
    auto recording = WEIR_TRY(Recording::open(std::move(options), std::move(report), clock, system));
    return std::unique_ptr<Recorder>(new Recorder(std::move(recording)));
}

Recorder::Recorder(std::unique_ptr<Recording> recording) : recording_(std::move(recording)) {}
Recorder::~Recorder() = default;

void Recorder::start() { recording_->start(); }
Result<> Recorder::stop(std::chrono::milliseconds deadline) { return recording_->stop(deadline); }
std::optional<Error> Recorder::failure() const { return recording_->failure(); }
RunNumber Recorder::run() const noexcept { return recording_->run(); }
bool Recorder::continued() const noexcept { return recording_->continued(); }
std::uint16_t Recorder::port() const noexcept { return recording_->port(); }
RecorderSummary Recorder::summary() const { return recording_->summary(); }
std::optional<wire::EventIdSet> Recorder::stored_events() const { return recording_->stored_events(); }
std::vector<std::string> Recorder::volumes() const { return recording_->volumes(); }
std::optional<WallTime> Recorder::certificate_ends() const { return recording_->certificate_ends(); }

}  // namespace weir::recorder
