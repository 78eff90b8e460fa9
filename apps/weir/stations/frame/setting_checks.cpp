// SPDX-License-Identifier: Apache-2.0
#include "stations/frame/setting_checks.hpp"

#include <fmt/format.h>

#include "stations/frame/partition_settings.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/readout/front_end_spec.hpp"
#include "weir/readout/readout_station.hpp"
#include "weir/selection/selector.hpp"
#include "weir/transport/address.hpp"
#include "weir/transport/network.hpp"
#include "weir/workload/fragment_replay.hpp"

namespace weir::app {

Result<> check_address(const std::string& text) {
    WEIR_TRY(transport::parse_host_port(text));
    return {};
}

Result<> check_listen(const std::string& text) { return text.empty() ? Result<>{} : check_address(text); }

Result<> check_network(const std::string& text) {
    if (!text.empty()) WEIR_TRY(transport::Network::parse(text));
    return {};
}

Result<> check_source(const std::string& text) {
    if (!parse_source_id(text))
        return fail(Errc::usage, fmt::format("\"{}\" is no source, for example \"0x7c0000\"", text));
    return {};
}

Result<> check_offset(const std::string& text) {
    if (!parse_level1_offset(text))
        return fail(Errc::usage, fmt::format("\"{}\" is not SOURCE:N, for example \"0xa80010:1\"", text));
    return {};
}

Result<> check_part(const std::string& text) {
    WEIR_TRY(workload::parse_part(text));
    return {};
}

Result<> check_stream(const std::string& text) {
    WEIR_TRY(parse_stream_key(text));
    return {};
}

Result<> check_readout_source(const std::string& text) {
    if (readout::parse_feed_kind(text)) return {};
    if (!text.ends_with(".so") && !text.ends_with(".py"))
        return fail(Errc::usage,
                    fmt::format("\"{}\" fills no readout: give generator, file, network, level2, or a front-end "
                                "NAME.so or NAME.py",
                                text));
    return readout::FrontEndSpec::check_name(text);
}

Result<> check_selection(const std::string& text) { return selection::Selection::check_name(text); }

}  // namespace weir::app
