// SPDX-License-Identifier: Apache-2.0
#include "calculator.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

namespace weir::xrootd {

Calculator::Calculator(std::string name, Meaning meaning)
    : name_(std::move(name)), meaning_(meaning), summer_(meaning.algorithm) {}

char* Calculator::Final() {
    const auto digest = summer_.value();
    const auto text = as_text(digest.bytes());
    std::ranges::copy(text, value_.begin());
    if (meaning_.bytes_reversed) std::reverse(value_.begin(), value_.begin() + text.size());
    return value_.data();
}

void Calculator::Init() { summer_.reset(); }

XrdCksCalc* Calculator::New() {
    try {
        return std::make_unique<Calculator>(name_, meaning_).release();
    } catch (const std::bad_alloc&) {
        return nullptr;  // XRootD answers ENOMEM
    }
}

const char* Calculator::Type(int& size) {
    size = static_cast<int>(digest::digest_size(meaning_.algorithm));
    return name_.c_str();
}

void Calculator::Update(const char* data, int size) {
    if (size > 0) summer_.add(as_data({data, static_cast<std::size_t>(size)}));
}

}  // namespace weir::xrootd
