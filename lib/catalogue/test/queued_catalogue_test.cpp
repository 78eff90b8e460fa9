// SPDX-License-Identifier: Apache-2.0
// Two catalogues that must end equal, whatever the server or the recorder's process does in between.
#include <gmock/gmock.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "catalogue_fixture.hpp"
#include "queued/queued_catalogue_backend.hpp"

namespace weir::catalogue {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Queued : public CatalogueTest {
protected:
    std::unique_ptr<Catalogue> open_queued(const std::string& own = "own.sqlite", const std::string& uri = "-") {
        QueuedCatalogueOptions options;
        options.retry = std::chrono::milliseconds{20};
        options.report = [this](const Report& report) {
            const std::lock_guard lock(mutex_);
            reports_.push_back((report.severity == Severity::information ? "good: " : "bad: ") + report.what);
        };
        return good(open_queued_catalogue(directory_ / own, uri == "-" ? uri_ : uri, options));
    }

    std::unique_ptr<Catalogue> shared() { return good(open_postgres_catalogue(uri_)); }

    static void settle(Catalogue& catalogue) {
        const auto settled = catalogue.settle(std::chrono::seconds{60});
        ASSERT_TRUE(settled.has_value()) << settled.error().message();
        EXPECT_TRUE(*settled) << catalogue.changes_waiting().value() << " changes are waiting";
    }

    static void expect_equal(Catalogue& a, Catalogue& b) {
        EXPECT_EQ(good(a.runs()), good(b.runs()));
        EXPECT_EQ(good(a.files()), good(b.files()));
        EXPECT_EQ(good(a.transfers()), good(b.transfers()));
        for (const auto& run : good(a.runs())) {
            EXPECT_EQ(good(a.streams(run.run)), good(b.streams(run.run)));
            EXPECT_EQ(good(a.lumi_blocks(run.run)), good(b.lumi_blocks(run.run)));
            EXPECT_EQ(good(a.marks(run.run)), good(b.marks(run.run)));
            EXPECT_EQ(good(a.ledgers(run.run)), good(b.ledgers(run.run)));
            EXPECT_EQ(good(a.run_parameters(run.run)), good(b.run_parameters(run.run)));
        }
    }

    static void record_a_file(Catalogue& catalogue, std::uint32_t sequence) {
        const auto file = file_of(17, sequence);
        ASSERT_TRUE(catalogue.file_opened(file).has_value());
        const std::vector marks{mark_of(17, 0, "1-" + std::to_string(3 * sequence))};
        const std::vector ledgers{ledger_of(17, 3, 3)};
        ASSERT_TRUE(catalogue.file_closed(close_of(file), marks, ledgers).has_value());
    }

    std::mutex mutex_;
    std::vector<std::string> reports_;
};

TEST_F(Queued, WhoWorksBesideARecorderMakesNothingAndDoesNotBeginToShare) {
    const QueuedCatalogueOptions beside{
        .shared = {}, .retry = std::chrono::milliseconds{20}, .begin = false, .report = {}};
    EXPECT_FALSE(open_queued_catalogue(directory_ / "own.sqlite", uri_, beside).has_value());
    EXPECT_FALSE(std::filesystem::exists(directory_ / "own.sqlite"));
    ASSERT_TRUE(open_sqlite_catalogue(directory_ / "own.sqlite").has_value());
    EXPECT_EQ(code_of(open_queued_catalogue(directory_ / "own.sqlite", uri_, beside)), Errc::refused);
    open_queued();
    EXPECT_TRUE(open_queued_catalogue(directory_ / "own.sqlite", uri_, beside).has_value());
}

TEST_F(Queued, WhatIsChangedWhileTheServerIsAwayArrivesWhenItIsBack) {
    auto catalogue = open_queued();
    ASSERT_EQ(catalogue->open_run(start(17)).value(), RunOpening::fresh);
    record_a_file(*catalogue, 1);
    the_cluster().stop_at_once();
    for (std::uint32_t n = 2; n <= 5; ++n) record_a_file(*catalogue, n);
    ASSERT_TRUE(catalogue->add_to_ledger(ledger_of(17, 2, 0, {{"late", 2}})).has_value());
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(90)).has_value());
    EXPECT_FALSE(catalogue->settle(std::chrono::seconds{60}).value());
    EXPECT_GE(catalogue->changes_waiting().value(), 10U);
    ASSERT_TRUE(the_cluster().start_again());
    settle(*catalogue);
    expect_equal(*catalogue, *shared());
    EXPECT_EQ(good(shared()->ledgers(RunNumber{17})).at(0), ledger_of(17, 17, 15, {{"late", 2}}));
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(reports_.size(), 2U) << testing::PrintToString(reports_);
    EXPECT_THAT(reports_[0],
                AllOf(HasSubstr("bad: "), HasSubstr("cannot be reached"), HasSubstr("changes are kept in")));
    EXPECT_THAT(reports_[1], AllOf(HasSubstr("good: "), HasSubstr("is back")));
}

TEST_F(Queued, ANewRunNeedsTheServerAndOneThatWasLeftOpenDoesNot) {
    {
        ASSERT_TRUE(open_queued()->open_run(start(17)).has_value());
    }
    the_cluster().stop_at_once();
    auto catalogue = open_queued();
    const auto fresh = catalogue->open_run(start(18));
    const auto free = catalogue->open_free_run(start(0));
    const auto continued = catalogue->open_run(start(17));
    record_a_file(*catalogue, 1);
    ASSERT_TRUE(the_cluster().start_again());
    ASSERT_FALSE(fresh.has_value());
    EXPECT_THAT(fresh.error().message(), HasSubstr("run 18 cannot be opened without the shared catalogue"));
    EXPECT_FALSE(free.has_value());
    EXPECT_EQ(continued.value(), RunOpening::continued);
    settle(*catalogue);
    expect_equal(*catalogue, *shared());
}

TEST_F(Queued, ARunThatWasClosedIsOpenedAgainAlsoWhileTheServerIsAway) {
    auto again = start(17);
    again.again = true;
    {
        auto catalogue = open_queued();
        ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
        ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(100)).has_value());
        settle(*catalogue);
        EXPECT_FALSE(catalogue->open_run(start(17)).has_value());
        EXPECT_EQ(good(catalogue->open_run(again)), RunOpening::continued);
        ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(200)).has_value());
    }
    the_cluster().stop_at_once();
    auto catalogue = open_queued();
    const auto continued = catalogue->open_run(again);
    record_a_file(*catalogue, 1);
    const auto closed = catalogue->close_run(RunNumber{17}, "recorder-1", time_of(300));
    ASSERT_TRUE(the_cluster().start_again());
    EXPECT_EQ(continued.value(), RunOpening::continued);
    EXPECT_TRUE(closed.has_value());
    settle(*catalogue);
    expect_equal(*catalogue, *shared());
    EXPECT_EQ(good(shared()->runs()).at(0).ended, time_of(300));
}

TEST_F(Queued, AProcessThatIsKilledLeavesItsChangesToTheNext) {
    {
        ASSERT_TRUE(open_queued()->open_run(start(17)).has_value());
    }
    the_cluster().stop_at_once();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        auto catalogue = open_queued();
        for (std::uint32_t n = 1; n <= 3; ++n) record_a_file(*catalogue, n);
        ::kill(::getpid(), SIGKILL);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(the_cluster().start_again());
    auto catalogue = open_queued();
    settle(*catalogue);
    expect_equal(*catalogue, *shared());
    EXPECT_EQ(good(shared()->ledgers(RunNumber{17})).at(0).stored, 9U);
}

TEST_F(Queued, ANoteThatWasCarriedAndNotForgottenIsNotMadeTwice) {
    std::vector<std::string> notes;
    {
        auto catalogue = open_queued();
        ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
        settle(*catalogue);
    }
    const auto raw = [&](const char* statement) {
        sqlite3* handle = nullptr;
        ASSERT_EQ(sqlite3_open((directory_ / "own.sqlite").c_str(), &handle), SQLITE_OK);
        ASSERT_EQ(sqlite3_exec(handle, statement, nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
        sqlite3_close(handle);
    };
    {
        auto noting = open_queued("own.sqlite", "");
        ASSERT_TRUE(noting->add_to_ledger(ledger_of(17, 1, 1)).has_value());
        EXPECT_FALSE(noting->settle(std::chrono::seconds{1}).value());
    }
    raw("CREATE TABLE kept AS SELECT * FROM outbox");
    settle(*open_queued());
    raw("INSERT INTO outbox SELECT * FROM kept");  // as if the process had died before it deleted them
    auto catalogue = open_queued();
    settle(*catalogue);
    EXPECT_EQ(good(shared()->ledgers(RunNumber{17})), std::vector{ledger_of(17, 1, 1)});
}

TEST_F(Queued, WhoeverOpensTheFileWithoutAServerLeavesNotesToo) {
    auto recorder = open_queued();
    ASSERT_TRUE(recorder->open_run(start(17)).has_value());
    auto tool = open_sqlite_catalogue(directory_ / "own.sqlite").value();
    record_a_file(*tool, 1);
    settle(*recorder);
    expect_equal(*recorder, *shared());
}

TEST_F(Queued, SeveralRecordersShareARunAndANameBelongsToOne) {
    auto one = open_queued("one.sqlite");
    auto two = open_queued("two.sqlite");
    EXPECT_EQ(one->open_run(start(17, "recorder-1")).value(), RunOpening::fresh);
    EXPECT_EQ(two->open_run(start(17, "recorder-2")).value(), RunOpening::fresh);
    const auto same = two->open_run(start(17, "recorder-1"));
    ASSERT_FALSE(same.has_value());
    EXPECT_EQ(same.error().code, Errc::refused);
    EXPECT_THAT(same.error().context, HasSubstr("a name of its own"));
    EXPECT_EQ(one->open_free_run(start(0, "recorder-1")).value(), RunNumber{18});
    EXPECT_EQ(two->open_free_run(start(0, "recorder-2")).value(), RunNumber{19});
    ASSERT_TRUE(one->close_run(RunNumber{17}, "recorder-1", time_of(9)).has_value());
    ASSERT_TRUE(two->close_run(RunNumber{17}, "recorder-2", time_of(9)).has_value());
    settle(*one);
    settle(*two);
    EXPECT_EQ(good(shared()->runs(RunNumber{17})).size(), 2U);
    EXPECT_EQ(code_of(one->open_run(start(17, "recorder-1"))), Errc::refused);
}

TEST_F(Queued, AChangeThatTheSharedCatalogueRefusesIsSetAsideLoudlyAndTheOthersGoOn) {
    auto catalogue = open_queued();
    ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
    ASSERT_TRUE(catalogue->set_run_parameter(RunNumber{17}, "name", "\xff").has_value());  // PostgreSQL keeps UTF-8
    record_a_file(*catalogue, 1);
    settle(*catalogue);
    EXPECT_EQ(good(shared()->files()), good(catalogue->files()));
    const std::lock_guard lock(mutex_);
    ASSERT_EQ(reports_.size(), 1U);
    EXPECT_THAT(reports_[0], AllOf(HasSubstr("bad: "), HasSubstr("refused a change"), HasSubstr("outbox_refused")));
}

TEST_F(Queued, ChangesNeverReachAnotherCatalogueThanThoseBefore) {
    {
        auto catalogue = open_queued();
        ASSERT_TRUE(catalogue->open_run(start(17)).has_value());
        settle(*catalogue);
    }
    const auto elsewhere = the_cluster().uri(the_cluster().new_schema());
    auto catalogue = open_queued("own.sqlite", elsewhere);
    record_a_file(*catalogue, 1);
    EXPECT_FALSE(catalogue->settle(std::chrono::seconds{60}).value());
    EXPECT_TRUE(good(good(open_postgres_catalogue(elsewhere))->files()).empty());
    const std::lock_guard lock(mutex_);
    ASSERT_FALSE(reports_.empty());
    EXPECT_THAT(reports_[0], HasSubstr("is not the one that"));
}

TEST_F(Queued, AFileWithRunsOfItsOwnIsNotSharedAfterwards) {
    {
        auto own = open_sqlite_catalogue(directory_ / "own.sqlite").value();
        ASSERT_TRUE(own->open_run(start(1)).has_value());
    }
    EXPECT_EQ(code_of(open_queued_catalogue(directory_ / "own.sqlite", uri_)), Errc::refused);
    EXPECT_EQ(code_of(open_queued_catalogue(directory_ / "other.sqlite", "/a/path")), Errc::usage);
}

}  // namespace
}  // namespace weir::catalogue
