// SPDX-License-Identifier: Apache-2.0
// The document of GET /live: what the page asks for every second. It is made, serialised and compressed at most once
// between two ticks, however many ask, and not at all when nobody does.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "weir/service/http_server.hpp"

namespace weir::page {

/// Any thread.
class LiveDocument {
public:
    /// Called with the lock held, by the thread that asks. What it returns gets "tick".
    using Make = std::function<boost::json::object()>;

    explicit LiveDocument(Make make) : make_(std::move(make)) {}

    /// Once a second. A reader sees by the number whether time goes on here.
    void tick();
    /// Something has changed that is to be seen before the next tick.
    void renew();

    [[nodiscard]] service::HttpResponse answer(const service::HttpRequest& request);
    /// How often the document was made.
    [[nodiscard]] std::uint64_t made() const;

private:
    const Make make_;
    mutable std::mutex mutex_;
    std::uint64_t tick_ = 1;
    bool fresh_ = false;
    std::string text_;
    std::string small_;  // gzipped; empty: nobody wanted it yet
    std::uint64_t made_ = 0;
};

/// GET /live. The document outlives the server.
[[nodiscard]] service::HttpRoute live_route(LiveDocument& document);

/// JSON as an answer, gzipped for who takes that and where it is worth it.
[[nodiscard]] service::HttpResponse json_answer(std::string text, const service::HttpRequest& request);

}  // namespace weir::page
