// SPDX-License-Identifier: Apache-2.0
#include "page/event_look.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <utility>

#include "weir/json/parse.hpp"
#include "weir/page/live_document.hpp"
#include "weir/service/event_tap.hpp"

namespace weir::control {
namespace {

constexpr std::chrono::milliseconds beyond_its_wait{5000};  // for the answer of a station
constexpr std::string_view of_station = "station=";

/// The wish again, of what was understood of it.
std::string tap_path(const service::TapWish& wish) {
    auto path = fmt::format("/tap?wait={}&size_min={}&size_max={}&incomplete={}", wish.wait.count(), wish.size_min,
                            wish.size_max, wish.incomplete ? 1 : 0);
    if (!wish.stream.empty()) path += "&stream=" + wish.stream;
    if (wish.source) path += fmt::format("&source={:#x}", number(*wish.source));
    return path;
}

bool gives_events(const StationView& station) {
    return (station.entry.kind == StationKind::filter || station.entry.kind == StationKind::build) &&
           !station.control.empty();
}

}  // namespace

Result<StationView> EventLook::chosen(const std::vector<StationView>& stations, std::string_view name) {
    if (!name.empty()) {
        const auto found = std::ranges::find(stations, name, [](const auto& one) { return one.entry.name; });
        if (found == stations.end())
            return fail(Errc::usage, fmt::format("there is no station {}", name.substr(0, 64)));
        if (!gives_events(*found))
            return fail(Errc::refused,
                        fmt::format("{} is {} of kind {}; events pass whole through builders and filters", name,
                                    found->state, weir::name(found->entry.kind)));
        return *found;
    }
    std::vector<const StationView*> last;  // where an event is as late as possible
    for (const auto kind : {StationKind::filter, StationKind::build}) {
        for (const auto& station : stations)
            if (station.entry.kind == kind && gives_events(station)) last.push_back(&station);
        if (!last.empty()) break;
    }
    if (last.empty()) return fail(Errc::refused, "neither a builder nor a filter is there now");
    const std::scoped_lock lock(mutex_);
    return *last[turn_++ % last.size()];
}

void EventLook::next(const std::vector<StationView>& stations, const service::HttpRequest& request,
                     const service::HttpAnswer& answer) {
    std::string named, wishes;
    for (std::string_view rest = request.query; !rest.empty();) {
        const auto field = rest.substr(0, rest.find('&'));
        rest.remove_prefix(std::min(field.size() + 1, rest.size()));
        if (field.starts_with(of_station)) named = field.substr(of_station.size());
        else wishes.append(field) += '&';
    }
    const auto wish = service::parse_tap_wish(wishes);
    if (!wish) return answer(service::http_error(400, wish.error().context));
    const auto station = chosen(stations, named);
    if (!station)
        return answer(service::http_error(station.error().code == Errc::usage ? 400 : 409, station.error().context));
    {
        const std::scoped_lock lock(mutex_);
        if (under_way_ == under_way_max)
            return answer(service::http_error(503, "too many wait for an event already; ask again later"));
        if (!calls_) {
            auto calls = service::ControlCalls::start(tls_, service::EventTap::event_max);
            if (!calls) return answer(service::http_error(500, calls.error().message()));
            calls_ = std::move(*calls);
        }
        ++under_way_;
    }
    calls_->get(station->control, tap_path(*wish), wish->wait + beyond_its_wait,
                [this, name = station->entry.name, request, answer](Result<service::ControlAnswer> got) {
                    auto response = described(name, std::move(got), request);
                    {
                        const std::scoped_lock lock(mutex_);
                        --under_way_;
                    }
                    answer(std::move(response));
                });
}

service::HttpResponse EventLook::described(const std::string& station, Result<service::ControlAnswer> got,
                                           const service::HttpRequest& request) {
    if (!got) return service::http_error(502, fmt::format("{}: {}", station, got.error().message()));
    if (!got->good()) return service::http_error(502, fmt::format("{}: {}", station, got->error()));
    json::object document{{"station", json::safe(station)}};
    if (got->content_type == "application/octet-stream") {
        document["event"] = describe_(as_data(got->body));
        document["id"] = keep(std::move(got->body));
    } else {
        const auto none = json::parse(got->body);
        if (!none) return service::http_error(502, fmt::format("{}: {}", station, none.error().message()));
        json::Fields fields(*none, "the answer");
        document["event"] = nullptr;
        document["passed"] = fields.number("passed", 0);
        document["too_large"] = fields.number("too_large", 0);
        if (const auto* streams = fields.array("streams", service::EventTap::streams_max))
            document["streams"] = *streams;
        if (const auto read = fields.result(); !read)
            return service::http_error(502, fmt::format("{}: {}", station, read.error().message()));
    }
    return page::json_answer(json::serialize(document), request);
}

std::uint64_t EventLook::keep(std::string bytes) {
    const std::scoped_lock lock(mutex_);
    kept_bytes_ += bytes.size();
    kept_.push_back({++last_, std::move(bytes)});
    while (kept_.size() > kept_max || kept_bytes_ > kept_bytes_max_.count()) {
        kept_bytes_ -= kept_.front().bytes.size();
        kept_.pop_front();
    }
    return last_;
}

service::HttpResponse EventLook::bytes(std::string_view id) const {
    std::uint64_t wanted = 0;
    const auto [end, failed] = std::from_chars(id.data(), id.data() + id.size(), wanted);
    if (failed != std::errc{} || end != id.data() + id.size())
        return service::http_error(400, "which event? /event/NUMBER");
    const std::scoped_lock lock(mutex_);
    const auto found = std::ranges::find(kept_, wanted, &Kept::id);
    if (found == kept_.end())
        return service::http_error(404, fmt::format("event {} is kept no longer; ask for another", wanted));
    service::HttpResponse response;
    response.content_type = "application/octet-stream";
    response.headers = {{"Content-Disposition", fmt::format("attachment; filename=\"event-{}.bin\"", wanted)},
                        {"X-Content-Type-Options", "nosniff"},
                        {"Cache-Control", "no-store"}};
    response.body = found->bytes;
    return response;
}

}  // namespace weir::control
