// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/data_collector.hpp"

#include <algorithm>
#include <utility>

namespace weir::selection {

using wire::RobState;

void DataCollector::set_readouts(const std::vector<Peer>& peers) {
    holder_.clear();
    for (const auto& peer : peers) {
        if (peer.kind != StationKind::readout) continue;
        for (const auto source : peer.sources) holder_.emplace(number(source), peer.id);
    }
}

std::uint64_t DataCollector::begin(wire::EventTicket ticket, const std::vector<SourceId>& robs, SteadyTime now) {
    const auto request = next_request_++;
    auto& collection = collections_[request];
    collection.event = std::make_unique<CollectedEvent>();
    collection.event->request = request;
    collection.event->ticket = std::move(ticket);
    collection.until = now + options_.time_limit;
    ++counts_.begun;
    for (const auto rob : robs) {
        const auto position = static_cast<std::uint32_t>(collection.event->fragments.size());
        collection.event->fragments.push_back({rob, FragmentState::missing, {}});
        const auto holder = holder_.find(number(rob));
        if (holder == holder_.end()) {
            settle_missing(collection, position, counts_.missing_no_readout);
            continue;
        }
        auto part = std::ranges::find(collection.parts, holder->second, &Part::readout);
        if (part == collection.parts.end()) part = collection.parts.insert(part, Part{.readout = holder->second});
        part->wanted.push_back(position);
    }
    for (std::uint32_t part = 0; part < collection.parts.size(); ++part) ask(request, collection, part, now);
    if (!collection.parts.empty()) timers_.push({collection.until, request, every_part, 0});
    finish_if_settled(request);
    return request;
}

void DataCollector::ask(std::uint64_t request, Collection& collection, std::uint32_t index, SteadyTime now) {
    auto& part = collection.parts[index];
    part.resting = false;
    part.asked = now;
    request_.request = request;
    request_.kind = wire::RequestKind::level2;
    request_.events.assign(1, collection.event->ticket.level1_id);
    request_.robs.clear();
    for (const auto position : part.wanted) request_.robs.push_back(collection.event->fragments[position].source);
    buffer_.clear();
    encode(request_, buffer_);
    messages_.send(part.readout, wire::DataflowType::data_request, buffer_);
    ++counts_.requests;
    arm(request, part, index, now + trips_[part.readout].wait(part.tries, options_.reask_min, options_.reask_max));
}

void DataCollector::arm(std::uint64_t request, Part& part, std::uint32_t index, SteadyTime at) {
    timers_.push({at, request, index, ++part.stamp});
}

void DataCollector::on_data(const messaging::IncomingMessage& message, SteadyTime now) {
    if (!decode(message.body, data_)) {
        ++counts_.malformed;
        return;
    }
    const auto found = collections_.find(data_.head.request);
    if (found == collections_.end() || found->second.event->ticket.level1_id != data_.head.level1_id) {
        ++counts_.late_or_double;
        return;
    }
    auto& collection = found->second;
    const auto part = std::ranges::find(collection.parts, message.from, &Part::readout);
    if (part == collection.parts.end() || part->wanted.empty()) {
        ++counts_.late_or_double;
        return;
    }
    // After a re-request it is not known which request an answer belongs to: it is not measured.
    if (part->tries == 0 && part->not_yet == 0) trips_[part->readout].sample(now - part->asked);
    auto& event = *collection.event;
    std::vector<std::byte>* memory = nullptr;
    std::size_t at = 0;
    bool any_not_yet = false;
    for (const auto& rob : data_.head.robs) {
        const auto bytes = data_.data.subspan(at, rob.size);
        at += rob.size;
        const auto wanted = std::ranges::find_if(
            part->wanted, [&](auto position) { return event.fragments[position].source == rob.source; });
        if (wanted == part->wanted.end()) continue;
        const auto position = *wanted;
        if (rob.state == RobState::not_yet) {
            any_not_yet = true;
            continue;
        }
        part->wanted.erase(wanted);
        if (rob.state != RobState::here) {
            settle_missing(collection, position, counts_.missing_gone);
            continue;
        }
        if (memory == nullptr) {
            memory = &event.memory.emplace_back();
            memory->reserve(data_.data.size());  // its fragments stay where they are
        }
        const auto begin = memory->size();
        memory->insert(memory->end(), bytes.begin(), bytes.end());
        event.fragments[position].state = FragmentState::here;
        event.fragments[position].bytes = ConstData(*memory).subspan(begin);
        ++collection.settled;
        ++counts_.fragments;
        counts_.bytes += rob.size;
    }
    if (!part->wanted.empty() && any_not_yet && !part->resting) {
        ++counts_.not_yet;
        part->resting = true;
        part->tries = 0;
        const auto wait = std::min<std::chrono::nanoseconds>(
            options_.reask_max, options_.not_yet_wait * (1LL << std::min(part->not_yet, 10U)));
        ++part->not_yet;
        arm(found->first, *part, static_cast<std::uint32_t>(part - collection.parts.begin()), now + wait);
    }
    finish_if_settled(found->first);
}

void DataCollector::settle_missing(Collection& collection, std::uint32_t fragment, std::uint64_t& counter) {
    collection.event->fragments[fragment].state = FragmentState::missing;
    ++collection.event->missing;
    ++collection.settled;
    ++counter;
}

void DataCollector::finish_if_settled(std::uint64_t request) {
    const auto found = collections_.find(request);
    if (found == collections_.end() || found->second.settled < found->second.event->fragments.size()) return;
    ++(found->second.event->missing == 0 ? counts_.complete : counts_.incomplete);
    ready_.push_back(std::move(found->second.event));
    collections_.erase(found);
}

std::optional<SteadyTime> DataCollector::step(SteadyTime now) {
    while (!timers_.empty() && timers_.top().at <= now) {
        const auto timer = timers_.top();
        timers_.pop();
        due(timer, now);
    }
    // Timers of events that are long complete: they go before they are due when they become the most.
    if (timers_.size() > 1024 && timers_.size() > 16 * (collections_.size() + 1)) {
        decltype(timers_) left;
        for (; !timers_.empty(); timers_.pop())
            if (collections_.contains(timers_.top().request)) left.push(timers_.top());
        timers_.swap(left);
    }
    if (timers_.empty()) return std::nullopt;
    return timers_.top().at;
}

void DataCollector::due(const Timer& timer, SteadyTime now) {
    const auto found = collections_.find(timer.request);
    if (found == collections_.end()) return;
    auto& collection = found->second;
    if (timer.part == every_part) {
        for (auto& part : collection.parts) {
            for (const auto position : part.wanted) settle_missing(collection, position, counts_.missing_late);
            part.wanted.clear();
        }
        return finish_if_settled(timer.request);
    }
    auto& part = collection.parts[timer.part];
    if (part.wanted.empty() || part.stamp != timer.stamp) return;
    if (!part.resting) ++part.tries;
    ++counts_.re_requested;
    ask(timer.request, collection, timer.part, now);
}

void DataCollector::on_peer(wire::StationId peer, messaging::PeerChange change, SteadyTime now) {
    if (change == messaging::PeerChange::silent) return;
    if (change == messaging::PeerChange::restarted) trips_.erase(peer);
    for (auto& [request, collection] : collections_) {
        for (std::uint32_t i = 0; i < collection.parts.size(); ++i) {
            auto& part = collection.parts[i];
            if (part.readout != peer || part.wanted.empty()) continue;
            part.tries = 1;
            ++counts_.re_requested;
            ask(request, collection, i, now);
        }
    }
}

void DataCollector::discard_all() {
    counts_.discarded += collections_.size();
    collections_.clear();
    timers_ = {};
    ready_.clear();
}

std::unique_ptr<CollectedEvent> DataCollector::take_ready() {
    if (ready_.empty()) return nullptr;
    auto event = std::move(ready_.front());
    ready_.pop_front();
    return event;
}

DataCollector::Counts DataCollector::counts() const {
    auto counts = counts_;
    counts.in_hand = collections_.size();
    return counts;
}

std::chrono::nanoseconds DataCollector::round_trip() const {
    std::chrono::nanoseconds slowest{0};
    for (const auto& [readout, trip] : trips_) slowest = std::max(slowest, trip.smoothed());
    return slowest;
}

}  // namespace weir::selection
