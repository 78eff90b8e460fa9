// SPDX-License-Identifier: Apache-2.0
#include "files/objects/object_view.hpp"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <limits>

#include "weir/selection/result.hpp"
#include "weir/serial/writer.hpp"
#include "weir/service/monitoring_objects.hpp"

namespace weir::app {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const T& object) {
    serial::Writer writer;
    EXPECT_TRUE(writer.write_any(&object));
    return {writer.data().begin(), writer.data().end()};
}

TEST(ObjectView, BytesThatAreNoObjectAreShownAsBytes) {
    const auto view = view_object(as_data("found it"));
    EXPECT_EQ(text_of(view, 0), "no object, 8 bytes\n  666f756e64206974\n");
    EXPECT_EQ(json::serialize(json_of(view)), R"({"class":null,"bytes":8,"hex":"666f756e64206974"})");
    EXPECT_EQ(text_of(view_object({}), 1), " no object, 0 bytes\n   \n");
}

TEST(ObjectView, NumbersWithNamesStandInColumnsAndInDocumentsAsTheyAre) {
    selection::Findings findings{.selection = "cut\n"};
    findings.add("words", 405);
    findings.add("x", std::numeric_limits<double>::quiet_NaN());
    findings.add("far", -std::numeric_limits<double>::infinity());
    const auto bytes = bytes_of(findings);
    const auto view = view_object(bytes);
    EXPECT_EQ(text_of(view, 2), "  weir::selection::Findings, " + std::to_string(bytes.size()) +
                                    " bytes\n    selection   cut\\x0a\n    quantities  3 in all\n"
                                    "      words  405\n      x      nan\n      far    -inf\n");
    EXPECT_EQ(json::serialize(json_of(view).at("members")),
              R"({"selection":"cut\n","quantities":[{"name":"words","value":4.05E2},{"name":"x","value":"nan"},)"
              R"({"name":"far","value":"-inf"}]})");
}

TEST(ObjectView, LongListsAreShownByTheirBeginning) {
    const service::SampledEvent event{.station = "ef-1", .fragments = {{0xa10000, std::vector<std::uint32_t>(100, 7)}}};
    const auto bytes = bytes_of(event);
    const auto text = text_of(view_object(bytes), 0);
    EXPECT_NE(text.find("{source 0x00a10000, words [0x00000007, "), std::string::npos) << text;
    EXPECT_NE(text.find(", ... 100 in all]}"), std::string::npos) << text;
    EXPECT_EQ(json_of(view_object(bytes)).at("members").at("fragments").at(0).at("words").as_array().size(), 100U);
}

TEST(ObjectView, ADamagedObjectOfAKnownClassSaysWhereAtAnyByte) {
    const auto whole = bytes_of(selection::Findings{.selection = "cut", .quantities = {{"words", 405}}});
    for (std::size_t at = 40; at < whole.size(); ++at) {
        auto bytes = whole;
        bytes[at] ^= std::byte{0xff};
        const auto view = view_object(bytes);
        EXPECT_NE(view.value.has_value(), view.trouble.starts_with("ROOT buffer, offset "))
            << at << ": " << view.trouble;
        EXPECT_EQ(json_of(view).contains("hex"), !view.value.has_value());
    }
}

}  // namespace
}  // namespace weir::app
