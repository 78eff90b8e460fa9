// SPDX-License-Identifier: Apache-2.0
#include "weir/page/live_document.hpp"

#include <boost/json/serialize.hpp>

#include "gzip.hpp"

namespace weir::page {
namespace {

constexpr int fast = 1;                          // level of compression: each document is sent a few times only
constexpr std::size_t worth_compressing = 1400;  // bytes: what one packet carries anyway

service::HttpResponse answer_of(const std::string& text, bool small) {
    service::HttpResponse response{.status = 200, .body = text, .content_type = "application/json"};
    response.headers = {{"Cache-Control", "no-store"}, {"X-Content-Type-Options", "nosniff"}};
    if (small) response.headers.emplace_back("Content-Encoding", "gzip");
    return response;
}

}  // namespace

void LiveDocument::tick() {
    const std::scoped_lock lock(mutex_);
    ++tick_;
    fresh_ = false;
}

void LiveDocument::renew() {
    const std::scoped_lock lock(mutex_);
    fresh_ = false;
}

service::HttpResponse LiveDocument::answer(const service::HttpRequest& request) {
    const std::scoped_lock lock(mutex_);
    if (!fresh_) {
        auto document = make_();
        document["tick"] = tick_;
        text_ = boost::json::serialize(document);
        small_.clear();
        fresh_ = true;
        ++made_;
    }
    if (!request.takes_gzip) return answer_of(text_, false);
    if (small_.empty()) small_ = gzipped(text_, fast);
    return answer_of(small_, true);
}

std::uint64_t LiveDocument::made() const {
    const std::scoped_lock lock(mutex_);
    return made_;
}

service::HttpRoute live_route(LiveDocument& document) {
    return {service::HttpRoute::Method::get, "/live",
            [&document](const service::HttpRequest& request, const service::HttpAnswer& answer) {
                answer(document.answer(request));
            }};
}

service::HttpResponse json_answer(std::string text, const service::HttpRequest& request) {
    if (!request.takes_gzip || text.size() < worth_compressing) return answer_of(text, false);
    return answer_of(gzipped(text, fast), true);
}

}  // namespace weir::page
