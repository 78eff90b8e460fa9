// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/message.hpp"

#include <gtest/gtest.h>

#include <random>

#include "samples.hpp"
#include "weir/base/endian.hpp"

namespace weir::wire {
namespace {

using sample::bytes_of;

ConstData meta_of(const std::vector<std::byte>& message, std::size_t payload = 0) {
    return ConstData(message).subspan(frame_header_size, message.size() - frame_header_size - payload);
}

// The worked examples of docs/formats/delivery-protocol.md: these bytes never change.
TEST(Message, IsEncodedAsTheFormatDescriptionShows) {
    EXPECT_EQ(sample::bytes_of(sample::hello()), sample::from_hex("57 45 49 52 01 01 00 00 24 00 00 00 00 00 00 00 "
                                                                  "00 00 00 00 2d 82 ee ed 02 00 03 00 00 00 00 00 "
                                                                  "08 07 06 05 04 03 02 01 fb 77 05 00 04 00 00 00 "
                                                                  "01 00 00 00 00 00 00 00 65 66 2d 31 "));
    EXPECT_EQ(sample::bytes_of(sample::welcome()), sample::from_hex("57 45 49 52 01 02 00 00 49 00 00 00 00 00 00 00 "
                                                                    "00 00 00 00 28 90 18 a1 02 00 00 00 01 00 00 00 "
                                                                    "00 00 00 04 00 00 00 00 00 00 00 02 00 00 00 00 "
                                                                    "02 00 00 00 00 00 00 00 04 00 00 00 00 00 00 00 "
                                                                    "05 00 00 00 00 00 00 00 fb 77 05 00 10 27 00 00 "
                                                                    "18 17 16 15 14 13 12 11 05 00 00 00 72 65 63 2d "
                                                                    "31 "));
    std::vector<std::byte> alive;
    encode_alive(alive);
    EXPECT_EQ(alive, sample::from_hex("57 45 49 52 01 07 00 80 00 00 00 00 00 00 00 00 "
                                      "00 00 00 00 28 f9 96 ad "));
    EXPECT_EQ(sample::event_bytes(), sample::from_hex("57 45 49 52 01 03 00 00 40 00 00 00 09 00 00 00 "
                                                      "00 00 00 00 e7 ed 99 b4 01 00 00 00 00 00 00 00 "
                                                      "01 00 00 00 00 00 00 00 07 00 00 00 00 00 00 00 "
                                                      "02 00 00 01 05 00 00 00 83 92 06 e3 01 00 00 00 "
                                                      "07 04 01 00 01 00 01 00 70 68 79 73 69 63 73 4d "
                                                      "61 69 6e 01 00 42 00 48 31 32 33 34 35 36 37 38 "
                                                      "39 "));
    EXPECT_EQ(sample::bytes_of(sample::ack()), sample::from_hex("57 45 49 52 01 04 00 00 18 00 00 00 00 00 00 00 "
                                                                "00 00 00 00 6e db 89 23 61 00 00 04 00 00 00 00 "
                                                                "01 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 "));
    EXPECT_EQ(sample::bytes_of(sample::reject()), sample::from_hex("57 45 49 52 01 05 00 00 0e 00 00 00 00 00 00 00 "
                                                                   "00 00 00 00 06 0f 45 07 03 00 00 00 00 00 00 00 "
                                                                   "06 00 02 00 6e 6f "));
    EXPECT_EQ(sample::bytes_of(sample::refused()), sample::from_hex("57 45 49 52 01 08 00 00 20 00 00 00 00 00 00 00 "
                                                                    "00 00 00 00 23 dd 78 2d 02 00 00 00 00 00 00 00 "
                                                                    "02 00 00 00 00 00 00 00 00 00 00 00 04 00 00 00 "
                                                                    "03 00 00 00 02 00 00 00 "));
    EXPECT_EQ(sample::bytes_of(sample::bye()), sample::from_hex("57 45 49 52 01 06 00 00 08 00 00 00 00 00 00 00 "
                                                                "00 00 00 00 c6 02 4f f3 01 00 04 00 64 6f 6e 65 "));
}

TEST(Hello, WithAnyRunNamesNone) {
    auto hello = sample::hello();
    hello.any_run = true;
    EXPECT_TRUE(decode_hello(meta_of(bytes_of(hello))).value().any_run);
    EXPECT_EQ(decode_hello(meta_of(bytes_of(hello))).value().session.run, RunNumber{});
}

TEST(Message, OfEveryKindIsReadBackAsItWasWritten) {
    EXPECT_EQ(decode_hello(meta_of(bytes_of(sample::hello()))).value(), sample::hello());
    EXPECT_EQ(decode_welcome(meta_of(bytes_of(sample::welcome()))).value(), sample::welcome());
    auto event = sample::event();
    event.sent_elsewhere = true;
    event.tags.push_back({"calibration", "LArCells_2", false, {}, {}});
    const auto bytes = sample::event_bytes(event);
    const auto header = decode_header(bytes);
    ASSERT_TRUE(header.has_value());
    EXPECT_TRUE(header->is(MessageType::event));
    EXPECT_EQ(header->payload_size, sample::payload().size());
    EXPECT_EQ(header->message_size(), bytes.size());
    EXPECT_EQ(decode_event(meta_of(bytes, 9), header->flags).value(), event);
    const Ack ack{
        .credit = 77, .cumulative = Sequence{4}, .ranges = {{Sequence{6}, Sequence{6}}, {Sequence{9}, Sequence{12}}}};
    EXPECT_EQ(decode_ack(meta_of(bytes_of(ack))).value(), ack);
    EXPECT_EQ(decode_reject(meta_of(bytes_of(sample::reject()))).value(), sample::reject());
    EXPECT_EQ(decode_bye(meta_of(bytes_of(sample::bye()))).value(), sample::bye());
    EXPECT_EQ(decode_refused(meta_of(bytes_of(sample::refused()))).value(), sample::refused());
}

TEST(Message, RefusedRecordsComeInAscendingOrderAndWithinTheLimit) {
    auto refused = sample::refused();
    std::swap(refused.records[0], refused.records[1]);
    EXPECT_EQ(decode_refused(meta_of(bytes_of(refused))).error().code, Errc::corrupt);
    refused.records = std::vector(refusals_max, Refusal{});
    auto bytes = bytes_of(refused);
    auto meta = std::vector(bytes.begin() + frame_header_size, bytes.end());
    store_little(meta, 8, static_cast<std::uint32_t>(refusals_max + 1));
    EXPECT_EQ(decode_refused(meta).error().code, Errc::corrupt);
}

template <class Decode>
void expect_truncated_at_every_byte(ConstData meta, Decode decode) {
    for (std::size_t size = 0; size < meta.size(); ++size) {
        const auto result = decode(meta.first(size));
        ASSERT_FALSE(result.has_value()) << size;
        EXPECT_EQ(result.error().code, Errc::truncated) << size;
    }
}

TEST(Message, WithAMetaCutShortAtAnyByteIsTruncatedNeverMisread) {
    expect_truncated_at_every_byte(meta_of(bytes_of(sample::hello())), decode_hello);
    expect_truncated_at_every_byte(meta_of(bytes_of(sample::welcome())), decode_welcome);
    expect_truncated_at_every_byte(meta_of(sample::event_bytes(), 9),
                                   [](ConstData meta) { return decode_event(meta, 0); });
    expect_truncated_at_every_byte(meta_of(bytes_of(sample::ack())), decode_ack);
    expect_truncated_at_every_byte(meta_of(bytes_of(sample::reject())), decode_reject);
    expect_truncated_at_every_byte(meta_of(bytes_of(sample::bye())), decode_bye);
}

TEST(Message, WithBytesAfterTheKnownFieldsIsReadAllTheSame) {
    auto bytes = bytes_of(sample::hello());
    bytes.resize(bytes.size() + 12);
    EXPECT_EQ(decode_hello(meta_of(bytes)).value(), sample::hello());
}

TEST(Message, WithAnyBitFlippedInItsHeadIsNeverTakenForIntact) {
    const auto whole = sample::event_bytes();
    const auto head_size = whole.size() - sample::payload().size();
    for (std::size_t bit = 0; bit < 8 * head_size; ++bit) {
        auto bytes = whole;
        bytes[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
        const auto header = decode_header(bytes);
        if (!header) continue;
        const auto there = bytes.size() - frame_header_size;
        EXPECT_FALSE(header_intact(
            bytes, ConstData(bytes).subspan(frame_header_size, std::min<std::size_t>(header->meta_size, there))))
            << bit;
    }
}

TEST(Header, RefusesForeignMagicUnknownVersionAndEveryLengthOverItsLimit) {
    auto bytes = bytes_of(sample::bye());
    const auto code_with = [&bytes](std::size_t at, std::uint64_t value, std::size_t width) {
        auto changed = bytes;
        for (std::size_t i = 0; i < width; ++i) changed[at + i] = static_cast<std::byte>(value >> (8 * i));
        const auto header = decode_header(changed);
        return header ? std::optional<Errc>{} : std::optional(header.error().code);
    };
    EXPECT_EQ(code_with(0, 'G', 1), Errc::corrupt);
    EXPECT_EQ(code_with(4, 2, 1), Errc::unsupported);
    EXPECT_EQ(code_with(8, meta_size_max, 4), std::nullopt);
    EXPECT_EQ(code_with(8, meta_size_max + 1, 4), Errc::limit);
    EXPECT_EQ(code_with(8, 0xFFFFFFFF, 4), Errc::limit);
    EXPECT_EQ(code_with(12, payload_size_max, 8), std::nullopt);
    EXPECT_EQ(code_with(12, payload_size_max + 1, 8), Errc::limit);
    EXPECT_EQ(code_with(12, ~std::uint64_t{0}, 8), Errc::limit);
}

TEST(EventMessage, WithTooManyOrInvalidTagsIsALimitThatCanBeAnsweredBySequence) {
    auto many = sample::event();
    many.sequence = Sequence{42};
    many.tags.assign(tags_max + 1, many.tags.front());
    const auto many_bytes = sample::event_bytes(many);
    EXPECT_EQ(decode_event(meta_of(many_bytes, 9), 0).error().code, Errc::limit);
    EXPECT_EQ(decode_event_sequence(meta_of(many_bytes, 9)).value(), Sequence{42});
    EXPECT_EQ(event_fits(many).error().code, Errc::limit);

    for (const char* word : {"", "a/b", "..", "with space"}) {
        auto bad = sample::event();
        bad.tags.front().name = word;
        EXPECT_EQ(decode_event(meta_of(sample::event_bytes(bad), 9), 0).error().code, Errc::limit) << word;
        EXPECT_EQ(event_fits(bad).error().code, Errc::usage) << word;
    }
    auto robs = sample::event();
    robs.tags.front().robs.assign(tag_robs_max + 1, SourceId{1});
    EXPECT_EQ(decode_event(meta_of(sample::event_bytes(robs), 9), 0).error().code, Errc::limit);
}

TEST(EventMessage, WhoseTagsDoNotFitIsRefusedBeforeItIsEncoded) {
    auto event = sample::event();
    event.tags.front().robs.assign(4000, SourceId{1});
    EXPECT_TRUE(event_fits(event).has_value());
    event.tags.assign(5, event.tags.front());
    EXPECT_EQ(event_fits(event).error().code, Errc::limit);
}

TEST(EventMessage, SequenceZeroOrBelowTheOldestHeldIsCorrupt) {
    for (const auto& [sequence, oldest] : {std::pair{0ULL, 1ULL}, {1ULL, 0ULL}, {4ULL, 5ULL}, {1ULL << 63, 1ULL}}) {
        auto event = sample::event();
        event.sequence = Sequence{sequence};
        event.oldest_held = Sequence{oldest};
        EXPECT_EQ(decode_event(meta_of(sample::event_bytes(event), 9), 0).error().code, Errc::corrupt);
    }
}

TEST(Hello, WithANameThatCouldNotBeAFileNameIsCorrupt) {
    auto bytes = bytes_of(sample::hello());
    bytes.back() = std::byte{'/'};
    EXPECT_EQ(decode_hello(meta_of(bytes)).error().code, Errc::corrupt);
}

TEST(Hello, WithAFormatThatIsNotKnownIsUnsupported) {
    auto bytes = bytes_of(sample::hello());
    bytes[frame_header_size + 2] = std::byte{9};
    EXPECT_EQ(decode_hello(meta_of(bytes)).error().code, Errc::unsupported);
}

TEST(Ack, WithRangesThatOverlapOrFallIsCorrupt) {
    for (const auto& ranges : {std::vector<SequenceRange>{{Sequence{3}, Sequence{9}}},
                               std::vector<SequenceRange>{{Sequence{9}, Sequence{8}}},
                               std::vector<SequenceRange>{{Sequence{6}, Sequence{8}}, {Sequence{8}, Sequence{9}}}}) {
        const Ack ack{.credit = 1, .cumulative = Sequence{5}, .ranges = ranges};
        EXPECT_EQ(decode_ack(meta_of(bytes_of(ack))).error().code, Errc::corrupt);
    }
}

TEST(Ack, AnnouncingMoreRangesThanAreThereTakesNoMemoryForThem) {
    auto bytes = bytes_of(sample::ack());
    store_little<std::uint32_t>(bytes, frame_header_size + 16, 0xFFFFFFFF);
    EXPECT_EQ(decode_ack(meta_of(bytes)).error().code, Errc::corrupt);
    store_little<std::uint32_t>(bytes, frame_header_size + 16, 4000);
    EXPECT_EQ(decode_ack(meta_of(bytes)).error().code, Errc::truncated);
}

TEST(Welcome, OfAVersionThatIsNotUnderstoodIsUnsupportedWhateverFollows) {
    auto welcome = sample::welcome();
    for (const auto version : {std::uint16_t{0}, std::uint16_t{1}}) {
        welcome.protocol = version;
        EXPECT_EQ(decode_welcome(meta_of(bytes_of(welcome))).error().code, Errc::unsupported) << version;
    }
    welcome.protocol = 3;  // a later one: the sender compares it with what it offered
    EXPECT_EQ(decode_welcome(meta_of(bytes_of(welcome))).value(), welcome);
}

TEST(Welcome, WithMoreRangesThanFitCarriesTheLowest) {
    Welcome welcome;
    for (std::uint64_t i = 1; i <= 10'000; i += 2) welcome.durable.insert(Sequence{i});
    const auto bytes = bytes_of(welcome);
    EXPECT_LE(bytes.size(), frame_header_size + meta_size_max);
    EXPECT_EQ(decode_welcome(meta_of(bytes)).value().durable.ranges().size(), message_ranges_max);
}

TEST(Reject, HasOneLineOfTextWhateverCame) {
    auto reject = sample::reject();
    reject.text = "two\nlines\x1b[31m";
    EXPECT_EQ(decode_reject(meta_of(bytes_of(reject))).value().text, "two lines [31m");
    reject.text.assign(5000, 'x');
    EXPECT_EQ(decode_reject(meta_of(bytes_of(reject))).value().text.size(), text_size_max);
}

TEST(Reject, KeepsAReasonThatIsNotKnownAndCountsItApart) {
    auto reject = sample::reject();
    reject.reason = static_cast<RejectReason>(999);
    const auto read = decode_reject(meta_of(bytes_of(reject))).value();
    EXPECT_EQ(read, reject);
    EXPECT_EQ(index(read.reason), 0U);
    EXPECT_STREQ(name(read.reason), "unknown");
}

}  // namespace
}  // namespace weir::wire
