// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/run_record_file.hpp"

#include <fstream>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class CatalogueRecords : public CatalogueTest {
protected:
    static RunRecord sample(RunNumber run) {
        RunRecord record;
        record.run = run;
        record.weir = "0.1.0";
        record.file = "/daq/test.toml";
        record.text = "# d\xc3\xa9j\xc3\xa0 vu\n[partition]\nname = \"test\"\n";
        record.sha256 = "8a4f";
        record.started = WallTime{std::chrono::seconds{1'790'000'000}};
        record.changes = {{record.started, "mask", "0x420000", "ann", "", Level1Id{501}}};
        return record;
    }
};

TEST_F(CatalogueRecords, OfARunIsKeptOnceAndAsItWasLast) {
    const auto catalogue = open();
    EXPECT_EQ(kept_run_record(*catalogue, RunNumber{7}).value(), std::nullopt);
    auto record = sample(RunNumber{7});
    ASSERT_TRUE(keep_run_record(*catalogue, record));
    record.changes.push_back({record.started, "stop", "", "", "enough", {}});
    ASSERT_TRUE(keep_run_record(*catalogue, record));
    EXPECT_EQ(kept_run_record(*catalogue, RunNumber{7}), record);
    EXPECT_EQ(kept_run_record(*catalogue, RunNumber{8}).value(), std::nullopt);
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{8}, run_record_parameter, "something else"));
    EXPECT_EQ(kept_run_record(*catalogue, RunNumber{8}).error().code, Errc::corrupt);
}

TEST_F(CatalogueRecords, InFilesAreFoundByRunAndReplaced) {
    EXPECT_TRUE(run_record_files(directory_)->empty());
    EXPECT_FALSE(run_record_files(directory_ / "absent"));
    for (const auto run : {100'000'000U, 12U, 7U})
        for (const auto synced : {Synced::no, Synced::yes})
            ASSERT_TRUE(write_run_record(directory_, sample(RunNumber{run}), synced));
    std::ofstream(directory_ / "weir.run.00000007.json.new") << "left by a crash";
    EXPECT_EQ(run_record_files(directory_),
              (std::vector{directory_ / "weir.run.00000007.json", directory_ / "weir.run.00000012.json",
                           directory_ / "weir.run.100000000.json"}));
    EXPECT_EQ(read_run_record(run_record_path(directory_, RunNumber{12})), sample(RunNumber{12}));
    std::ofstream(directory_ / "weir.run.00000012.json") << "{}";
    const auto damaged = read_run_record(run_record_path(directory_, RunNumber{12}));
    EXPECT_EQ(code_of(damaged), Errc::corrupt);
    EXPECT_TRUE(damaged.error().context.starts_with((directory_ / "weir.run.00000012.json: ").native()));
    EXPECT_FALSE(write_run_record(directory_ / "absent", sample(RunNumber{1}), Synced::yes));
}

}  // namespace
}  // namespace weir::catalogue
