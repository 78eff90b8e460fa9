// SPDX-License-Identifier: Apache-2.0
// Answers questions that may take long, since a disk or another machine is waited for, one after the other on a thread
// of its own: the thread of the HTTP server never waits. A disk that hangs holds back its questions, and neither the
// process nor its end.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "weir/base/result.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

/// Why a question has no answer, or a command was not obeyed, over HTTP.
[[nodiscard]] service::HttpResponse refusal_of(const Error& error);

class QuestionThread {
public:
    /// On the thread. The text is JSON. It owns what it uses while a disk is waited for, and once a stop is requested
    /// it uses nothing else: who hangs is left behind.
    using Question = std::function<Result<std::string>(const std::stop_token& stop)>;

    /// `patience`: of the end with a question that is being answered.
    explicit QuestionThread(std::string name, std::chrono::milliseconds patience = std::chrono::seconds{2});
    /// Questions that wait get no answer.
    ~QuestionThread();
    QuestionThread(const QuestionThread&) = delete;
    QuestionThread& operator=(const QuestionThread&) = delete;

    /// Any thread. 503 at once when too many wait already.
    void ask(const service::HttpRequest& request, const service::HttpAnswer& answer, Question question);
    /// The same for work that answers by itself, and owns what it uses.
    void run(const service::HttpAnswer& answer, std::function<void(const std::stop_token&)> work);

private:
    struct Shared;
    std::shared_ptr<Shared> shared_;  // with the thread, which may be left behind
    const std::chrono::milliseconds patience_;
    std::jthread thread_;
};

}  // namespace weir::control
