// SPDX-License-Identifier: Apache-2.0
// Where XRootD's names mean something else than elsewhere:
//
//   crc32    POSIX's cksum.
//   zcrc32   zlib's crc32, but XRootD's own plug-in hands out the number as it lies in memory, so on little-endian
//            machines its digits are those of the reversed bytes. Servers and clients must agree, so that is kept.
//   crc64    XRootD only knows the length of the value. EOS, the XRootD-based storage that has a crc64, computes
//            that of ECMA-182.
#include "names.hpp"

#include <bit>

namespace weir::xrootd {
namespace {

std::string_view trimmed(std::string_view text) noexcept {
    const auto begin = text.find_first_not_of(" \t");
    if (begin == text.npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace

std::optional<Meaning> meaning_of(std::string_view name, std::string_view parameters) noexcept {
    using digest::Algorithm;
    parameters = trimmed(parameters);
    if (name == "crc64") {
        if (parameters.empty() || parameters == "ecma182") return Meaning{Algorithm::crc64_ecma182};
        if (parameters == "xz") return Meaning{Algorithm::crc64_xz};
        if (parameters == "nvme") return Meaning{Algorithm::crc64_nvme};
        return std::nullopt;
    }
    if (name == "zcrc32") {
        if (parameters.empty()) return Meaning{Algorithm::crc32, std::endian::native == std::endian::little};
        if (parameters == "big-endian") return Meaning{Algorithm::crc32};
        return std::nullopt;
    }
    if (!parameters.empty()) return std::nullopt;  // a wish that would not be fulfilled
    if (name == "crc32") return Meaning{Algorithm::cksum};
    if (const auto algorithm = digest::parse_algorithm(name)) return Meaning{*algorithm};
    return std::nullopt;
}

}  // namespace weir::xrootd
