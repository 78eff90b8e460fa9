// SPDX-License-Identifier: Apache-2.0
// The interface for authors of selections: a function that gets an event and decides on it. Compiled
// into a shared library, it is loaded by `weir select` (some fragments of an event, before it is built) and `weir
// filter` (all of them):
//
//     #include <weir/selection/selection.hpp>
//     static void select(const weir::selection::Event& event, weir::selection::Decision& decision) {
//         if (event.fragments.size() > 40) decision.accept("physics_Main");
//     }
//     WEIR_SELECTION(select)
//
// It may request further fragments of the event, in as many steps as it needs; other events go on while it waits:
//
//     for (const auto& fragment : event.request({SourceId{0xa30000}})) ...
//
// The function is called by several threads at once. docs/selections.md is the guide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::selection {

enum class FragmentState : std::uint32_t {
    here = 0,
    missing = 1,  // it did not come in time, or the readout has answered that it never will
};

struct Fragment {
    SourceId source{};
    FragmentState state = FragmentState::here;
    ConstData bytes{};  // the whole ROB fragment; empty when it is missing

    /// The fragments of detectors are named by sub-detector (bits 23-16 of the source) and module.
    [[nodiscard]] std::uint8_t detector() const noexcept { return static_cast<std::uint8_t>(number(source) >> 16); }
};

/// The other end of Event::request(). Called by the thread that runs the selection.
class FragmentRequests {
public:
    static constexpr std::size_t sources_max = 4096;  // of one request
    static constexpr std::size_t requests_max = 64;   // of one event; one more is an error of the selection

    /// Waits until each fragment is here or known to be missing: one for each source, in the same order.
    [[nodiscard]] virtual std::span<const Fragment> request(std::span<const SourceId> sources) = 0;
    /// Among the requested fragments.
    [[nodiscard]] virtual const Fragment* find(SourceId source) const noexcept = 0;

protected:
    ~FragmentRequests() = default;
};

/// Valid during the call only.
struct Event {
    RunNumber run{};
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::uint32_t bunch_crossing_id = 0;
    std::uint32_t trigger_type = 0;
    std::uint32_t seconds = 0, nanoseconds = 0;  // of the bunch crossing: Unix time
    std::span<const std::uint32_t> level1_words{};
    std::span<const std::uint32_t> level2_words{};  // of the selection before, in the filter
    std::span<const Fragment> fragments{};
    ConstData payload{};                   // filter: the whole event as it came; fragments lie in it. Else empty.
    FragmentRequests* requests = nullptr;  // nothing: request() answers with nothing

    /// One fragment for each of these, in their order, valid until the selection returns. Suspends this event until
    /// they are here; one that does not come within the unit's data_timeout is missing, one that no readout has is
    /// missing at once. Fragments that the event has already are not requested again, and in the filter all of them are
    /// there.
    [[nodiscard]] std::span<const Fragment> request(std::span<const SourceId> sources) const {
        return requests == nullptr ? std::span<const Fragment>() : requests->request(sources);
    }
    [[nodiscard]] std::span<const Fragment> request(std::initializer_list<SourceId> sources) const {
        return request(std::span(sources.begin(), sources.size()));
    }

    /// Among the fragments that the event came with and those that were requested. Nothing: it is none of them.
    [[nodiscard]] const Fragment* find(SourceId source) const noexcept {
        for (const auto& fragment : fragments)
            if (fragment.source == source) return &fragment;
        return requests == nullptr ? nullptr : requests->find(source);
    }
    [[nodiscard]] std::size_t bytes() const noexcept {
        if (!payload.empty()) return payload.size();
        std::size_t sum = 0;
        for (const auto& fragment : fragments) sum += fragment.bytes.size();
        return sum;
    }
};

/// An event without a decision is rejected. A decision that exceeds the limits is an error of the selection.
struct Decision {
    static constexpr std::size_t tags_max = 32;
    static constexpr std::size_t result_max = 64 * 1024;
    static constexpr std::size_t words_max = 256;

    bool accepted = false;
    std::vector<StreamTag> tags{};    // filter: the streams; none: those that the event came with
    std::vector<std::byte> result{};  // select: becomes a fragment of the event; result.hpp makes it of an object
    std::vector<std::uint32_t> level2_words{};  // select: into the event's header
    std::string trouble{};                      // why the selection failed on this event; empty: it did not

    void accept() noexcept { accepted = true; }
    /// "physics_Main": type, underscore, name. May be called for several streams.
    void accept(std::string_view stream) {
        accepted = true;
        const auto end = stream.find('_');
        StreamTag tag;
        tag.type = stream.substr(0, end);
        if (end != std::string_view::npos) tag.name = stream.substr(end + 1);
        tags.push_back(std::move(tag));
    }
    /// A partial stream (filter): the event is recorded there with the fragments of these sources only.
    void accept(std::string_view stream, std::span<const SourceId> sources) {
        accept(stream);
        tags.back().robs.assign(sources.begin(), sources.end());
        if (sources.empty()) trouble.assign(stream).append(" is accepted as a partial stream without a source");
    }
    void accept(std::string_view stream, std::initializer_list<SourceId> sources) {
        accept(stream, std::span(sources.begin(), sources.size()));
    }
};

using SelectFunction = void(const Event&, Decision&);

/// The description of a library: one that was built against another layout is refused when it is loaded.
struct LibraryFace {
    static constexpr std::uint32_t current = 2;
    std::uint32_t version = current;
    std::uint32_t event_size = sizeof(Event);
    std::uint32_t decision_size = sizeof(Decision);
    SelectFunction* select = nullptr;
};

}  // namespace weir::selection

/// Once in a shared library: `function` is its selection.
#define WEIR_SELECTION(function)                                                                         \
    extern "C" __attribute__((visibility("default"))) const weir::selection::LibraryFace weir_selection; \
    const weir::selection::LibraryFace weir_selection{.select = &(function)};
