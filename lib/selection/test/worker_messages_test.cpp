// SPDX-License-Identifier: Apache-2.0
#include "workers/worker_messages.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "sample_event.hpp"

namespace weir::selection {
namespace {

std::vector<std::byte> written(const Event& event) {
    std::vector<std::byte> memory(shared_event_size(event));
    write_event(event, memory);
    return memory;
}

TEST(WorkerMessages, AnEventComesOutAsItWentIn) {
    const test::SampleEvent sample;
    const auto event = sample.event(1ULL << 40);
    const auto memory = written(event);
    EventParts parts;
    const auto read = read_event(memory, parts);
    ASSERT_TRUE(read.has_value()) << read.error().context;
    EXPECT_EQ(read->run, event.run);
    EXPECT_EQ(read->global_id, event.global_id);
    EXPECT_EQ(read->lumi_block, event.lumi_block);
    EXPECT_EQ(read->nanoseconds, event.nanoseconds);
    EXPECT_TRUE(std::ranges::equal(read->level1_words, event.level1_words));
    ASSERT_EQ(read->fragments.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ(read->fragments[i].source, event.fragments[i].source);
        EXPECT_EQ(read->fragments[i].state, event.fragments[i].state);
        EXPECT_TRUE(std::ranges::equal(read->fragments[i].bytes, event.fragments[i].bytes));
    }
}

TEST(WorkerMessages, FragmentsThatLieInThePayloadAreNotCopiedTwice) {
    std::vector<std::byte> payload(100'000);
    const Fragment fragments[]{{SourceId{1}, FragmentState::here, ConstData(payload).subspan(1000, 50'000)},
                               {SourceId{2}, FragmentState::here, ConstData(payload).last(100)}};
    const Event event{.fragments = fragments, .payload = payload};
    EXPECT_LT(shared_event_size(event), 100'300U);
    const auto memory = written(event);
    EventParts parts;
    const auto read = read_event(memory, parts);
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->fragments[0].bytes.data(), read->payload.data() + 1000);
    EXPECT_EQ(read->fragments[1].bytes.size(), 100U);
}

TEST(WorkerMessages, AnyDamagedWordIsAnErrorOrAnEventInsideTheMemory) {
    const test::SampleEvent sample;
    const auto whole = written(sample.event(1));
    for (std::size_t at = 0; at < whole.size(); ++at) {
        for (const auto bits : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
            auto memory = whole;
            memory[at] ^= bits;
            EventParts parts;
            const auto read = read_event(memory, parts);
            if (!read) continue;
            for (const auto& fragment : read->fragments) {
                EXPECT_GE(fragment.bytes.data(), memory.data());
                EXPECT_LE(fragment.bytes.data() + fragment.bytes.size(), memory.data() + memory.size());
            }
        }
    }
}

Decision sample_decision() {
    Decision decision;
    decision.accept("physics_Main");
    decision.accept("calibration_Muons");
    decision.tags[1].robs = {SourceId{5}, SourceId{6}};
    decision.tags[1].detectors = {0xa1};
    decision.tags[1].obeys_lumi_block = false;
    decision.result = {std::byte{1}, std::byte{2}, std::byte{3}};
    decision.level2_words = {7, 8};
    return decision;
}

TEST(WorkerMessages, ADecisionComesBackAsItWasMade) {
    std::vector<std::byte> answer;
    const auto decision = sample_decision();
    write_decision(decision, answer);
    const auto head = plugin::read_message_head(ConstData(answer).first(plugin::message_head), answer_limits);
    ASSERT_TRUE(head.has_value());
    EXPECT_EQ(head->kind, static_cast<std::uint32_t>(AnswerKind::decision));
    ASSERT_EQ(head->size, answer.size() - plugin::message_head);
    const auto read = read_decision(ConstData(answer).subspan(plugin::message_head));
    ASSERT_TRUE(read.has_value()) << read.error().context;
    EXPECT_TRUE(read->accepted);
    EXPECT_EQ(read->tags, decision.tags);
    EXPECT_EQ(read->result, decision.result);
    EXPECT_EQ(read->level2_words, decision.level2_words);
}

TEST(WorkerMessages, ADecisionCutAtAnyByteIsAnError) {
    std::vector<std::byte> answer;
    write_decision(sample_decision(), answer);
    const auto body = ConstData(answer).subspan(plugin::message_head);
    for (std::size_t size = 0; size < body.size(); ++size)
        EXPECT_FALSE(read_decision(body.first(size)).has_value()) << size;
}

TEST(WorkerMessages, RequestedFragmentsComeOutAsTheyWentIn) {
    const test::SampleEvent sample;
    std::vector<std::byte> block(shared_fragments_size(sample.fragments));
    write_fragments(sample.fragments, block);
    const auto read = read_fragments(block);
    ASSERT_TRUE(read.has_value()) << read.error().context;
    ASSERT_EQ(read->size(), 3U);
    for (std::size_t i = 0; i < 3; ++i) {
        EXPECT_EQ((*read)[i].source, sample.fragments[i].source);
        EXPECT_EQ((*read)[i].state, sample.fragments[i].state);
        EXPECT_TRUE(std::ranges::equal((*read)[i].bytes, sample.fragments[i].bytes));
    }
    for (std::size_t size = 0; size < block.size(); ++size) EXPECT_FALSE(read_fragments(ConstData(block).first(size)));
    for (std::size_t at = 0; at < block.size(); ++at) {
        for (const auto bits : {std::byte{0x01}, std::byte{0x80}, std::byte{0xff}}) {
            auto damaged = block;
            damaged[at] ^= bits;
            const auto fragments = read_fragments(damaged);
            if (!fragments) continue;
            for (const auto& fragment : *fragments) {
                EXPECT_GE(fragment.bytes.data(), damaged.data());
                EXPECT_LE(fragment.bytes.data() + fragment.bytes.size(), damaged.data() + damaged.size());
            }
        }
    }
    block[4] = std::byte{1};  // the version
    EXPECT_EQ(read_fragments(block).error().code, Errc::corrupt);
}

TEST(WorkerMessages, ARequestIsAListOfSourcesWithinTheLimit) {
    std::vector<SourceId> sources;
    for (std::uint32_t i = 0; i < FragmentRequests::sources_max; ++i) sources.push_back(SourceId{i});
    std::vector<std::byte> answer;
    write_request(sources, answer);
    const auto head = plugin::read_message_head(ConstData(answer).first(plugin::message_head), answer_limits);
    ASSERT_TRUE(head.has_value());
    EXPECT_EQ(head->kind, static_cast<std::uint32_t>(AnswerKind::request));
    const auto body = ConstData(answer).subspan(plugin::message_head);
    const auto read = read_request(body);
    ASSERT_TRUE(read.has_value()) << read.error().context;
    EXPECT_EQ(*read, sources);
    EXPECT_TRUE(read_request({}).value().empty());
    EXPECT_EQ(read_request(body.first(7)).error().code, Errc::truncated);
    answer.resize(answer.size() + 4);
    EXPECT_EQ(read_request(ConstData(answer).subspan(plugin::message_head)).error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::selection
