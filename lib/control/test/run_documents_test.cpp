// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_documents.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "weir/base/file.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/control/open_run.hpp"
#include "weir/control/run_numbers.hpp"

namespace weir::control {
namespace {

class RunDocuments : public testing::Test {
protected:
    RunDocuments() : first(make()), second(make()) {}
    ~RunDocuments() override {
        std::filesystem::remove_all(first);
        std::filesystem::remove_all(second);
    }
    static std::filesystem::path make() {
        std::string pattern = testing::TempDir() + "run-documents-XXXXXX";
        return ::mkdtemp(pattern.data());
    }
    static void write(const std::filesystem::path& path, std::string_view text) {
        ASSERT_TRUE(replace_text(path, text, Synced::no));
    }
    /// As they are copied.
    std::map<std::string, std::string> documents() const {
        std::map<std::string, std::string> all;
        for (const auto& name : run_documents(first))
            if (auto text = read_text(first / name, 1_MiB)) all[name] = *text;
        return all;
    }
    const std::filesystem::path first, second;
};

TEST_F(RunDocuments, AnOpenRunIsFoundInTheOtherDirectoryWithItsRecordAndPeers) {
    write(first / "run-partition.toml", "[partition]\n");
    catalogue::RunRecord record;
    record.run = RunNumber{12};
    record.parameters["comment"] = "cosmics";
    ASSERT_TRUE(catalogue::write_run_record(first, record, Synced::no));
    OpenRun open(first);
    ASSERT_TRUE(open.note(RunNumber{12}, {{"accepted", "7"}}));
    ASSERT_TRUE(open.note(RunNumber{12}, std::vector<Peer>{{.name = "ros-1", .dataflow = "10.77.0.11:4000"}}));
    ASSERT_TRUE(put_run_documents(second, documents()));
    const auto left = OpenRun(second).left();
    ASSERT_TRUE(left && *left);
    EXPECT_EQ((*left)->run, RunNumber{12});
    EXPECT_EQ((*left)->counts.at("accepted"), "7");
    EXPECT_EQ((*left)->peers.size(), 1U);
    const auto copied = catalogue::read_run_record(catalogue::run_record_path(second, RunNumber{12}));
    ASSERT_TRUE(copied);
    EXPECT_EQ(copied->parameters.at("comment"), "cosmics");
    EXPECT_EQ(*read_text(second / "run-partition.toml", 1_KiB), "[partition]\n");
}

TEST_F(RunDocuments, TheOneThatSaysThatARunIsOpenIsCopiedLast) {
    ASSERT_TRUE(OpenRun(first).note(RunNumber{12}, std::map<std::string, std::string>{}));
    const auto names = run_documents(first);
    EXPECT_EQ(names.back(), "run-open.json");
    EXPECT_NE(std::ranges::find(names, "weir.run.00000012.json"), names.end());
}

TEST_F(RunDocuments, WhatAnOlderRunLeftInTheOtherDirectoryIsGone) {
    ASSERT_TRUE(OpenRun(second).note(RunNumber{3}, {{"accepted", "1"}}));
    write(second / "run-peers.json", "{}");
    write(first / "run-partition.toml", "[partition]\n");
    ASSERT_TRUE(put_run_documents(second, documents()));
    EXPECT_FALSE(*OpenRun(second).left());
    EXPECT_FALSE(std::filesystem::exists(second / "run-peers.json"));
}

TEST_F(RunDocuments, RunNumbersOnlyGrow) {
    write(first / "run-number", "41\n");
    write(second / "run-number", "7\n");
    auto numbers = RunNumbers::open(second);
    ASSERT_TRUE(numbers);
    ASSERT_TRUE(put_run_documents(second, documents()));
    ASSERT_TRUE(numbers->read_again());
    EXPECT_EQ(*numbers->take(RunNumber{1}), RunNumber{42});
    ASSERT_TRUE(put_run_documents(second, documents()));
    ASSERT_TRUE(numbers->read_again());
    EXPECT_EQ(*numbers->take(RunNumber{1}), RunNumber{43});
}

TEST_F(RunDocuments, NamesThatAreNoDocumentsAreRefusedAndNothingIsChanged) {
    write(second / "run-partition.toml", "old");
    for (const char* name :
         {"../x", "authority/ca.key", "weir.run..json", "weir.run.1/2.json", "weir.run.12.json.exe", ""}) {
        const auto put = put_run_documents(second, {{"run-partition.toml", "new"}, {name, "x"}});
        ASSERT_FALSE(put) << name;
        EXPECT_EQ(put.error().code, Errc::corrupt);
    }
    EXPECT_EQ(*read_text(second / "run-partition.toml", 1_KiB), "old");
}

}  // namespace
}  // namespace weir::control
