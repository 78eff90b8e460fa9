// SPDX-License-Identifier: Apache-2.0
// adler32 and the CRCs of lib/checksum behind the interface of all sums.
#include "engines/engines.hpp"
#include "weir/base/assert.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/cksum.hpp"
#include "weir/checksum/crc32.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/checksum/crc64.hpp"

namespace weir::digest {
namespace {

template <class Value, Value (*function)(ConstData, Value) noexcept, Value start>
class NumberEngine final : public Engine {
public:
    explicit NumberEngine(Algorithm algorithm) : algorithm_(algorithm) {}
    void add(ConstData data) override { value_ = function(data, value_); }
    [[nodiscard]] Digest value() const override { return Digest::of_number(algorithm_, value_); }
    void reset() override { value_ = start; }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<NumberEngine>(*this); }

private:
    const Algorithm algorithm_;
    Value value_ = start;
};

class CksumEngine final : public Engine {
public:
    void add(ConstData data) override {
        running_ = checksum::cksum_add(data, running_);
        length_ += data.size();
    }
    [[nodiscard]] Digest value() const override {
        return Digest::of_number(Algorithm::cksum, checksum::cksum_finish(running_, length_));
    }
    void reset() override { running_ = 0, length_ = 0; }
    [[nodiscard]] std::unique_ptr<Engine> clone() const override { return std::make_unique<CksumEngine>(*this); }

private:
    std::uint32_t running_ = 0;
    std::uint64_t length_ = 0;
};

}  // namespace

std::unique_ptr<Engine> make_checksum_engine(Algorithm algorithm) {
    using namespace checksum;
    using Sum32 = std::uint32_t;
    using Sum64 = std::uint64_t;
    switch (algorithm) {
        case Algorithm::adler32: return std::make_unique<NumberEngine<Sum32, adler32, adler32_start>>(algorithm);
        case Algorithm::crc32: return std::make_unique<NumberEngine<Sum32, crc32, 0>>(algorithm);
        case Algorithm::cksum: return std::make_unique<CksumEngine>();
        case Algorithm::crc32c: return std::make_unique<NumberEngine<Sum32, crc32c, 0>>(algorithm);
        case Algorithm::crc64_xz: return std::make_unique<NumberEngine<Sum64, crc64_xz, 0>>(algorithm);
        case Algorithm::crc64_nvme: return std::make_unique<NumberEngine<Sum64, crc64_nvme, 0>>(algorithm);
        case Algorithm::crc64_ecma182: return std::make_unique<NumberEngine<Sum64, crc64_ecma182, 0>>(algorithm);
        default: break;
    }
    WEIR_ASSERT(false);
    return nullptr;
}

}  // namespace weir::digest
