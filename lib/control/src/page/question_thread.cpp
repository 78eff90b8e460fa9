// SPDX-License-Identifier: Apache-2.0
#include "page/question_thread.hpp"

#include <utility>

#include "weir/base/thread_account.hpp"
#include "weir/page/live_document.hpp"

namespace weir::control {
namespace {

constexpr std::size_t questions_max = 32;  // that wait

}  // namespace

service::HttpResponse refusal_of(const Error& error) {
    return service::http_error(error.code == Errc::usage     ? 400
                               : error.code == Errc::refused ? 409
                                                             : 500,
                               error.message());
}

QuestionThread::QuestionThread(std::string name)
    : thread_(std::move(name), [this](const std::stop_token& stop) { answer_all(stop); }) {}

void QuestionThread::ask(const service::HttpRequest& request, const service::HttpAnswer& answer, Question question) {
    {
        const std::scoped_lock lock(mutex_);
        if (questions_.size() < questions_max) {
            questions_.push_back([request, answer, question = std::move(question)](const std::stop_token& stop) {
                auto text = question(stop);
                answer(text ? page::json_answer(std::move(*text), request) : refusal_of(text.error()));
            });
            asked_.notify_one();
            return;
        }
    }
    answer(service::http_error(503, "too many questions wait for the disks; ask again later"));
}

void QuestionThread::answer_all(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (true) {
        {
            const ScopedWait wait(WaitCause::queue);
            if (!asked_.wait(lock, stop, [this] { return !questions_.empty(); })) return;
        }
        const auto question = std::move(questions_.front());
        questions_.pop_front();
        lock.unlock();
        question(stop);
        lock.lock();
    }
}

}  // namespace weir::control
