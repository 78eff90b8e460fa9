// SPDX-License-Identifier: Apache-2.0
// The port at which a station takes fragments or triggers from programs outside: its keys, and who may reach it.
#pragma once

#include <optional>
#include <string>

#include "weir/base/result.hpp"
#include "weir/service/configuration.hpp"
#include "weir/transport/address.hpp"
#include "weir/transport/tls.hpp"

namespace weir::app {

struct InputPort {
    transport::HostPort listen{};
    transport::TlsFiles tls{};
};

class InputSettings {
public:
    /// `what` it takes: "fragments".
    void declare(service::Settings& settings, const std::string& section, const std::string& what);
    /// Nothing: there is none. Errc::usage: plain TCP where other machines reach it.
    [[nodiscard]] Result<std::optional<InputPort>> port() const;
    /// The files that are named, with a port or without.
    [[nodiscard]] transport::TlsFiles tls() const { return {tls_certificate_, tls_key_, tls_ca_}; }
    /// What is readable and can be forged on the way is wanted.
    [[nodiscard]] bool plain() const noexcept { return plain_; }

private:
    std::string input_;
    std::string tls_certificate_, tls_key_, tls_ca_;
    bool plain_ = false;
};

/// Only this machine reaches the address: "127.0.0.1:9100". Errc::usage: it is none.
[[nodiscard]] Result<bool> on_this_machine(const std::string& listen);

/// Plain TCP can be read and written by every machine between: only this machine may, unless that is wanted. `how`:
/// what allows it.
[[nodiscard]] Result<> check_plain(const transport::HostPort& listen, const char* how);

}  // namespace weir::app
