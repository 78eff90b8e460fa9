// SPDX-License-Identifier: Apache-2.0
#include "triggers/plug_in/trigger_messages.hpp"

#include <string_view>

#include "weir/base/endian.hpp"

namespace weir::selection {
namespace {

constexpr std::size_t text_max = 4096;

template <class T>
void add_number(std::vector<std::byte>& to, T value) {
    to.resize(to.size() + sizeof(T));
    store_little(std::span(to), to.size() - sizeof(T), value);
}

}  // namespace

const char* name(TriggerCall call) noexcept {
    switch (call) {
        case TriggerCall::load: return "loading it";
        case TriggerCall::begin_run: return "begin_run";
        case TriggerCall::poll: return "poll";
        case TriggerCall::end_run: return "end_run";
    }
    return "unknown";
}

void write_begin_triggers(const BeginTriggers& begin, std::vector<std::byte>& to) {
    const auto at = plugin::begin_message(static_cast<std::uint32_t>(ToTriggerPlugIn::begin_run), to);
    add_number(to, number(begin.run));
    add_number(to, number(begin.next));
    add_number(to, static_cast<std::uint32_t>(begin.poll_interval.count()));
    plugin::end_message(at, to);
}

Result<BeginTriggers> read_begin_triggers(ConstData body) {
    if (body.size() != 12) return fail(Errc::truncated, "the message has another size than the begin of a run");
    return BeginTriggers{.run = RunNumber{load_little<std::uint32_t>(body)},
                         .next = Level1Id{load_little<std::uint32_t>(body, 4)},
                         .poll_interval = std::chrono::microseconds(load_little<std::uint32_t>(body, 8))};
}

void write_credit(std::uint64_t triggers, std::vector<std::byte>& to) {
    const auto at = plugin::begin_message(static_cast<std::uint32_t>(ToTriggerPlugIn::credit), to);
    add_number(to, triggers);
    plugin::end_message(at, to);
}

Result<std::uint64_t> read_credit(ConstData body) {
    if (body.size() != 8) return fail(Errc::truncated, "the message has another size than a credit");
    return load_little<std::uint64_t>(body);
}

void write_failed(const TriggerCallFailed& failed, std::vector<std::byte>& to) {
    const auto at = plugin::begin_message(static_cast<std::uint32_t>(FromTriggerPlugIn::failed), to);
    add_number(to, static_cast<std::uint32_t>(failed.call));
    const auto text = as_data(std::string_view(failed.text).substr(0, text_max));
    to.insert(to.end(), text.begin(), text.end());
    plugin::end_message(at, to);
}

Result<TriggerCallFailed> read_trigger_call_failed(ConstData body) {
    if (body.size() < 4) return fail(Errc::truncated, "the message ends early");
    const auto call = load_little<std::uint32_t>(body);
    if (call > static_cast<std::uint32_t>(TriggerCall::end_run))
        return fail(Errc::corrupt, "it names a call that is none");
    return TriggerCallFailed{.call = static_cast<TriggerCall>(call), .text = std::string(as_text(body.subspan(4)))};
}

}  // namespace weir::selection
