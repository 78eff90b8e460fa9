// SPDX-License-Identifier: Apache-2.0
// Who has the lease of a partition, in a real server.
#include "weir/catalogue/run_lease.hpp"

#include <thread>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class RunLeases : public CatalogueTest {
protected:
    std::unique_ptr<RunLease> lease(std::string_view partition = "cosmics") const {
        auto opened = open_run_lease(uri_, partition);
        EXPECT_TRUE(opened.has_value()) << opened.error().message();
        return std::move(opened.value());
    }
    const Guid first_ = Guid::random(), second_ = Guid::random();
};

TEST_F(RunLeases, WhoTakesItIsItsHolderUntilAnotherTakesIt) {
    const auto here = lease(), there = lease();
    EXPECT_FALSE(good(here->look()));
    EXPECT_TRUE(good(here->take(first_, "ctl:/data", std::nullopt)));
    const auto seen = good(there->look());
    ASSERT_TRUE(seen);
    EXPECT_EQ(seen->id, first_);
    EXPECT_EQ(seen->name, "ctl:/data");
    EXPECT_FALSE(seen->ended);
    EXPECT_TRUE(good(here->renew(first_)));
    EXPECT_TRUE(good(there->take(second_, "ctl2:/data", first_)));
    EXPECT_FALSE(good(here->renew(first_)));
    EXPECT_FALSE(good(here->put(first_, "run-number", "7\n")));
    EXPECT_FALSE(good(here->put(first_, "run-number", std::nullopt)));
    EXPECT_FALSE(good(here->end(first_)));
    EXPECT_EQ(good(here->look())->id, second_);
    EXPECT_TRUE(good(here->documents()).empty());
}

TEST_F(RunLeases, OfTwoWhoSawTheSameOneOnlyTheQuickerHasIt) {
    const auto here = lease(), there = lease();
    EXPECT_TRUE(good(here->take(first_, "a", std::nullopt)));
    EXPECT_FALSE(good(there->take(second_, "b", std::nullopt)));
    const auto third = Guid::random();
    EXPECT_TRUE(good(there->take(second_, "b", first_)));
    EXPECT_FALSE(good(here->take(third, "c", first_)));
    EXPECT_TRUE(good(there->take(second_, "b", first_))) << "its first answer was perhaps lost";
    EXPECT_EQ(good(here->look())->name, "b");
}

TEST_F(RunLeases, DocumentsAreFoundByWhoComesNext) {
    const auto here = lease();
    ASSERT_TRUE(good(here->take(first_, "a", std::nullopt)));
    EXPECT_TRUE(good(here->put(first_, "run-open.json", "{}\n")));
    EXPECT_TRUE(good(here->put(first_, "run-number", "7\n")));
    EXPECT_TRUE(good(here->put(first_, "run-number", "8\n")));
    EXPECT_TRUE(good(here->put(first_, "run-open.json", std::nullopt)));
    EXPECT_TRUE(good(here->put(first_, "run-peers.json", std::nullopt))) << "there was none";
    const std::map<std::string, std::string> expected{{"run-number", "8\n"}};
    EXPECT_EQ(good(lease()->documents()), expected);
    EXPECT_TRUE(good(lease("another")->documents()).empty());
}

TEST_F(RunLeases, ASilentHolderIsSeenToBeSilentAndOneThatEndedToHaveEnded) {
    const auto here = lease();
    ASSERT_TRUE(good(here->take(first_, "a", std::nullopt)));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_GE(good(here->look())->silent, std::chrono::milliseconds(50));
    EXPECT_TRUE(good(here->end(first_)));
    EXPECT_TRUE(good(here->look())->ended);
    EXPECT_TRUE(good(here->take(second_, "b", first_)));
    EXPECT_FALSE(good(here->look())->ended);
}

TEST_F(RunLeases, ManyThatBeginAtOnceMakeTheTablesOnceAndOneHasTheLease) {
    std::atomic<int> taken = 0;
    {
        std::vector<std::jthread> all;
        for (int i = 0; i < 8; ++i)
            all.emplace_back([&] { taken += good(lease()->take(Guid::random(), "one", std::nullopt)) ? 1 : 0; });
    }
    EXPECT_EQ(taken, 1);
}

TEST_F(RunLeases, AServerThatIsAwayIsAnErrorAndItsReturnIsNoticed) {
    const auto here = lease();
    ASSERT_TRUE(good(here->take(first_, "a", std::nullopt)));
    the_cluster().stop_at_once();
    const auto away = here->renew(first_);
    const auto not_opened = open_run_lease(uri_, "cosmics");
    ASSERT_TRUE(the_cluster().start_again());
    EXPECT_EQ(code_of(away), Errc::io);
    EXPECT_EQ(code_of(not_opened), Errc::io);
    EXPECT_TRUE(good(here->renew(first_)));
}

TEST_F(RunLeases, LivesBesideTheCatalogueThatRecordersMakeLaterInTheSameSchema) {
    const auto here = lease();
    ASSERT_TRUE(good(here->take(first_, "a", std::nullopt)));
    EXPECT_TRUE(open()->open_run(start(1)).has_value());
    EXPECT_TRUE(good(here->renew(first_)));
    EXPECT_EQ(code_of(open_run_lease("/some/path", "cosmics")), Errc::usage);
}

}  // namespace
}  // namespace weir::catalogue
