// SPDX-License-Identifier: Apache-2.0
// Buffers that ROOT 6.40 wrote: read to the same objects, and written to the same bytes.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "things.hpp"
#include "weir/serial/reader.hpp"
#include "weir/serial/writer.hpp"

namespace {

using namespace weir;
using namespace weir::serial;

const std::filesystem::path buffers = std::filesystem::path(WEIR_TEST_VECTORS) / "root-6.40";

std::string file(const std::string& name) {
    std::ifstream in(buffers / (name + ".bin"), std::ios::binary);
    EXPECT_TRUE(in) << name;
    return {std::istreambuf_iterator<char>(in), {}};
}

/// One buffer both ways: `name` is a file's without its last part, which names the call.
template <class T>
void check(const std::string& name, const T& object, Mode mode, bool any, std::set<std::string>& checked) {
    SCOPED_TRACE(name);
    const auto full = name + (any ? "_WriteObjectAny" : "_StreamObject");
    checked.insert(full + ".bin");
    const auto bytes = file(full);

    Reader reader(as_data(bytes));
    T read{};
    if (any) {
        const auto result = reader.read_any<T>();
        ASSERT_TRUE(result.has_value()) << result.error().context;
        read = **result;
    } else {
        const auto result = reader.stream(read);
        ASSERT_TRUE(result.has_value()) << result.error().context;
    }
    EXPECT_TRUE(read == object);
    EXPECT_TRUE(reader.at_end());

    Writer writer({.mode = mode});
    ASSERT_TRUE(any ? writer.write_any(&read) : writer.stream(read));
    EXPECT_TRUE(as_text(writer.data()) == bytes);
}

TEST(RootBuffers, EveryOneIsReadAndWrittenByteForByte) {
    std::set<std::string> checked;
    using enum Mode;
    for (const bool any : {false, true}) check("Thing", Thing{0x01020304}, object_wise, any, checked);
    check("vecThing_n0", sample_things<Thing>(0), object_wise, false, checked);
    for (const std::size_t count : {1u, 10u, 1000u})
        for (const bool any : {false, true})
            for (const Mode mode : {object_wise, member_wise})  // which is for members only
                check("vecThing_n" + std::to_string(count), sample_things<Thing>(count), mode, any, checked);
    for (const bool any : {false, true}) {
        check("vecThingV_n10", sample_things<ThingV>(10), object_wise, any, checked);
        check("Holder_ow_n10", Holder{sample_things<Thing>(10)}, object_wise, any, checked);
        check("Holder_mw_n10", Holder{sample_things<Thing>(10)}, member_wise, any, checked);
    }
    check("Holder_ow_n1000", Holder{sample_things<Thing>(1000)}, object_wise, false, checked);
    check("Holder_mw_n1000", Holder{sample_things<Thing>(1000)}, member_wise, false, checked);

    for (const auto& entry : std::filesystem::directory_iterator(buffers))
        if (entry.path().extension() == ".bin") {
            EXPECT_TRUE(checked.contains(entry.path().filename())) << entry.path();
        }
}

}  // namespace
