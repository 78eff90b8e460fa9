// SPDX-License-Identifier: Apache-2.0
// One checksum computation of XRootD's server or client on our sums.
#pragma once

#include <array>
#include <string>

#include <XrdCks/XrdCksCalc.hh>
#include "names.hpp"
#include "weir/digest/summer.hpp"

namespace weir::xrootd {

class Calculator final : public XrdCksCalc {
public:
    /// `name` is XRootD's; it is what Type() returns.
    Calculator(std::string name, Meaning meaning);

    /// The value in the order in which XRootD stores and prints its bytes.
    char* Final() override;
    void Init() override;
    XrdCksCalc* New() override;
    const char* Type(int& size) override;
    void Update(const char* data, int size) override;

private:
    const std::string name_;
    const Meaning meaning_;
    digest::Summer summer_;
    std::array<char, digest::Digest::size_max> value_{};
};

}  // namespace weir::xrootd
