// SPDX-License-Identifier: Apache-2.0
#include "xrootd/xrootd_upload.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/clock.hpp"

namespace weir::handoff {

std::string reason(const XrdCl::XRootDStatus& status) {
    auto text = status.code == XrdCl::errErrorResponse
                    ? fmt::format("answer of the server: {}", status.GetErrorMessage())
                    : status.ToStr();
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\0')) text.pop_back();
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' '; }, ' ');
    return text.substr(0, 500);
}

std::uint16_t seconds_of(const Patience& patience) noexcept {
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(patience.answer).count();
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>(seconds, 1, 65'000));
}

Result<XrootdAnswer> settled(std::optional<XrootdAnswer> answer, const Patience& patience, const std::string& what) {
    if (!answer) {
        if (patience.stop.stop_requested()) return fail(Errc::refused, fmt::format("{}: stopped", what));
        return fail_errno(ETIMEDOUT, fmt::format("{}: no answer within {}", what,
                                                 weir::to_string(std::chrono::nanoseconds{patience.answer})));
    }
    if (!answer->status.IsOK()) return fail(Errc::io, fmt::format("{}: {}", what, reason(answer->status)));
    return std::move(*answer);
}

Result<std::unique_ptr<XrootdUpload>> XrootdUpload::open(const std::string& url, const XrootdOptions& options,
                                                         const Patience& patience) {
    std::unique_ptr<XrootdUpload> upload(new XrootdUpload(url, options, patience));
    // What was lost on the way is sent again by us, as a new attempt under another name.
    upload->file_->SetProperty("WriteRecovery", "false");
    upload->file_->SetProperty("ReadRecovery", "false");
    using XrdCl::Access;
    using XrdCl::OpenFlags;
    const auto flags = OpenFlags::Delete | OpenFlags::MakePath | OpenFlags::Update;
    const auto mode = static_cast<Access::Mode>(Access::UR | Access::UW | Access::GR | Access::OR);
    XrootdCall call(
        [&](XrdCl::ResponseHandler* handler) {
            return upload->file_->Open(url, flags, mode, handler, seconds_of(patience));
        },
        upload->file_);
    auto answer = call.wait(patience);
    upload->unanswered_ = !answer;
    WEIR_TRY(settled(std::move(answer), patience, fmt::format("cannot create {}", url)));
    return upload;
}

XrootdUpload::~XrootdUpload() {
    while (!in_flight_.empty() && !unanswered_) static_cast<void>(wait_for_oldest());
    if (!unanswered_ && !closed_ && file_->IsOpen()) {
        XrootdCall call([&](XrdCl::ResponseHandler* handler) { return file_->Close(handler, seconds_of(patience_)); },
                        file_);
        unanswered_ = !call.wait(patience_);
    }
    // Its destructor would close it, and wait: for as long as the server likes. Left to the end of the process.
    if (unanswered_ || file_->IsOpen()) static_cast<void>(new std::shared_ptr<XrdCl::File>(file_));
}

Result<> XrootdUpload::wait_for_oldest() {
    auto& oldest = in_flight_.front();
    auto answer = oldest.call.wait(patience_);
    unanswered_ = unanswered_ || !answer;
    if (answer) free_.push_back(oldest.buffer);
    in_flight_.pop_front();
    WEIR_TRY(settled(std::move(answer), patience_, fmt::format("cannot write {}", url_)));
    return {};
}

Result<MutableData> XrootdUpload::space() {
    if (patience_.stop.stop_requested()) return fail(Errc::refused, fmt::format("copy to {} was stopped", url_));
    if (free_.empty() && in_flight_.size() >= options_.blocks_in_flight) {
        WEIR_TRY(wait_for_oldest());
    }
    if (free_.empty()) free_.push_back(std::make_shared<fixity::AlignedBuffer>(options_.block));
    return free_.back()->data();
}

Result<> XrootdUpload::put(std::size_t size) {
    auto buffer = std::move(free_.back());
    free_.pop_back();
    struct Kept {
        std::shared_ptr<XrdCl::File> file;
        std::shared_ptr<fixity::AlignedBuffer> buffer;
    };
    in_flight_.push_back({buffer, XrootdCall(
                                      [&](XrdCl::ResponseHandler* handler) {
                                          return file_->Write(at_, static_cast<std::uint32_t>(size),
                                                              buffer->data().data(), handler, seconds_of(patience_));
                                      },
                                      std::make_shared<Kept>(file_, buffer))});
    at_ += size;
    return {};
}

Result<> XrootdUpload::finish() {
    while (!in_flight_.empty()) {
        WEIR_TRY(wait_for_oldest());
    }
    if (options_.sync) {
        XrootdCall call([&](XrdCl::ResponseHandler* handler) { return file_->Sync(handler, seconds_of(patience_)); },
                        file_);
        auto answer = call.wait(patience_);
        unanswered_ = !answer;
        WEIR_TRY(settled(std::move(answer), patience_, fmt::format("cannot sync {}", url_)));
    }
    XrootdCall call([&](XrdCl::ResponseHandler* handler) { return file_->Close(handler, seconds_of(patience_)); },
                    file_);
    auto answer = call.wait(patience_);
    unanswered_ = !answer;
    closed_ = answer.has_value();
    WEIR_TRY(settled(std::move(answer), patience_, fmt::format("cannot close {}", url_)));
    return {};
}

}  // namespace weir::handoff
