// SPDX-License-Identifier: Apache-2.0
// Processes that are killed while they write. A child reports over a pipe what was committed; after the
// kill, that much is there, and nothing is there by half.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <random>
#include <thread>

#include "catalogue_fixture.hpp"
#include "sql/sql_catalogue.hpp"

namespace weir::catalogue {
namespace {

class CatalogueCrash : public CatalogueTest {
protected:
    std::unique_ptr<SqlCatalogue> open_sql() {
        return std::unique_ptr<SqlCatalogue>(&dynamic_cast<SqlCatalogue&>(*open().release()));
    }

    /// Runs `work` in a child that must die by SIGKILL: its own, or that which comes when `until` returns.
    template <class Work>
    void killed(Work work, const std::function<void()>& until = {}) {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            work();
            ::_exit(1);
        }
        if (until) {
            until();
            ::kill(child, SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "the child ended by itself with status " << WEXITSTATUS(status);
        ASSERT_EQ(WTERMSIG(status), SIGKILL);
    }
};

TEST_F(CatalogueCrash, AProcessKilledInATransactionLeavesNothingOfIt) {
    ASSERT_TRUE(open()->open_run(start(1)).has_value());
    killed([&] {
        const auto catalogue = open_sql();
        static_cast<void>(catalogue->change([&]() -> Result<> {
            if (auto closed = catalogue->close_run(RunNumber{1}, "recorder-1", time_of(1)); !closed) ::_exit(2);
            ::kill(::getpid(), SIGKILL);
            return {};
        }));
    });
    auto catalogue = open();
    EXPECT_EQ(catalogue->open_run(start(1)).value(), RunOpening::continued);
    EXPECT_TRUE(catalogue->check().has_value());
}

TEST_F(CatalogueCrash, KilledAtAnyMomentEachCloseIsWholeAndNoneThatWasReportedIsMissing) {
    constexpr std::uint64_t seed = 20240611;
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random{seed};
    ASSERT_TRUE(open()->open_run(start(1)).has_value());
    std::uint64_t reported = 0;
    for (std::uint32_t round = 0; round < 8; ++round) {
        int ends[2];
        ASSERT_EQ(::pipe(ends), 0);
        char byte;
        killed(
            [&] {
                auto opened = try_to_open();
                if (!opened) return;
                for (std::uint32_t i = 0;; ++i) {
                    const auto file = file_of(1, round * 1'000'000 + i);
                    const std::vector<SessionMark> marks{mark_of(1, file.sequence, "1-3")};
                    const std::vector<LedgerRow> ledgers{ledger_of(1, 3, 3)};
                    if (!(*opened)->file_opened(file) || !(*opened)->file_closed(close_of(file), marks, ledgers))
                        return;
                    if (::write(ends[1], "x", 1) != 1) return;
                }
            },
            [&] {
                ::close(ends[1]);
                if (::read(ends[0], &byte, 1) == 1) ++reported;  // however slow the machine is
                std::this_thread::sleep_for(std::chrono::microseconds{random() % 40'000});
            });
        while (::read(ends[0], &byte, 1) == 1) ++reported;
        ::close(ends[0]);
    }
    ASSERT_FALSE(HasFatalFailure());

    auto catalogue = open();
    // Waits for the lock: a server may still be at the last change of a process that is dead.
    EXPECT_EQ(good(catalogue->open_run(start(1))), RunOpening::continued);
    ASSERT_TRUE(catalogue->check().has_value());
    std::uint64_t closed = 0;
    std::uint64_t left_open = 0;
    for (const auto& file : good(catalogue->files())) {
        const bool whole = file.file_state == FileState::closed;
        ++(whole ? closed : left_open);
        EXPECT_EQ(file.sums.size(), whole ? 2U : 0U) << file.name;
        EXPECT_EQ(file.events, whole ? 3U : 0U) << file.name;
    }
    ASSERT_GT(reported, 0U) << "no round got as far as a commit: the test proves nothing on this machine";
    EXPECT_GE(closed, reported);
    EXPECT_LE(closed, reported + 8);  // at most one per kill was committed and not reported
    EXPECT_LE(left_open, 8U);         // and at most one per kill was being written
    EXPECT_EQ(catalogue->marks(RunNumber{1}).value().size(), closed);
    EXPECT_EQ(good(catalogue->ledgers(RunNumber{1})).at(0).stored, 3 * closed);
}

}  // namespace
}  // namespace weir::catalogue
