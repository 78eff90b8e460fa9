// SPDX-License-Identifier: Apache-2.0
// MessagePack by MsgPuck: a class is an array of its members, numbers take as few bytes as they can. What is read is
// checked first, as MsgPuck asks for before anything is decoded.
#include <msgpuck.h>

#include "serve.hpp"
#include "subjects.hpp"

namespace {

using namespace weir::jobs;

char* put(char* to, const std::string& text) {
    return mp_encode_str(to, text.data(), static_cast<std::uint32_t>(text.size()));
}
char* put(char* to, float value) { return mp_encode_float(to, value); }
char* put(char* to, double value) { return mp_encode_double(to, value); }
char* put(char* to, unsigned value) { return mp_encode_uint(to, value); }
char* put(char* to, unsigned long long value) { return mp_encode_uint(to, value); }
char* put(char* to, int value) {
    return value < 0 ? mp_encode_int(to, value) : mp_encode_uint(to, static_cast<unsigned>(value));
}

const char* get(const char* from, std::string& text) {
    std::uint32_t size = 0;
    const char* const begin = mp_decode_str(&from, &size);
    text.assign(begin, size);
    return from;
}
const char* get(const char* from, float& value) { return value = mp_decode_float(&from), from; }
const char* get(const char* from, double& value) { return value = mp_decode_double(&from), from; }
template <class Number>
const char* get(const char* from, Number& value) {
    if (mp_typeof(*from) == MP_INT) value = static_cast<Number>(mp_decode_int(&from));
    else value = static_cast<Number>(mp_decode_uint(&from));
    return from;
}

/// At most what a value takes: the buffer is large enough before the first byte is written.
std::size_t most(const bench_data::Thing&) { return 6; }
std::size_t most(const bench_data::Hit&) { return 14; }
std::size_t most(const std::string& text) { return 5 + text.size(); }
std::size_t most(float) { return 5; }
std::size_t most(const bench_data::Track& track) { return 38 + 5 * track.hits.size(); }
template <class Element>
std::size_t most(const std::vector<Element>& all) {
    std::size_t size = 5;
    if constexpr (std::is_arithmetic_v<Element> || std::is_same_v<Element, bench_data::Thing> ||
                  std::is_same_v<Element, bench_data::Hit>) {
        size += all.size() * most(Element{});
    } else {
        for (const auto& one : all) size += most(one);
    }
    return size;
}
std::size_t most(const bench_data::Event& event) {
    return 24 + most(event.stream) + most(event.triggers) + most(event.hits) + most(event.tracks) +
           most(event.calorimeter);
}

char* put(char* to, const bench_data::Thing& thing) { return put(mp_encode_array(to, 1), thing.a); }
const char* get(const char* from, bench_data::Thing& thing) {
    mp_decode_array(&from);
    return get(from, thing.a);
}
char* put(char* to, const bench_data::Hit& hit) {
    return put(put(put(mp_encode_array(to, 3), hit.channel), int{hit.adc}), hit.time);
}
const char* get(const char* from, bench_data::Hit& hit) {
    mp_decode_array(&from);
    return get(get(get(from, hit.channel), hit.adc), hit.time);
}
char* put(char* to, const bench_data::Track& track);
const char* get(const char* from, bench_data::Track& track);
template <class Element>
char* put(char* to, const std::vector<Element>& all) {
    to = mp_encode_array(to, static_cast<std::uint32_t>(all.size()));
    for (const auto& one : all) to = put(to, one);
    return to;
}
template <class Element>
const char* get(const char* from, std::vector<Element>& all) {
    all.resize(mp_decode_array(&from));
    for (auto& one : all) from = get(from, one);
    return from;
}
char* put(char* to, const bench_data::Track& track) {
    return put(put(put(put(put(mp_encode_array(to, 5), track.pt), track.eta), track.phi), track.charge), track.hits);
}
const char* get(const char* from, bench_data::Track& track) {
    mp_decode_array(&from);
    return get(get(get(get(get(from, track.pt), track.eta), track.phi), track.charge), track.hits);
}
char* put(char* to, const bench_data::Event& event) {
    to = put(put(put(put(mp_encode_array(to, 8), event.run), event.number), event.weight), event.stream);
    return put(put(put(put(to, event.triggers), event.hits), event.tracks), event.calorimeter);
}
const char* get(const char* from, bench_data::Event& event) {
    mp_decode_array(&from);
    from = get(get(get(get(from, event.run), event.number), event.weight), event.stream);
    return get(get(get(get(from, event.triggers), event.hits), event.tracks), event.calorimeter);
}

class Codec {
public:
    template <class Value>
    void write(const Value& value) {
        if (const auto enough = most(value); bytes_.size() < enough) bytes_.resize(enough);
        size_ = static_cast<std::size_t>(put(bytes_.data(), value) - bytes_.data());
    }
    template <class Value>
    void read(Value& value) {
        const char* check = bytes_.data();
        if (mp_check(&check, bytes_.data() + size_) == 0) get(bytes_.data(), value);
    }
    [[nodiscard]] const char* data() const { return bytes_.data(); }
    [[nodiscard]] std::size_t size() const { return size_; }

private:
    std::vector<char> bytes_;
    std::size_t size_ = 0;
};

}  // namespace

int main() {
    Jobs jobs;
    jobs.about = "MessagePack (MsgPuck)";
    add_codec(jobs, "MessagePack", "10", Codec(), bench_data::things(10));
    add_codec(jobs, "MessagePack", "1000", Codec(), bench_data::things(1000));
    add_codec(jobs, "MessagePack", "event", Codec(), bench_data::event());
    return serve(jobs);
}
