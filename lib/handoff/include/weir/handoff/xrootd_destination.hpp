// SPDX-License-Identifier: Apache-2.0
// An XRootD server (or a redirector, EOS, CTA's disk in front) as a destination, through XRootD's client.
// The sum of the stored bytes is asked for with `query checksum` under the temporary name, right after the
// file was closed: no checksum attribute was ever written for that name, so a server that computes sums has
// to read what it stored. A server that keeps a sum from the time of writing answers with that one; who has
// such a server lets the file be read back (Verification::read).
#pragma once

#include <memory>
#include <string>

#include "weir/handoff/destination.hpp"

namespace weir::handoff {

struct XrootdOptions {
    std::chrono::milliseconds answer{60'000};  // the client's own limits are set to it too, once a process
    std::size_t block = 4 << 20;               // of one write
    unsigned blocks_in_flight = 4;             // of one file
    bool sync = true;                          // the server syncs the file before it is closed
};

/// `url` is root://HOST[:PORT]//PATH. Errc::usage: it is not; Errc::unsupported: weir was built without
/// XRootD's client. Nothing is connected before the first call.
[[nodiscard]] Result<std::unique_ptr<Destination>> xrootd_destination(std::string name, const std::string& url,
                                                                      const XrootdOptions& options = {});

/// What XRootD's `query checksum` answers: "adler32 0abc". Nothing unless it names this algorithm (by XRootD's
/// name) and has a value; leading zeros may be missing.
[[nodiscard]] std::optional<digest::Digest> parse_checksum_answer(std::string_view answer, digest::Algorithm algorithm);

}  // namespace weir::handoff
