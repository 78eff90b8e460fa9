// SPDX-License-Identifier: Apache-2.0
#include "page/question_thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

#include "weir/base/named_thread.hpp"
#include "weir/page/live_document.hpp"

namespace weir::control {
namespace {

constexpr std::size_t questions_max = 32;  // that wait

}  // namespace

struct QuestionThread::Shared {
    using Work = std::function<void(const std::stop_token&)>;

    void answer_all(const std::stop_token& stop) {
        std::unique_lock lock(mutex);
        while (true) {
            {
                const ScopedWait wait(WaitCause::queue);
                if (!asked.wait(lock, stop, [this] { return !questions.empty(); }) || stop.stop_requested()) break;
            }
            const auto question = std::move(questions.front());
            questions.pop_front();
            lock.unlock();
            question(stop);
            lock.lock();
        }
        ended = true;
        has_ended.notify_all();
    }

    std::mutex mutex;
    std::condition_variable_any asked;
    std::condition_variable has_ended;
    std::deque<Work> questions;
    bool ended = false;
};

service::HttpResponse refusal_of(const Error& error) {
    return service::http_error(error.code == Errc::usage     ? 400
                               : error.code == Errc::refused ? 409
                                                             : 500,
                               error.message());
}

// In no accounts of threads: they may be gone before a thread that was left behind.
QuestionThread::QuestionThread(std::string name, std::chrono::milliseconds patience)
    : shared_(std::make_shared<Shared>()),
      patience_(patience),
      thread_(named_jthread(nullptr, std::move(name),
                            [shared = shared_](const std::stop_token& stop) { shared->answer_all(stop); })) {}

QuestionThread::~QuestionThread() {
    thread_.request_stop();
    std::deque<Shared::Work> left;
    {
        std::unique_lock lock(shared_->mutex);
        left.swap(shared_->questions);
        shared_->has_ended.wait_for(lock, patience_, [this] { return shared_->ended; });
        if (!shared_->ended) thread_.detach();
    }
    if (thread_.joinable()) thread_.join();
}

void QuestionThread::ask(const service::HttpRequest& request, const service::HttpAnswer& answer, Question question) {
    run(answer, [request, answer, question = std::move(question)](const auto& stop) {
        auto text = question(stop);
        answer(text ? page::json_answer(std::move(*text), request) : refusal_of(text.error()));
    });
}

void QuestionThread::run(const service::HttpAnswer& answer, std::function<void(const std::stop_token&)> work) {
    {
        const std::scoped_lock lock(shared_->mutex);
        if (shared_->questions.size() < questions_max) {
            shared_->questions.push_back(std::move(work));
            shared_->asked.notify_one();
            return;
        }
    }
    answer(service::http_error(503, "too many questions wait for the disks; ask again later"));
}

}  // namespace weir::control
