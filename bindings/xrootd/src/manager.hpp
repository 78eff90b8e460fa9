// SPDX-License-Identifier: Apache-2.0
// XRootD's checksum manager with our way of reading: what could not be read to its end without an error, by no program
// written meanwhile, has no sum. Names, attributes and calculators stay those of the manager below it.
#pragma once

#include <expected>
#include <string>

#include <XrdCks/XrdCksWrapper.hh>

namespace weir::xrootd {

class Manager final : public XrdCksWrapper {
public:
    /// `below` outlives it. `root`: what stands in front of the names that the server gives, which are those of
    /// clients.
    Manager(XrdCks& below, XrdSysError* messages, std::string root)
        : XrdCksWrapper(below, messages), root_(std::move(root)) {}

    // The numbers are those of XrdCks: 0 or a negative errno; Ver() is 1 when the value is right, 0 when it is not.
    int Calc(const char* path, XrdCksData& sum, int store) override;
    int Ver(const char* path, XrdCksData& sum) override;

private:
    const std::string root_;
};

}  // namespace weir::xrootd
