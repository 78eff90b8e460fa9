// SPDX-License-Identifier: Apache-2.0
// The work of `weir bench allocate`: the objects of an event in the containers that event software is made of, 30 in a
// list, 20 in a map, 10 texts in a vector. Making and destroying them is 120 insertions and erasures, in 65
// allocations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::app {

inline constexpr std::uint64_t operations_per_event = 2 * (30 + 20 + 10);

template <template <class> class Allocator>
class EventObjects {
public:
    EventObjects(const Allocator<std::byte>& allocator, std::uint32_t seed)
        : hits_(allocator), cells_(allocator), names_(allocator) {
        // Texts of 24 to 33 characters: none fits into the string itself.
        constexpr std::string_view text = "/detector/calorimeter/module/cell-0123456789";
        for (std::uint32_t i = 0; i < 30; ++i) hits_.push_back(static_cast<int>(seed + i));
        for (std::uint32_t i = 0; i < 20; ++i)  // an odd factor: no two keys are equal, and they come in no order
            cells_.emplace(static_cast<int>((seed + i) * 2654435769U), static_cast<int>(i));
        for (std::size_t i = 0; i < 10; ++i) names_.push_back(Name(text.substr(0, 24 + i), allocator));
    }
    EventObjects(const EventObjects&) = delete;
    EventObjects& operator=(const EventObjects&) = delete;

    [[nodiscard]] std::size_t count() const noexcept { return hits_.size() + cells_.size() + names_.size(); }

private:
    using Name = std::basic_string<char, std::char_traits<char>, Allocator<char>>;
    std::list<int, Allocator<int>> hits_;
    std::map<int, int, std::less<>, Allocator<std::pair<const int, int>>> cells_;
    std::vector<Name, Allocator<Name>> names_;
};

/// Room for one event after the other.
template <class Heap>
class alignas(64) EventSlot {  // neighbours belong to different threads
public:
    explicit EventSlot(Heap& heap) : place_(heap) {}
    EventSlot(const EventSlot&) = delete;
    EventSlot& operator=(const EventSlot&) = delete;

    void make(std::uint32_t seed) { objects_.emplace(place_.allocator(), seed); }
    void destroy() noexcept {
        objects_.reset();
        place_.recycle();
    }

private:
    typename Heap::Place place_;
    std::optional<EventObjects<Heap::template Allocator>> objects_;
};

}  // namespace weir::app
