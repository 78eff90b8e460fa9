// SPDX-License-Identifier: Apache-2.0
#include "readout_node.hpp"

namespace weir::readout {

ReadoutNode::ReadoutNode(RobStore& store, ResultInput& input, messaging::MessageSender& messages,
                         const ReadoutNodeOptions& options)
    : store_(store), input_(input), messages_(messages), options_(options) {}

void ReadoutNode::send(const Answer& answer) {
    const std::array<ConstData, 2> pieces{answer.head, answer.data};
    messages_.send(answer.to, wire::DataflowType::data, pieces);
    add(answers_);
    add(bytes_, answer.data.size());
    for (std::size_t i = 0; i < robs_.size(); ++i)
        if (answer.robs[i] > 0) add(robs_[i], answer.robs[i]);
}

void ReadoutNode::flush() {
    if (handlers_ != nullptr) handlers_->flush([this](const Answer& answer) { send(answer); });
}

void ReadoutNode::take_triggers(ConstData body) {
    if (matching_ == nullptr && front_end_ == nullptr) return add(foreign_);
    if (!wire::decode(body, notices_)) return add(malformed_);
    if (matching_ != nullptr) matching_->add_triggers(notices_.triggers);
    if (front_end_ == nullptr) return;
    triggers_.clear();
    for (const auto& notice : notices_.triggers)
        triggers_.push_back(
            {.level1_id = notice.level1_id, .type = notice.type, .time = std::chrono::nanoseconds(notice.time_ns)});
    front_end_->read_out(triggers_);
}

void ReadoutNode::serve(wire::StationId from, ConstData body) {
    if (!wire::decode(body, request_)) return add(malformed_);
    add(request_.kind == wire::RequestKind::level2 ? requests_level2_ : requests_building_);
    if (handlers_ != nullptr && !options_.direct) {
        if (!handlers_->give(from, request_)) add(requests_discarded_);
        return;
    }
    std::size_t left = 0;  // events that must be waited for
    for (const auto event : request_.events) {
        if (handlers_ != nullptr && store_.within_window(event) && !store_.ready(event, request_.robs)) {
            request_.events[left++] = event;
            continue;
        }
        static_cast<void>(maker_.make(store_, from, request_.request, event, request_.robs, answer_));
        send(answer_);
    }
    if (left == 0) return;
    request_.events.resize(left);
    if (!handlers_->give(from, request_)) add(requests_discarded_);
}

void ReadoutNode::on_message(const messaging::IncomingMessage& message, SteadyTime) {
    switch (message.type) {
        case wire::DataflowType::data_request: return serve(message.from, message.body);
        case wire::DataflowType::clear:
            if (!wire::decode(message.body, clear_)) return add(malformed_);
            add(clears_, clear_.events.size());
            store_.clear(clear_.events);
            return store_.clear_older(clear_.oldest);
        case wire::DataflowType::level2_result: return options_.results ? input_.take(message.body) : add(foreign_);
        case wire::DataflowType::triggers: return take_triggers(message.body);
        default: return add(foreign_);
    }
}

ReadoutNodeStats ReadoutNode::stats() const {
    const auto value = [](const Count& count) { return count.load(std::memory_order_relaxed); };
    ReadoutNodeStats stats;
    stats.requests_level2 = value(requests_level2_);
    stats.requests_building = value(requests_building_);
    stats.requests_discarded = value(requests_discarded_);
    stats.messages_malformed = value(malformed_);
    stats.messages_foreign = value(foreign_);
    stats.clears = value(clears_);
    stats.answers = value(answers_);
    stats.bytes = value(bytes_);
    for (std::size_t i = 0; i < robs_.size(); ++i) stats.robs[i] = value(robs_[i]);
    return stats;
}

}  // namespace weir::readout
