// SPDX-License-Identifier: Apache-2.0
// Several threads and processes at one catalogue.
#include <algorithm>
#include <thread>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

class CatalogueSharing : public CatalogueTest {};

TEST_F(CatalogueSharing, TwoHandlesSeeEachOthersCommits) {
    auto one = open();
    auto two = open();
    ASSERT_TRUE(one->open_run(start(1)).has_value());
    EXPECT_EQ(two->open_run(start(1)).value(), RunOpening::continued);
    const auto file = file_of(1);
    ASSERT_TRUE(two->file_opened(file).has_value());
    ASSERT_TRUE(one->file_closed(close_of(file)).has_value());
    EXPECT_EQ(two->file(file.guid).value()->file_state, FileState::closed);
}

TEST_F(CatalogueSharing, ManyThreadsAndHandlesLoseNothing) {
    constexpr std::uint32_t threads_count = 4;
    constexpr std::uint32_t files_each = 10;
    auto shared = open();
    ASSERT_TRUE(shared->open_run(start(1)).has_value());
    {
        std::vector<std::jthread> threads;
        for (std::uint32_t t = 0; t < threads_count; ++t) {
            threads.emplace_back([&, t] {
                auto own = t % 2 == 0 ? nullptr : open();  // half of them through a handle of their own
                auto& catalogue = own ? *own : *shared;
                for (std::uint32_t i = 0; i < files_each; ++i) {
                    const auto file = file_of(1, t * files_each + i);
                    EXPECT_TRUE(catalogue.file_opened(file).has_value());
                    const auto ledgers = std::vector{ledger_of(1, 2, 1, {{"late", 1}})};
                    EXPECT_TRUE(catalogue.file_closed(close_of(file), {}, ledgers).has_value());
                }
            });
        }
    }
    EXPECT_EQ(shared->files({.file_state = FileState::closed}).value().size(), threads_count * files_each);
    EXPECT_EQ(shared->ledgers(RunNumber{1}).value(), std::vector{ledger_of(1, 80, 40, {{"late", 40}})});
}

TEST_F(CatalogueSharing, ManyWhoCreateAtOnceMakeOneCatalogue) {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 1; t <= 4; ++t) {
        threads.emplace_back([&, t] { EXPECT_TRUE(open()->open_run(start(t)).has_value()); });
    }
    threads.clear();
    EXPECT_EQ(open()->runs().value().size(), 4U);
}

TEST_F(CatalogueSharing, ManyWhoWantAFreeRunAreGivenOneEach) {
    open();
    std::mutex mutex;
    std::vector<std::uint32_t> given;
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
        threads.emplace_back([&, t] {
            auto catalogue = open();
            for (int i = 0; i < 5; ++i) {
                const auto run = catalogue->open_free_run(start(0, "recorder-" + std::to_string(t)));
                ASSERT_TRUE(run.has_value()) << run.error().message();
                const std::lock_guard lock(mutex);
                given.push_back(number(*run));
            }
        });
    }
    threads.clear();
    std::ranges::sort(given);
    std::vector<std::uint32_t> expected(20);
    std::ranges::generate(expected, [n = 0U]() mutable { return ++n; });
    EXPECT_EQ(given, expected);
}

}  // namespace
}  // namespace weir::catalogue
