// SPDX-License-Identifier: Apache-2.0
#include "front_end/front_end_messages.hpp"

#include "weir/base/endian.hpp"

namespace weir::readout {
namespace {

constexpr std::size_t trigger_size = 16;

template <class T>
void append(std::vector<std::byte>& to, T value) {
    to.resize(to.size() + sizeof(T));
    store_little(std::span(to), to.size() - sizeof(T), value);
}

template <class Kind>
std::size_t begin(Kind kind, std::vector<std::byte>& to) {
    return plugin::begin_message(static_cast<std::uint32_t>(kind), to);
}

}  // namespace

const char* name(Call call) noexcept {
    switch (call) {
        case Call::load: return "loading it";
        case Call::begin_run: return "begin_run";
        case Call::poll: return "poll";
        case Call::read_out: return "read_out";
        case Call::end_run: return "end_run";
    }
    return "unknown";
}

void write_begin_run(const BeginRun& begin_run, std::vector<std::byte>& to) {
    const auto at = begin(ToFrontEnd::begin_run, to);
    append(to, number(begin_run.run));
    append(to, static_cast<std::uint32_t>(begin_run.poll_interval.count()));
    for (const auto source : begin_run.sources) append(to, number(source));
    plugin::end_message(at, to);
}

void write_triggers(std::span<const Trigger> triggers, std::vector<std::byte>& to) {
    const auto at = begin(ToFrontEnd::triggers, to);
    for (const auto& trigger : triggers) {
        append(to, number(trigger.level1_id));
        append(to, trigger.type);
        append(to, static_cast<std::uint64_t>(trigger.time.count()));
    }
    plugin::end_message(at, to);
}

void write_end_run(std::vector<std::byte>& to) {
    plugin::write_message(static_cast<std::uint32_t>(ToFrontEnd::end_run), {}, to);
}

Result<BeginRun> read_begin_run(ConstData body) {
    if (body.size() < 8 || body.size() % 4 != 0) return fail(Errc::truncated, "the message ends early");
    BeginRun read{.run = RunNumber{load_little<std::uint32_t>(body)},
                  .poll_interval = std::chrono::microseconds(load_little<std::uint32_t>(body, 4)),
                  .sources = {}};
    for (std::size_t at = 8; at < body.size(); at += 4)
        read.sources.push_back(SourceId{load_little<std::uint32_t>(body, at)});
    return read;
}

Result<> read_triggers(ConstData body, std::vector<Trigger>& into) {
    if (body.size() % trigger_size != 0) return fail(Errc::truncated, "the message ends early");
    into.clear();
    for (std::size_t at = 0; at < body.size(); at += trigger_size)
        into.push_back(
            {.level1_id = Level1Id{load_little<std::uint32_t>(body, at)},
             .type = load_little<std::uint32_t>(body, at + 4),
             .time = std::chrono::nanoseconds(static_cast<std::int64_t>(load_little<std::uint64_t>(body, at + 8)))});
    return {};
}

void write_failed(const Failed& failed, std::vector<std::byte>& to) {
    const auto at = begin(FromFrontEnd::failed, to);
    append(to, static_cast<std::uint32_t>(failed.call));
    append(to, number(failed.trigger));
    const auto text = as_data(std::string_view(failed.text).substr(0, 4096));
    to.insert(to.end(), text.begin(), text.end());
    plugin::end_message(at, to);
}

Result<Failed> read_failed(ConstData body) {
    if (body.size() < 8) return fail(Errc::truncated, "the message ends early");
    const auto call = load_little<std::uint32_t>(body);
    if (call > static_cast<std::uint32_t>(Call::end_run)) return fail(Errc::corrupt, "it names a call that is none");
    return Failed{.call = static_cast<Call>(call),
                  .trigger = Level1Id{load_little<std::uint32_t>(body, 4)},
                  .text = std::string(as_text(body.subspan(8)))};
}

void write_number(FromFrontEnd kind, std::uint32_t number, std::vector<std::byte>& to) {
    const auto at = begin(kind, to);
    append(to, number);
    plugin::end_message(at, to);
}

Result<std::uint32_t> read_number(ConstData body) {
    if (body.size() != 4) return fail(Errc::truncated, "the message has another size than a number");
    return load_little<std::uint32_t>(body);
}

}  // namespace weir::readout
