// SPDX-License-Identifier: Apache-2.0
#include "watch/watch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "run/directory/run_place.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr auto watch_interval = 1'000ms;
constexpr auto watch_deadline = 3'000ms;
constexpr auto rates_over = 5'000ms;
constexpr std::size_t log_kept = 2'000;
constexpr Bytes watched_answer_max = 64_MiB;
constexpr json::Limits watched_limits{.size = watched_answer_max, .depth = 16};

}  // namespace

Result<std::unique_ptr<Watch>> Watch::start(RunAddressOptions options, const Clock& clock) {
    std::unique_ptr<Watch> watch(new Watch(std::move(options), clock));
    WEIR_TRY(watch->connect());
    return watch;
}

Result<> Watch::connect() {
    auto place = WEIR_TRY(find_run(options_));
    auto calls = WEIR_TRY(service::ControlCalls::start(std::move(place.tls), watched_answer_max));
    calls_ = std::move(calls);  // what was under way is abandoned
    inbox_ = std::make_shared<Inbox>();
    address_ = std::move(place.address);
    single_ = false;
    log_after_ = 0;
    now_.log.clear();
    return {};
}

void Watch::ask(const std::string& what, const std::string& address, const std::string& path) {
    {
        const std::scoped_lock lock(inbox_->mutex);
        if (!inbox_->under_way.emplace(what, true).second) return;  // its answer is waited for
    }
    calls_->get(address, path, watch_deadline, [inbox = inbox_, what](Result<service::ControlAnswer> answer) {
        const std::scoped_lock lock(inbox->mutex);
        inbox->under_way.erase(what);
        inbox->answers.push_back({what, std::move(answer)});
    });
}

void Watch::step() {
    std::vector<Answer> answers;
    {
        const std::scoped_lock lock(inbox_->mutex);
        answers.swap(inbox_->answers);
    }
    for (const auto& answer : answers) take(answer);
    const auto now = clock_.now();
    if (std::exchange(more_log_, false)) ask("/log", address_, fmt::format("/log?after={}", log_after_));
    if (asked_ && now - *asked_ < watch_interval) return;
    asked_ = now;
    if (!now_.trouble.empty() && options_.at.empty()) {  // perhaps another run control has begun, at another port
        if (const auto place = RunPlace::find(options_.directory); place && place->address != address_)
            static_cast<void>(connect());
    }
    ask("/partition", address_, single_ ? "/status" : "/partition");
    ask("/alarms", address_, "/alarms");
    if (log_wanted_ && !single_) ask("/log", address_, fmt::format("/log?after={}", log_after_));
    for (const auto& station : now_.partition.stations) {
        const auto& where = single_ ? address_ : station.control;
        if ((station.kind == "record" || station.kind == "handoff") && !where.empty())
            ask("/metrics " + station.name, where, "/metrics");
        if (station.kind == "monitor" && !where.empty()) ask("/histograms " + station.name, where, "/histograms");
    }
}

bool Watch::settled() const {
    const std::scoped_lock lock(inbox_->mutex);
    return inbox_->under_way.empty() && inbox_->answers.empty();
}

void Watch::failed(const Error& error) { now_.trouble = error.message(); }

void Watch::take(const Answer& answer) {
    const bool main = answer.what == "/partition";
    if (!answer.answer) {
        if (main) failed(answer.answer.error());
        return;
    }
    if (answer.answer->status == 404 && main && !single_) {  // no run control: a station
        single_ = true;
        asked_.reset();
        return;
    }
    if (!answer.answer->good()) {
        if (main) failed(Error{Errc::refused, 0, answer.answer->error()});
        return;
    }
    if (answer.what.starts_with("/metrics ")) {
        now_.metrics[answer.what.substr(std::string_view("/metrics ").size())] = metric_pictures(answer.answer->body);
        return;
    }
    const auto document = json::parse(answer.answer->body, watched_limits);
    if (!document) {
        if (main) failed(document.error());
        return;
    }
    if (constexpr std::string_view of = "/histograms "; answer.what.starts_with(of)) {
        now_.histograms[answer.what.substr(of.size())] = histogram_pictures(*document);
        return;
    }
    if (main) take_partition(single_ ? station_picture(*document) : partition_picture(*document));
    else if (answer.what == "/log") take_log(*document);
    else now_.alarms = alarm_pictures(*document, now_.partition.name);
}

void Watch::take_partition(PartitionPicture picture) {
    const auto now = clock_.now();
    auto events = picture;
    events.stations.clear();
    if (!samples_.empty() &&
        (samples_.back().events.run != events.run || samples_.back().events.accepted > events.accepted))
        samples_.clear();
    samples_.push_back({now, std::move(events), picture.sum_of("record", "bytes_stored")});
    while (samples_.size() > 2 && now - samples_[1].when >= rates_over) samples_.pop_front();
    now_.rates.reset();
    if (const auto seconds = std::chrono::duration<double>(now - samples_.front().when).count(); seconds > 0.2) {
        const auto& before = samples_.front();
        const auto& after = samples_.back();
        const auto rate = [&](std::uint64_t PartitionPicture::* count) {
            return (static_cast<double>(after.events.*count) - static_cast<double>(before.events.*count)) / seconds;
        };
        now_.rates = Watched::Rates{rate(&PartitionPicture::accepted), rate(&PartitionPicture::rejected),
                                    rate(&PartitionPicture::built), rate(&PartitionPicture::recorded),
                                    (after.bytes - before.bytes) / seconds};
    }
    if (picture.single && now_.seen && !now_.partition.stations.empty()) {  // no run control reckons its rate
        const auto& before = now_.partition.stations.front();
        auto& station = picture.stations.front();
        const auto seconds = std::chrono::duration<double>(now - *now_.seen).count();
        if (seconds > 0.2 && station.received >= before.received)
            station.rate = static_cast<double>(station.received - before.received) / seconds;
    }
    now_.partition = std::move(picture);
    now_.seen = now;
    now_.seen_at = clock_.wall();
    now_.trouble.clear();
}

void Watch::take_log(const json::value& document) {
    auto lines = log_pictures(document);
    if (const auto* last = document.is_object() ? document.get_object().if_contains("last") : nullptr;
        last != nullptr && last->is_number() && last->to_number<double>() < static_cast<double>(log_after_)) {
        log_after_ = 0;  // another run control, whose lines are numbered from 1
        now_.log.clear();
        more_log_ = true;
        return;
    }
    for (auto& line : lines) {
        log_after_ = std::max(log_after_, line.number);
        now_.log.push_back(std::move(line));
    }
    while (now_.log.size() > log_kept) now_.log.pop_front();
    more_log_ = !lines.empty();  // a page of an answer is not all
}

}  // namespace weir::app
