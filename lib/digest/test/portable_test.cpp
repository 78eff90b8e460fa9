// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/portable.hpp"

#include <gtest/gtest.h>

#include "samples.hpp"

namespace weir::digest {
namespace {

TEST(PortableSums, GiveTheKnownAnswersPieceByPiece) {
    for (const auto& answer : test::known_answers()) {
        for (const auto& right : answer.digests) {
            const auto engine = make_portable_engine(right.algorithm());
            const auto cut = answer.data.size() / 3;
            engine->add(ConstData(answer.data).first(cut));
            engine->add(ConstData(answer.data).subspan(cut));
            EXPECT_EQ(engine->value(), right) << name(right.algorithm()) << " " << answer.input;
        }
    }
}

TEST(PortableSums, AreThoseOfTheFastKernelsForPiecesOfAnySize) {
    const auto data = test::random_bytes(100'000, 5);
    std::mt19937_64 random(6);
    for (const auto algorithm : algorithms) {
        const auto engine = make_portable_engine(algorithm);
        for (const bool again : {false, true}) {
            for (ConstData rest = data; !rest.empty();) {
                const auto part = rest.first(std::min<std::size_t>(rest.size(), random() % 9000));
                engine->add(part);
                rest = rest.subspan(part.size());
            }
            EXPECT_EQ(engine->value(), sum(algorithm, data)) << name(algorithm) << (again ? ", begun anew" : "");
            engine->reset();
        }
    }
}

}  // namespace
}  // namespace weir::digest
