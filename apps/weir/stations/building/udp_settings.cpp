// SPDX-License-Identifier: Apache-2.0
#include "stations/building/udp_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "stations/frame/input_settings.hpp"
#include "stations/frame/setting_checks.hpp"
#include "weir/base/source_id.hpp"

namespace weir::app {
namespace {

/// "12" or "0xcafe", and nothing else.
template <class Integer>
bool read_number(std::string_view text, Integer& value) {
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    const auto* end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, value, hex ? 16 : 10);
    return read.ec == std::errc{} && read.ptr == end;
}

Result<readout::HeaderField> parse_field(std::string_view text) {
    readout::HeaderField field;
    const auto colon = text.find(':');
    if (colon == text.npos || !read_number(text.substr(0, colon), field.offset) ||
        !read_number(text.substr(colon + 1), field.size) || field.size == 0)
        return fail(Errc::usage, fmt::format("\"{}\" is not OFFSET:SIZE in bytes, for example \"4:2\"", text));
    return field;
}

/// "0:2:0xcafe".
Result<> parse_magic(std::string_view text, readout::DatagramHeader& header) {
    const auto colon = text.rfind(':');
    const auto field =
        colon == text.npos ? Result<readout::HeaderField>(readout::HeaderField{}) : parse_field(text.substr(0, colon));
    if (!field || field->size == 0 || !read_number(text.substr(colon + 1), header.magic_value))
        return fail(Errc::usage, fmt::format("\"{}\" is not OFFSET:SIZE:VALUE, for example \"0:2:0xcafe\"", text));
    header.magic = *field;
    return {};
}

Result<> check_field(const std::string& text) {
    if (!text.empty()) WEIR_TRY(parse_field(text));
    return {};
}

}  // namespace

void UdpSettings::declare(service::Settings& settings, const std::string& section) {
    settings
        .add(section, "input_udp", listen_,
             "source = \"network\": where boards bring fragments by UDP, as 127.0.0.1:9200; port 0: any")
        .each([](const std::string& text) -> Result<> { return text.empty() ? Result<>{} : check_address(text); });
    settings
        .add(section, "udp_header_size", header_size_,
             "bytes of a header that the keys from udp_byte_order to udp_time describe; 0: weir's own")
        .at_most(readout::datagram_header_max);
    settings.add(section, "udp_byte_order", byte_order_, "of that header's fields").one_of({"big", "little"});
    settings
        .add(section, "udp_magic", magic_,
             "OFFSET:SIZE:VALUE: what each header has there, as 0:2:0xcafe; empty: nothing")
        .each([](const std::string& text) -> Result<> {
            readout::DatagramHeader header;
            return text.empty() ? Result<>{} : parse_magic(text, header);
        });
    const auto field = [&](const char* name, std::string& text, const char* what) {
        settings.add(section, name, text, what).each(check_field);
    };
    field("udp_source", source_, "OFFSET:SIZE of the source id");
    settings.add(section, "udp_source_base", source_base_, "is added to it").each(check_source);
    settings.add(section, "udp_fixed_source", fixed_source_, "the source of all datagrams, without a field for it")
        .each([](const std::string& text) -> Result<> { return text.empty() ? Result<>{} : check_source(text); });
    field("udp_counter", counter_, "OFFSET:SIZE of the counter of triggers: the level-1 id, or its low bits");
    settings
        .add(section, "udp_counter_bits", counter_bits_, "that it counts in, from the lowest on; 0: all, at most 32")
        .at_most(32);
    field("udp_length", length_, "OFFSET:SIZE of the payload's length in bytes; empty: all behind the header");
    field("udp_part", part_, "OFFSET:SIZE of the number of this part of a fragment, from 0 on; empty: it is whole");
    field("udp_parts", parts_, "OFFSET:SIZE of the number of its parts");
    field("udp_time", time_, "OFFSET:SIZE of the trigger's time by the board's clock, in ns");
    settings
        .add(section, "udp_receive_buffer", options_.receive_buffer,
             "of the kernel, for datagrams that wait; it may give less")
        .at_least(Bytes{64ULL << 10})
        .at_most(Bytes{1ULL << 30});
    settings
        .add(section, "udp_memory", options_.memory,
             "for fragments that wait for their other parts; each source has an equal share")
        .at_least(Bytes{1ULL << 20});
    settings
        .add(section, "udp_wait", options_.wait,
             "for a part, or a fragment, that a later one has overtaken; then it is lost")
        .at_most(std::chrono::minutes(10));
}

bool UdpSettings::describes() const noexcept {
    const std::array texts{&magic_, &source_, &fixed_source_, &counter_, &length_, &part_, &parts_, &time_};
    return std::ranges::any_of(texts, [](const std::string* text) { return !text->empty(); }) || byte_order_ != "big" ||
           source_base_ != "0" || counter_bits_ != 0;
}

Result<readout::DatagramHeader> UdpSettings::header() const {
    if (header_size_ == 0) {
        if (describes()) return fail(Errc::usage, "a header is described without its size; give udp_header_size");
        return readout::DatagramHeader{};
    }
    readout::DatagramHeader header{
        .own = false, .size = header_size_, .big_endian = byte_order_ == "big", .counter_bits = counter_bits_};
    if (!magic_.empty()) WEIR_TRY(parse_magic(magic_, header));
    const std::array fields{std::pair{&source_, &header.source}, std::pair{&counter_, &header.counter},
                            std::pair{&length_, &header.length}, std::pair{&part_, &header.part},
                            std::pair{&parts_, &header.parts},   std::pair{&time_, &header.time}};
    for (const auto& [text, field] : fields)
        if (!text->empty()) *field = WEIR_TRY(parse_field(*text));
    if (!fixed_source_.empty()) header.fixed_source = parse_source_id(fixed_source_);
    header.source_base = number(parse_source_id(source_base_).value_or(SourceId{}));
    WEIR_TRY(check(header));
    return header;
}

Result<std::optional<readout::DatagramInputOptions>> UdpSettings::input(bool plain) const {
    if (listen_.empty()) {
        const readout::DatagramInputOptions usual;
        if (describes() || header_size_ > 0 || options_.wait != usual.wait || options_.memory != usual.memory ||
            options_.receive_buffer != usual.receive_buffer)
            return fail(Errc::usage, "keys udp_... belong to a port for datagrams: input_udp = \"127.0.0.1:9200\"");
        return std::nullopt;
    }
    auto input = options_;
    input.listen = WEIR_TRY(transport::parse_host_port(listen_));
    input.header = WEIR_TRY(header());
    if (!plain) WEIR_TRY(check_plain(input.listen, "plain = true (UDP has no TLS)"));
    return input;
}

}  // namespace weir::app
