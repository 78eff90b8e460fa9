// SPDX-License-Identifier: Apache-2.0
// In the place of xrootd_destination.cpp where XRootD's client was not found.
#include "weir/handoff/xrootd_destination.hpp"

namespace weir::handoff {

Result<std::unique_ptr<Destination>> xrootd_destination(std::string, const std::string& url, const XrootdOptions&) {
    return fail(Errc::unsupported, "cannot hand over to " + url +
                                       ": this weir was built without XRootD's client "
                                       "(package libxrootd-client-dev)");
}

}  // namespace weir::handoff
