// SPDX-License-Identifier: Apache-2.0
#include "run/authority/join_port.hpp"

#include <memory>

#include "weir/base/system_clock.hpp"

namespace weir::app {

Result<std::optional<OwnAuthority>> own_authority(const PartitionSettings& shared,
                                                  const std::filesystem::path& directory) {
    if (!shared.security.own_authority) return std::nullopt;
    auto own = WEIR_TRY(OwnAuthority::prepare(directory, shared.name, system_clock()));
    return own;
}

service::JoinParts join_parts_of(const OwnAuthority& own, const PartitionSettings& shared, const Reporter& report,
                                 const Clock& clock) {
    return {own.authority(), listed_names(shared),
            std::make_shared<const service::JoinTokens>(own.tokens_file(), clock), report, clock};
}

Result<service::HttpServer> serve_joins(const std::string& listen, const service::ControlAccess& access,
                                        const service::JoinParts& parts,
                                        const std::function<void(const service::HttpRefusal&)>& refused) {
    auto options = service::join_options(listen, access);
    options.refused = refused;
    return service::HttpServer::start(options, service::join_routes(parts));
}

}  // namespace weir::app
