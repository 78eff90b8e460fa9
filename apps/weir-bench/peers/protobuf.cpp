// SPDX-License-Identifier: Apache-2.0
// Protobuf, between its own message objects and memory: what a program pays that keeps its data in them. Parsing goes
// into the same message again, which keeps its memory.
#include <google/protobuf/stubs/common.h>

#include "serve.hpp"
#include "subjects.hpp"
#include "subjects.pb.h"

namespace {

using namespace weir::jobs;

template <class Message>
struct Value {
    Message message{};
    friend bool operator==(const Value& one, const Value& other) {
        return one.message.SerializeAsString() == other.message.SerializeAsString();
    }
};

class Codec {
public:
    template <class Message>
    void write(const Value<Message>& value) {
        size_ = value.message.ByteSizeLong();
        if (bytes_.size() < size_) bytes_.resize(size_);
        value.message.SerializeWithCachedSizesToArray(bytes_.data());
    }
    template <class Message>
    void read(Value<Message>& value) {
        if (!value.message.ParseFromArray(bytes_.data(), static_cast<int>(size_))) value.message.Clear();
    }
    [[nodiscard]] const std::uint8_t* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    std::vector<std::uint8_t> bytes_;
    std::size_t size_ = 0;
};

Value<bench_proto::Event> event() {
    Value<bench_proto::Event> value;
    auto& to = value.message;
    const auto from = bench_data::event();
    to.set_run(from.run);
    to.set_number(from.number);
    to.set_weight(from.weight);
    to.set_stream(from.stream);
    for (const auto& trigger : from.triggers) to.add_triggers(trigger);
    for (const auto& hit : from.hits) {
        auto* const one = to.add_hits();
        one->set_channel(hit.channel);
        one->set_adc(hit.adc);
        one->set_time(hit.time);
    }
    for (const auto& track : from.tracks) {
        auto* const one = to.add_tracks();
        one->set_pt(track.pt);
        one->set_eta(track.eta);
        one->set_phi(track.phi);
        one->set_charge(track.charge);
        for (const auto hit : track.hits) one->add_hits(hit);
    }
    for (const auto& cells : from.calorimeter) {
        auto* const one = to.add_calorimeter();
        for (const auto cell : cells) one->add_cells(cell);
    }
    return value;
}

}  // namespace

int main() {
    Jobs jobs;
    jobs.about = "Protobuf " + google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
    for (const auto count : {10, 1000}) {
        Value<bench_proto::Things> each;
        Value<bench_proto::PackedThings> packed;
        for (const auto& thing : bench_data::things(count)) {
            each.message.add_things()->set_a(thing.a);
            packed.message.add_a(thing.a);
        }
        add_codec(jobs, "Protobuf", std::to_string(count), Codec(), each);
        add_codec(jobs, "Protobuf, packed ints", std::to_string(count), Codec(), packed);
    }
    add_codec(jobs, "Protobuf", "event", Codec(), event());
    return serve(jobs);
}
