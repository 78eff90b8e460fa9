// SPDX-License-Identifier: Apache-2.0
#include "page/question_thread.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <future>

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto at_most = 120s;

TEST(QuestionThread, AnswersOneAfterTheOtherAndRefusesWhenTooManyWait) {
    std::promise<void> go_on;
    std::atomic<int> answered = 0, refused = 0, at_once = 0;
    std::promise<void> all;
    {
        QuestionThread thread("questions");
        for (int i = 0; i < 40; ++i)
            thread.ask(
                {},
                [&](const service::HttpResponse& response) {
                    if (response.status == 503) {
                        ++refused;
                    } else if (++answered + refused == 40) {
                        all.set_value();
                    }
                },
                [&, wait = i == 0 ? go_on.get_future().share()
                                  : std::shared_future<void>()](const auto&) -> Result<std::string> {
                    if (wait.valid()) wait.wait();
                    EXPECT_EQ(at_once++, 0);
                    --at_once;
                    return "{}";
                });
        EXPECT_GE(refused, 7);
        go_on.set_value();
        ASSERT_EQ(all.get_future().wait_for(at_most), std::future_status::ready);
    }
    EXPECT_EQ(answered + refused, 40);
}

TEST(QuestionThread, AQuestionThatWaitsEndsWithTheThread) {
    std::promise<void> begun;
    std::atomic<bool> ended = false;
    {
        QuestionThread thread("questions");
        thread.ask(
            {}, [](const auto&) {},
            [&](const std::stop_token& stop) -> Result<std::string> {
                std::promise<void> stopped;
                const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
                begun.set_value();
                stopped.get_future().wait();
                ended = true;
                return "{}";
            });
        ASSERT_EQ(begun.get_future().wait_for(at_most), std::future_status::ready);
    }
    EXPECT_TRUE(ended);
}

TEST(QuestionThread, ADiskThatHangsIsLeftBehind) {
    struct Disk {
        std::promise<void> hangs, answers, over;
    };
    const auto disk = std::make_shared<Disk>();
    {
        QuestionThread thread("questions", 10ms);
        thread.ask(
            {}, [disk](const auto&) { disk->over.set_value(); },
            [disk](const auto&) -> Result<std::string> {
                disk->hangs.set_value();
                disk->answers.get_future().wait();
                return "{}";
            });
        ASSERT_EQ(disk->hangs.get_future().wait_for(at_most), std::future_status::ready);
    }
    disk->answers.set_value();
    EXPECT_EQ(disk->over.get_future().wait_for(at_most), std::future_status::ready);
}

}  // namespace
}  // namespace weir::control
