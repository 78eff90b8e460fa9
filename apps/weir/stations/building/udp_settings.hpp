// SPDX-License-Identifier: Apache-2.0
// The port at which a readout takes datagrams from boards, and the description of another header than weir's own.
#pragma once

#include <optional>
#include <string>

#include "weir/base/result.hpp"
#include "weir/readout/fragment_input.hpp"
#include "weir/service/configuration.hpp"

namespace weir::app {

class UdpSettings {
public:
    void declare(service::Settings& settings, const std::string& section);
    /// Nothing: there is none. Errc::usage: the description contradicts itself, or other machines reach the port and
    /// `plain` is not set.
    [[nodiscard]] Result<std::optional<readout::DatagramInputOptions>> input(bool plain) const;

private:
    [[nodiscard]] bool describes() const noexcept;
    [[nodiscard]] Result<readout::DatagramHeader> header() const;

    readout::DatagramInputOptions options_;  // the fields that keys are bound to directly
    std::string listen_;
    std::uint32_t header_size_ = 0;
    std::string byte_order_ = "big";
    std::string magic_, source_, fixed_source_, counter_, length_, part_, parts_, time_;
    std::string source_base_ = "0";
    std::uint32_t counter_bits_ = 0;
};

}  // namespace weir::app
