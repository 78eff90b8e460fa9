// SPDX-License-Identifier: Apache-2.0
#include "weir/plugin/plug_in_messages.hpp"

#include <string_view>

namespace weir::plugin {
namespace {

constexpr std::size_t text_max = 4096;

void append(std::vector<std::byte>& to, std::uint32_t value) {
    to.resize(to.size() + sizeof value);
    store_little(std::span(to), to.size() - sizeof value, value);
}

}  // namespace

const char* name(Call call) noexcept {
    switch (call) {
        case Call::none: break;
        case Call::load: return "loading it";
        case Call::begin_run: return "begin_run";
        case Call::poll: return "poll";
        case Call::read_out: return "read_out";
        case Call::end_run: return "end_run";
        case Call::see: return "see";
    }
    return "a call";
}

void write_begin_run(const BeginRun& begin, std::vector<std::byte>& to) {
    const auto at = begin_message(static_cast<std::uint32_t>(ToPlugIn::begin_run), to);
    append(to, number(begin.run));
    append(to, static_cast<std::uint32_t>(begin.poll_interval.count()));
    for (const auto word : begin.words) append(to, word);
    end_message(at, to);
}

Result<BeginRun> read_begin_run(ConstData body) {
    if (body.size() < 8 || body.size() % 4 != 0) return fail(Errc::truncated, "the message ends early");
    BeginRun read{.run = RunNumber{load_little<std::uint32_t>(body)},
                  .poll_interval = std::chrono::microseconds(load_little<std::uint32_t>(body, 4))};
    for (std::size_t at = 8; at < body.size(); at += 4) read.words.push_back(load_little<std::uint32_t>(body, at));
    return read;
}

void write_failed(const Failed& failed, std::vector<std::byte>& to) {
    const auto at = begin_message(static_cast<std::uint32_t>(FromPlugIn::failed), to);
    append(to, static_cast<std::uint32_t>(failed.call));
    append(to, number(failed.trigger));
    const auto text = as_data(std::string_view(failed.text).substr(0, text_max));
    to.insert(to.end(), text.begin(), text.end());
    end_message(at, to);
}

Result<Failed> read_failed(ConstData body) {
    if (body.size() < 8) return fail(Errc::truncated, "the message ends early");
    const auto call = load_little<std::uint32_t>(body);
    if (call == 0 || call > static_cast<std::uint32_t>(Call::see))
        return fail(Errc::corrupt, "it names a call that is none");
    return Failed{.call = static_cast<Call>(call),
                  .trigger = Level1Id{load_little<std::uint32_t>(body, 4)},
                  .text = std::string(as_text(body.subspan(8)))};
}

}  // namespace weir::plugin
