// SPDX-License-Identifier: Apache-2.0
// Any bytes are an object or an error; what is read is written to bytes that read to the same. The first byte picks the
// class, the mode in which it is written again, and what is done with unknown classes.
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

namespace fuzz {

enum class Level : short { low, high };

struct Hit {
    int channel = 0;
    double time = 0;
    bool good = false;
};
struct Track {
    float x = 0;
    std::vector<Hit> hits;
    std::string name;
    std::vector<std::vector<short>> cells;
};
struct Base {
    short b = 0;
};
struct Versioned : Base {
    Level level{};
    std::vector<bool> flags;
    std::array<std::vector<int>, 2> lists;
    float rows[2][9]{};
};
struct Event {
    std::vector<Track> tracks;
    std::map<int, Hit> hits;
    std::map<std::string, std::vector<float>> named;
    std::vector<std::pair<int, std::string>> pairs;
    std::vector<Versioned> versioned;
    std::vector<std::array<int, 3>> rows;
    std::string texts[2];
};
struct Node {
    int value = 0;
    std::shared_ptr<Node> next;
    std::unique_ptr<Hit> hit;
};

}  // namespace fuzz

namespace weir::serial {
template <>
inline constexpr auto description<fuzz::Hit> = members("channel", "time", "good").class_name("Hit");
template <>
inline constexpr auto description<fuzz::Track> = members("x", "hits", "name", "cells").class_name("Track");
template <>
inline constexpr auto description<fuzz::Base> = members("b").class_name("Base");
template <>
inline constexpr auto description<fuzz::Versioned> =
    fields(base<fuzz::Base>(), field("level", &fuzz::Versioned::level), field("flags", &fuzz::Versioned::flags),
           field("lists", &fuzz::Versioned::lists), field("rows", &fuzz::Versioned::rows))
        .version(3)
        .class_name("Versioned");
template <>
inline constexpr auto description<fuzz::Event> =
    members("tracks", "hits", "named", "pairs", "versioned", "rows", "texts").class_name("Event");
template <>
inline constexpr auto description<fuzz::Node> = members("value", "next", "hit").class_name("Node");
}  // namespace weir::serial

namespace {

using namespace weir;
using namespace weir::serial;

void require(bool condition) {
    if (!condition) std::abort();
}

std::string text(const Writer& writer) { return std::string(as_text(writer.data())); }

template <class T>
void check_stream(ConstData bytes, Mode mode, ReaderOptions options) {
    Reader reader(bytes, options);
    T first{};
    if (const auto ok = reader.stream(first); !ok) {
        require(ok.error().context.starts_with("ROOT buffer, offset ") && reader.position() == 0);
        return;
    }
    require(reader.position() <= bytes.size());
    Writer writer({.mode = mode});
    require(writer.stream(first).has_value());
    Reader again(writer.data());
    T second{};
    require(again.stream(second).has_value() && again.at_end() && again.evolved() == 0);
    Writer twice({.mode = mode});
    require(twice.stream(second).has_value() && text(twice) == text(writer));
}

/// Rings are taken apart, else they would never be freed.
void open(std::vector<std::shared_ptr<fuzz::Node>>& nodes) {
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (nodes[i] && nodes[i]->next) nodes.push_back(std::move(nodes[i]->next));
}

void check_any(ConstData bytes, Mode mode, ReaderOptions options) {
    std::vector<std::shared_ptr<fuzz::Node>> nodes;
    Reader reader(bytes, options);
    while (!reader.at_end()) {
        auto node = reader.read_any<fuzz::Node>();
        if (!node) break;
        nodes.push_back(*node);
    }
    Writer writer({.mode = mode});
    std::size_t written = 0;  // a chain may have become longer than it was read, by references
    for (const auto& node : nodes) {
        if (!writer.write_any(node.get())) break;
        ++written;
    }
    std::vector<std::shared_ptr<fuzz::Node>> copies;
    Reader again(writer.data());
    for (std::size_t i = 0; i < written; ++i) {
        auto node = again.read_any<fuzz::Node>();
        require(node.has_value() && ((*node == nullptr) == (nodes[i] == nullptr)));
        copies.push_back(*node);
    }
    require(again.at_end());
    open(nodes);
    open(copies);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const auto bytes = ConstData(reinterpret_cast<const std::byte*>(data), size).subspan(1);
    const auto mode = (data[0] & 0x80) == 0 ? Mode::object_wise : Mode::member_wise;
    const ReaderOptions options{.unknown = (data[0] & 0x40) == 0 ? Unknown::error : Unknown::skip};
    switch (data[0] % 6) {
        case 0: check_stream<fuzz::Event>(bytes, mode, options); break;
        case 1: check_stream<std::vector<fuzz::Hit>>(bytes, mode, options); break;
        case 2: check_stream<std::vector<fuzz::Track>>(bytes, mode, options); break;
        case 3: check_stream<fuzz::Versioned>(bytes, mode, options); break;
        case 4: check_stream<std::map<int, std::vector<std::string>>>(bytes, mode, options); break;
        default: check_any(bytes, mode, options);
    }
    return 0;
}
