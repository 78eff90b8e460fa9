// SPDX-License-Identifier: Apache-2.0
// A call to XRootD's client that can be abandoned. The client's own blocking calls cannot be interrupted, so
// the asynchronous ones are used: the answer goes to an object that caller and client share, which the last of the two
// releases. Memory that the client may still read is kept by the call.
#pragma once

#include <XrdCl/XrdClXRootDResponses.hh>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "weir/handoff/destination.hpp"

namespace weir::handoff {

struct XrootdAnswer {
    XrdCl::XRootDStatus status;
    std::unique_ptr<XrdCl::AnyObject> object;
};

class XrootdCall {
    struct State {
        std::mutex mutex;
        std::condition_variable_any changed;
        std::optional<XrootdAnswer> answer;
        std::shared_ptr<const void> kept;
    };

    class Handler final : public XrdCl::ResponseHandler {
    public:
        explicit Handler(std::shared_ptr<State> state) : state_(std::move(state)) {}
        void HandleResponse(XrdCl::XRootDStatus* status, XrdCl::AnyObject* object) override {
            XrootdAnswer answer{*status, std::unique_ptr<XrdCl::AnyObject>(object)};
            delete status;
            {
                const std::scoped_lock lock(state_->mutex);
                state_->answer = std::move(answer);
                state_->kept.reset();
            }
            state_->changed.notify_all();
            delete this;  // the client's rule: a handler is called once, and is its own owner
        }

    private:
        const std::shared_ptr<State> state_;
    };

public:
    /// `begin(handler)` starts the call. `kept` lives until the client has answered.
    template <class Begin>
    explicit XrootdCall(Begin&& begin, std::shared_ptr<const void> kept = {}) : state_(std::make_shared<State>()) {
        state_->kept = std::move(kept);
        auto handler = std::make_unique<Handler>(state_);
        XrdCl::XRootDStatus started = begin(handler.get());
        if (started.IsOK()) {
            static_cast<void>(handler.release());  // it deletes itself when the client has answered
        } else {
            state_->answer = XrootdAnswer{std::move(started), nullptr};
        }
    }

    /// The answer; nothing when it took too long or a stop was asked for. Once.
    [[nodiscard]] std::optional<XrootdAnswer> wait(const Patience& patience) {
        std::unique_lock lock(state_->mutex);
        // A little longer than the client's own limit, so that its reason arrives.
        const auto limit = patience.answer + std::chrono::seconds{3};
        if (!state_->changed.wait_for(lock, patience.stop, limit, [&] { return state_->answer.has_value(); }))
            return std::nullopt;
        return std::exchange(state_->answer, std::nullopt);
    }

private:
    std::shared_ptr<State> state_;
};

}  // namespace weir::handoff
