// SPDX-License-Identifier: Apache-2.0
// Answers questions that may take long, since a disk or another machine is waited for, one after the other on a thread
// of its own: the thread of the HTTP server never waits.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

#include "weir/base/named_thread.hpp"
#include "weir/base/result.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

/// Why a question has no answer, or a command was not obeyed, over HTTP.
[[nodiscard]] service::HttpResponse refusal_of(const Error& error);

class QuestionThread {
public:
    /// On the thread; ends soon after a stop is requested. The text is JSON.
    using Question = std::function<Result<std::string>(const std::stop_token& stop)>;

    explicit QuestionThread(std::string name);
    QuestionThread(const QuestionThread&) = delete;
    QuestionThread& operator=(const QuestionThread&) = delete;

    /// Any thread. 503 at once when too many wait already. Questions that wait when this object ends get no answer.
    void ask(const service::HttpRequest& request, const service::HttpAnswer& answer, Question question);

private:
    void answer_all(const std::stop_token& stop);

    std::mutex mutex_;
    std::condition_variable_any asked_;
    std::deque<std::function<void(const std::stop_token&)>> questions_;
    NamedThread thread_;  // the last member: it ends before what it uses is gone
};

}  // namespace weir::control
