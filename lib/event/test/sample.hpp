// SPDX-License-Identifier: Apache-2.0
// Small events that show every feature of their format, and the real file when it is there.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "weir/event/event_builder.hpp"
#include "weir/event/rob_builder.hpp"

namespace weir::event {

inline constexpr EventIds sample_ids{.run = RunNumber{357750},
                                     .global_id = GlobalEventId{0x1'0000'0042},
                                     .level1_id = Level1Id{0x05000123},
                                     .lumi_block = LumiBlock{83},
                                     .time = {.seconds = 1'530'000'000, .nanoseconds = 250}};
inline const std::vector<SourceId> sample_sources{SourceId{0x420001}, SourceId{0x420002}, SourceId{0x510001},
                                                  SourceId{0x630001}};

struct SampleRobs {
    std::vector<std::byte> bytes;
    std::vector<std::size_t> ends;

    [[nodiscard]] std::vector<ConstData> views() const {
        std::vector<ConstData> all;
        std::size_t begin = 0;
        for (const auto end : ends) {
            all.push_back(ConstData(bytes).subspan(begin, end - begin));
            begin = end;
        }
        return all;
    }
};

inline SampleRobs sample_robs(Format format, ChecksumType checksum = ChecksumType::none) {
    SampleRobs robs;
    std::uint32_t next = 0x1000;
    for (const auto source : sample_sources) {
        std::vector<std::uint32_t> data;
        for (std::uint32_t i = 0; i < 3 + (number(source) & 3); ++i) data.push_back(next++);
        const RodFields rod{.source = source,
                            .run = sample_ids.run,
                            .level1_id = sample_ids.level1_id,
                            .bunch_crossing_id = 77,
                            .status_after_data = number(source) % 2 == 0};
        EXPECT_TRUE(append_rob(robs.bytes, rod, data, {.format = format, .checksum = checksum}).has_value());
        robs.ends.push_back(robs.bytes.size());
    }
    return robs;
}

inline EventFields sample_fields(Format format) {
    EventFields fields;
    fields.format = format;
    fields.ids = sample_ids;
    fields.source = SourceId{0x790001};
    fields.bunch_crossing_id = 77;
    fields.level1_words = {0x101, 0x202, 0x303};
    if (format == Format::event_3_0) {
        fields.ids.global_id = GlobalEventId{42};
        return fields;
    }
    fields.trigger_type = 9;
    fields.filter_words = {0xf00d};
    fields.tags = {{.type = "physics", .name = "Main", .obeys_lumi_block = true, .robs = {}, .detectors = {}},
                   {.type = "calibration",
                    .name = "LAr_Noise",
                    .obeys_lumi_block = false,
                    .robs = {SourceId{0x510001}},
                    .detectors = {0x42}}};
    return fields;
}

inline std::vector<std::byte> sample_event(Format format, ChecksumType checksum = ChecksumType::none,
                                           Compression compression = Compression::none) {
    auto fields = sample_fields(format);
    fields.checksum = checksum;
    fields.compression = compression;
    return build_event(fields, sample_robs(format, checksum).views()).value();
}

/// Where the real events lie: $WEIR_TEST_DATA, else beside the source tree.
inline std::filesystem::path test_data_folder() {
    if (const char* folder = std::getenv("WEIR_TEST_DATA")) return folder;
    return (std::filesystem::path(WEIR_TEST_VECTORS) / "../../../../../shared/data").lexically_normal();
}

inline std::vector<std::byte> read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

/// Tests of the real events; without the file they fail, unless the environment allows it to be absent.
class RealFile : public testing::Test {
protected:
    void SetUp() override {
        const auto path = test_data_folder() / "bes3/run_0091668_SFO-1_10events.raw";
        if (std::filesystem::exists(path)) {
            bytes = read_file(path);
            return;
        }
        const char* allowed = std::getenv("WEIR_TEST_DATA_ABSENT");
        if (allowed != nullptr && std::string(allowed) == "ok")
            GTEST_SKIP() << "NOT TESTED: the real events are absent (" << path
                         << "), as WEIR_TEST_DATA_ABSENT=ok allows";
        FAIL() << "the real events are absent: " << path
               << "; set WEIR_TEST_DATA to the folder that holds bes3/, or WEIR_TEST_DATA_ABSENT=ok to go without";
    }

    std::vector<std::byte> bytes;
};

}  // namespace weir::event
