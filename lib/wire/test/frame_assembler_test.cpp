// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/frame_assembler.hpp"

#include <gtest/gtest.h>

#include <random>

#include "samples.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::wire {
namespace {

using Step = FrameAssembler::Step;

std::vector<std::byte> stream_of_messages() {
    auto bytes = sample::bytes_of(sample::hello());
    const auto append = [&bytes](const std::vector<std::byte>& more) {
        bytes.insert(bytes.end(), more.begin(), more.end());
    };
    append(sample::event_bytes());
    append(sample::event_bytes(sample::event(), "x"));
    append(sample::bytes_of(sample::ack()));
    append(sample::bytes_of(sample::bye()));
    return bytes;
}

/// What came out of a stream, as text: the types, and the payloads that were kept.
struct Collector {
    FrameAssembler assembler;
    std::vector<std::byte> room;
    std::string seen;
    bool keep_payloads = true;

    Step feed_all(ConstData input) {
        while (true) {
            const auto step = assembler.feed(input);
            if (step == Step::more || step == Step::broken) return step;
            if (step == Step::message) seen += fmt_type();
            if (step == Step::payload) {
                seen += fmt_type() + "(";
                room.assign(assembler.header().payload_size, std::byte{0});
                if (keep_payloads) assembler.keep(room);
                else assembler.skip();
            }
            if (step == Step::payload_end) {
                if (keep_payloads) {
                    seen += as_text(room);
                    EXPECT_EQ(assembler.payload_crc(), checksum::crc32c(room));
                }
                seen += ")";
            }
        }
    }
    std::string fmt_type() const { return std::to_string(assembler.header().type); }
};

constexpr const char* whole_stream = "13(123456789)3(x)46";

TEST(FrameAssembler, FindsTheSameMessagesInPiecesOfAnySize) {
    const auto bytes = stream_of_messages();
    for (std::size_t piece = 1; piece <= bytes.size(); ++piece) {
        Collector collector;
        for (std::size_t at = 0; at < bytes.size(); at += piece)
            ASSERT_EQ(collector.feed_all(ConstData(bytes).subspan(at, std::min(piece, bytes.size() - at))), Step::more);
        EXPECT_EQ(collector.seen, whole_stream) << piece;
        EXPECT_FALSE(collector.assembler.inside_message());
    }
}

TEST(FrameAssembler, CutAtAnyByteHasOnlyTheMessagesBeforeTheCut) {
    const auto bytes = stream_of_messages();
    for (std::size_t size = 0; size < bytes.size(); ++size) {
        Collector collector;
        ASSERT_EQ(collector.feed_all(ConstData(bytes).first(size)), Step::more);
        EXPECT_TRUE(std::string(whole_stream).starts_with(collector.seen)) << size;
        EXPECT_NE(collector.seen, whole_stream) << size;
    }
}

TEST(FrameAssembler, APayloadCanBeReadStraightIntoItsPlace) {
    const auto bytes = sample::event_bytes();
    FrameAssembler assembler;
    ConstData input(bytes);
    ASSERT_EQ(assembler.feed(input), Step::payload);
    std::vector<std::byte> room(9);
    assembler.keep(room);
    EXPECT_TRUE(assembler.inside_payload());
    EXPECT_EQ(assembler.payload_room().size(), 9U);
    std::copy_n(input.begin(), 4, assembler.payload_room().begin());
    EXPECT_EQ(assembler.filled(4), Step::more);
    EXPECT_EQ(assembler.payload_missing(), 5U);
    std::copy_n(input.begin() + 4, 5, assembler.payload_room().begin());
    EXPECT_EQ(assembler.filled(5), Step::payload_end);
    EXPECT_EQ(as_text(room), sample::payload());
    EXPECT_EQ(assembler.payload_crc(), sample::event().payload_crc);
    EXPECT_FALSE(assembler.inside_message());
}

TEST(FrameAssembler, ASkippedPayloadLeavesTheNextMessageReadable) {
    Collector collector;
    collector.keep_payloads = false;
    EXPECT_EQ(collector.feed_all(stream_of_messages()), Step::more);
    EXPECT_EQ(collector.seen, "13()3()46");
}

TEST(FrameAssembler, GarbageIsBrokenAtItsFirstForeignByteAndStaysSo) {
    for (const char* garbage : {"G", "WEIX", "GET / HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02"}) {
        FrameAssembler assembler;
        ConstData input = as_data(garbage);
        EXPECT_EQ(assembler.feed(input), Step::broken) << garbage;
        EXPECT_EQ(assembler.error().code, Errc::corrupt);
        auto good = sample::bytes_of(sample::bye());
        input = good;
        EXPECT_EQ(assembler.feed(input), Step::broken);
    }
}

TEST(FrameAssembler, ARandomBitFlipInAHeadIsBrokenOrWaitsForMoreButIsNeverAMessage) {
    const auto whole = sample::bytes_of(sample::reject());
    for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
        auto bytes = whole;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        FrameAssembler assembler;
        ConstData input(bytes);
        const auto step = assembler.feed(input);
        EXPECT_TRUE(step == Step::broken || step == Step::more) << bit;
    }
}

}  // namespace
}  // namespace weir::wire
