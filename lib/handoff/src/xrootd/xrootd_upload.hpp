// SPDX-License-Identifier: Apache-2.0
// A file that is being written to an XRootD server: a few blocks are on their way while the next is read.
#pragma once

#include <XrdCl/XrdClFile.hh>

#include <deque>

#include "weir/fixity/pieces.hpp"
#include "weir/handoff/xrootd_destination.hpp"
#include "xrootd/xrootd_call.hpp"

namespace weir::handoff {

/// "[3009] no space left on device", without the client's decoration; one line.
[[nodiscard]] std::string reason(const XrdCl::XRootDStatus& status);
/// The client's limit for one answer: whole seconds, never 0, which would be none.
[[nodiscard]] std::uint16_t seconds_of(const Patience& patience) noexcept;
/// The status of an answer, or why there is none.
[[nodiscard]] Result<XrootdAnswer> settled(std::optional<XrootdAnswer> answer, const Patience& patience,
                                           const std::string& what);

class XrootdUpload final : public Upload {
public:
    [[nodiscard]] static Result<std::unique_ptr<XrootdUpload>> open(const std::string& url,
                                                                    const XrootdOptions& options,
                                                                    const Patience& patience);
    ~XrootdUpload() override;

    Result<MutableData> space() override;
    Result<> put(std::size_t size) override;
    Result<> finish() override;

private:
    struct Block {
        std::shared_ptr<fixity::AlignedBuffer> buffer;
        XrootdCall call;
    };
    XrootdUpload(std::string url, const XrootdOptions& options, const Patience& patience)
        : url_(std::move(url)), options_(options), patience_(patience), file_(std::make_shared<XrdCl::File>()) {}
    Result<> wait_for_oldest();

    const std::string url_;
    const XrootdOptions options_;
    const Patience patience_;
    std::shared_ptr<XrdCl::File> file_;  // shared with calls that were abandoned
    std::deque<Block> in_flight_;
    std::vector<std::shared_ptr<fixity::AlignedBuffer>> free_;
    std::uint64_t at_ = 0;
    bool closed_ = false;
    bool unanswered_ = false;  // an answer did not come: the client may still use the file
};

}  // namespace weir::handoff
