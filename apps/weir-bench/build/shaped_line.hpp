// SPDX-License-Identifier: Apache-2.0
// A network of one cable with a rate and a short queue: two ends of a veth pair, one in a network namespace of its own,
// the queue at the end where the sources are, as in a switch before a builder. Needs root, ip and tc.
#pragma once

#include <string>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class ShapedLine {
public:
    /// `rate` as tc writes it ("1gbit"); `queue`: what the switch holds for one port.
    [[nodiscard]] static Result<ShapedLine> lay(const std::string& rate, Bytes queue);
    ShapedLine(ShapedLine&& other) noexcept;
    ShapedLine& operator=(ShapedLine&&) = delete;
    ~ShapedLine();

    [[nodiscard]] const std::string& network_namespace() const noexcept { return name_; }
    [[nodiscard]] static const char* near_address() noexcept { return "10.203.7.1"; }
    [[nodiscard]] static const char* far_address() noexcept { return "10.203.7.2"; }

private:
    explicit ShapedLine(std::string name) : name_(std::move(name)) {}
    std::string name_;
};

}  // namespace weir::app
