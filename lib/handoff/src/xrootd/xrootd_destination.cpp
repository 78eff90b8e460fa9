// SPDX-License-Identifier: Apache-2.0
// All of the module: see xrootd_module.hpp.
#include "weir/handoff/xrootd_destination.hpp"

#include <fmt/format.h>
#include <XrdCl/XrdClDefaultEnv.hh>
#include <XrdCl/XrdClFile.hh>
#include <XrdCl/XrdClFileSystem.hh>

#include <mutex>

#include "weir/digest/summer.hpp"
#include "weir/fixity/attributes.hpp"
#include "xrootd/xrootd_call.hpp"
#include "xrootd/xrootd_module.hpp"
#include "xrootd/xrootd_upload.hpp"

namespace weir::handoff {
namespace {

/// The client's limits are those of a person at a terminal: two minutes to connect, half an hour for an
/// answer, half an hour without a new try after a lost connection. What the user's environment sets
/// (XRD_REQUESTTIMEOUT, ...) goes before ours.
void set_client_limits(std::chrono::milliseconds answer) {
    static std::once_flag once;
    std::call_once(once, [&] {
        auto* environment = XrdCl::DefaultEnv::GetEnv();
        const auto seconds =
            static_cast<int>(std::max<std::int64_t>(1, std::chrono::ceil<std::chrono::seconds>(answer).count()));
        for (const auto& [name, value] :
             std::initializer_list<std::pair<const char*, int>>{{"RequestTimeout", seconds},
                                                                {"StreamTimeout", seconds},
                                                                {"ConnectionWindow", std::min(seconds, 30)},
                                                                {"ConnectionRetry", 1},
                                                                {"StreamErrorWindow", 1},
                                                                {"TimeoutResolution", 1},
                                                                {"NotAuthorizedRetryLimit", 1}})
            environment->PutInt(name, value);
    });
}

/// The server's error number of "there is no such file".
bool not_there(const XrdCl::XRootDStatus& status) {
    return status.code == XrdCl::errErrorResponse && status.errNo == kXR_NotFound;
}

bool cannot_say(const XrdCl::XRootDStatus& status) {
    return status.code == XrdCl::errQueryNotSupported || status.code == XrdCl::errNotSupported ||
           (status.code == XrdCl::errErrorResponse && status.errNo == kXR_Unsupported);
}

class XrootdDestination final : public Destination {
public:
    XrootdDestination(std::string name, const XrdCl::URL& url, const XrootdOptions& options)
        : name_(std::move(name)),
          host_(url.GetProtocol() + "://" + url.GetHostId()),
          path_(url.GetPath()),
          options_(options),
          system_(std::make_shared<XrdCl::FileSystem>(url)) {
        if (!path_.starts_with('/')) path_.insert(path_.begin(), '/');
        while (path_.ends_with('/')) path_.pop_back();
    }

    const std::string& name() const noexcept override { return name_; }
    std::string url(const std::string& place) const override { return fmt::format("{}/{}", host_, path_of(place)); }

    Result<std::unique_ptr<Upload>> begin(const std::string& place, std::uint64_t, const Patience& patience) override {
        auto upload = WEIR_TRY(XrootdUpload::open(url(place), options_, patience));
        return upload;
    }

    Result<std::optional<std::uint64_t>> size_of(const std::string& place, const Patience& patience) override {
        auto answer =
            ask(patience, [&](auto* handler) { return system_->Stat(path_of(place), handler, seconds_of(patience)); });
        if (answer && not_there(answer->status)) return std::nullopt;
        const auto got = WEIR_TRY(settled(std::move(answer), patience, fmt::format("cannot look at {}", url(place))));
        XrdCl::StatInfo* info = nullptr;
        if (got.object) got.object->Get(info);
        if (info == nullptr)
            return fail(Errc::corrupt, fmt::format("cannot look at {}: the answer is empty", url(place)));
        return info->GetSize();
    }

    Result<std::optional<digest::Digest>> stored_sum(const std::string& place, digest::Algorithm algorithm,
                                                     const Patience& patience) override {
        const auto kind = fixity::xrootd_name(algorithm);
        if (!kind) return std::nullopt;
        XrdCl::Buffer question;
        question.FromString(fmt::format("{}?cks.type={}", path_of(place), *kind));
        auto answer = ask(patience, [&](auto* handler) {
            return system_->Query(XrdCl::QueryCode::Checksum, question, handler, seconds_of(patience));
        });
        if (answer && cannot_say(answer->status)) return std::nullopt;
        const auto got =
            WEIR_TRY(settled(std::move(answer), patience, fmt::format("cannot have the {} of {}", *kind, url(place))));
        XrdCl::Buffer* text = nullptr;
        if (got.object) got.object->Get(text);
        if (text == nullptr || text->GetBuffer() == nullptr) return std::nullopt;
        const auto answer_text = std::string_view(text->GetBuffer(), text->GetSize());
        auto sum = parse_checksum_answer(answer_text, algorithm);
        if (!sum)
            return fail(Errc::corrupt,
                        fmt::format("{} of {} is no {}: \"{}\"", *kind, url(place), *kind, answer_text.substr(0, 80)));
        return sum;
    }

    Result<digest::Digest> read_back(const std::string& place, digest::Algorithm algorithm,
                                     const Patience& patience) override {
        const auto what = fmt::format("cannot read back {}", url(place));
        const auto file = std::make_shared<XrdCl::File>();
        file->SetProperty("ReadRecovery", "false");
        auto opened = ask(
            patience,
            [&](auto* handler) {
                return file->Open(url(place), XrdCl::OpenFlags::Read, XrdCl::Access::None, handler,
                                  seconds_of(patience));
            },
            file);
        bool lost = !opened;
        if (auto got = settled(std::move(opened), patience, what); !got)
            return leave(file, lost), std::unexpected(got.error());
        auto sum = sum_of(file, algorithm, patience, what, lost);
        if (!lost)
            lost = !ask(patience, [&](auto* handler) { return file->Close(handler, seconds_of(patience)); }, file);
        leave(file, lost);
        return sum;
    }

    Result<> rename_new(const std::string& from, const std::string& to, const Patience& patience) override {
        // Servers differ in whether they replace; no other program writes names of ours, so a look before is enough.
        const auto taken = WEIR_TRY(size_of(to, patience));
        if (taken) return fail(Errc::refused, fmt::format("cannot rename to {}: the name is taken", url(to)));
        const auto got = settled(
            ask(patience,
                [&](auto* handler) { return system_->Mv(path_of(from), path_of(to), handler, seconds_of(patience)); }),
            patience, fmt::format("cannot rename to {}", url(to)));
        if (!got) return std::unexpected(got.error());
        return {};
    }

    Result<> remove(const std::string& place, const Patience& patience) override {
        auto answer =
            ask(patience, [&](auto* handler) { return system_->Rm(path_of(place), handler, seconds_of(patience)); });
        if (answer && not_there(answer->status)) return {};
        WEIR_TRY(settled(std::move(answer), patience, fmt::format("cannot remove {}", url(place))));
        return {};
    }

private:
    std::string path_of(const std::string& place) const { return path_ + "/" + place; }

    template <class Begin>
    std::optional<XrootdAnswer> ask(const Patience& patience, Begin&& begin, std::shared_ptr<const void> kept = {}) {
        struct Kept {
            std::shared_ptr<XrdCl::FileSystem> system;
            std::shared_ptr<const void> more;
        };
        XrootdCall call(std::forward<Begin>(begin), std::make_shared<Kept>(system_, std::move(kept)));
        return call.wait(patience);
    }

    /// A file that the client may still use, or that is open, is left to the end of the process: its destructor would
    /// wait.
    static void leave(const std::shared_ptr<XrdCl::File>& file, bool lost) {
        if (lost || file->IsOpen()) static_cast<void>(new std::shared_ptr<XrdCl::File>(file));
    }

    Result<digest::Digest> sum_of(const std::shared_ptr<XrdCl::File>& file, digest::Algorithm algorithm,
                                  const Patience& patience, const std::string& what, bool& lost) {
        digest::Summer summer(algorithm);
        const auto buffer = std::make_shared<fixity::AlignedBuffer>(options_.block);
        struct Kept {
            std::shared_ptr<XrdCl::File> file;
            std::shared_ptr<fixity::AlignedBuffer> buffer;
        };
        const auto kept = std::make_shared<Kept>(file, buffer);
        for (std::uint64_t at = 0;;) {
            auto answer = ask(
                patience,
                [&](auto* handler) {
                    return file->Read(at, static_cast<std::uint32_t>(options_.block), buffer->data().data(), handler,
                                      seconds_of(patience));
                },
                kept);
            lost = !answer;
            const auto got = WEIR_TRY(settled(std::move(answer), patience, what));
            XrdCl::ChunkInfo* chunk = nullptr;
            if (got.object) got.object->Get(chunk);
            if (chunk == nullptr || chunk->length > buffer->data().size())
                return fail(Errc::corrupt, fmt::format("{}: the answer is empty", what));
            summer.add(ConstData(buffer->data()).first(chunk->length));
            at += chunk->length;
            if (chunk->length == 0) return summer.value();
        }
    }

    const std::string name_;
    const std::string host_;
    std::string path_;
    const XrootdOptions options_;
    const std::shared_ptr<XrdCl::FileSystem> system_;  // shared with calls that were abandoned
};

Result<std::unique_ptr<Destination>> make(std::string name, const std::string& url, const XrootdOptions& options) {
    set_client_limits(options.answer);
    const XrdCl::URL parsed(url);
    if (!parsed.IsValid() || parsed.GetHostName().empty() || parsed.GetPath().empty())
        return fail(Errc::usage, fmt::format("\"{}\" is not root://HOST:PORT//PATH", url));
    return std::make_unique<XrootdDestination>(std::move(name), parsed, options);
}

}  // namespace
}  // namespace weir::handoff

const char weir_handoff_xrootd_build[] = WEIR_VERSION;

void weir_handoff_xrootd_make(std::string name, const std::string& url, const weir::handoff::XrootdOptions& options,
                              weir::Result<std::unique_ptr<weir::handoff::Destination>>& to) {
    to = weir::handoff::make(std::move(name), url, options);
}
