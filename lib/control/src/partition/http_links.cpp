// SPDX-License-Identifier: Apache-2.0
#include "weir/control/http_links.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>

#include "weir/base/named_thread.hpp"
#include "weir/service/control_client.hpp"

namespace weir::control {
namespace {

/// A thread that answers one question at a time.
template <class Question, class Answer>
class Asker {
public:
    Asker(std::string name, std::function<Answer(const Question&)> ask)
        : ask_(std::move(ask)), thread_(std::move(name), [this](const std::stop_token& stop) { run(stop); }) {}

    void ask(const Question& question) {
        const std::scoped_lock lock(mutex_);
        question_ = question;
        answer_.reset();
        changed_.notify_one();
    }

    [[nodiscard]] std::optional<Answer> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(answer_, std::nullopt);
    }

private:
    void run(const std::stop_token& stop) {
        std::unique_lock lock(mutex_);
        while (changed_.wait(lock, stop, [this] { return question_.has_value(); })) {
            const auto question = *std::exchange(question_, std::nullopt);
            lock.unlock();
            auto answer = ask_(question);
            lock.lock();
            if (!question_) answer_ = std::move(answer);  // else it belongs to a question that was abandoned
        }
    }

    const std::function<Answer(const Question&)> ask_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::optional<Question> question_;
    std::optional<Answer> answer_;
    NamedThread thread_;  // the last member: it ends before what it uses is gone
};

class HttpLink final : public StationLink {
public:
    HttpLink(const std::string& address, const std::optional<service::ControlTls>& tls,
             std::chrono::milliseconds report_deadline)
        : client_(address, 16_MiB, tls),
          events_client_(address, 1_GiB, tls),
          calls_("control-call", [this](const service::StationRequest& request) { return make(request); }),
          reports_("control-status",
                   [this, report_deadline](bool with_events) { return report_of(report_deadline, with_events); }) {}

    void call(const service::StationRequest& request) override { calls_.ask(request); }
    [[nodiscard]] std::optional<CallAnswer> answer() override { return calls_.take(); }
    void ask(bool with_events) override { reports_.ask(with_events); }
    [[nodiscard]] std::optional<Result<service::StationReport>> report() override { return reports_.take(); }

private:
    [[nodiscard]] Result<service::StationReport> report_of(std::chrono::milliseconds deadline, bool with_events) const {
        auto report = client_.status(deadline);
        if (!report || !with_events) return report;
        auto events = events_client_.events(events_deadline);
        if (events) report->events = std::make_shared<const service::StationEvents>(std::move(*events));
        return report;
    }
    [[nodiscard]] CallAnswer make(const service::StationRequest& request) const {
        const auto state = client_.request(request);
        if (state) return {};
        const bool rejected = state.error().code == Errc::refused || state.error().code == Errc::usage;
        return std::unexpected(CallFailure{rejected, state.error().message()});
    }

    const service::ControlClient client_;
    const service::ControlClient events_client_;
    Asker<service::StationRequest, CallAnswer> calls_;
    Asker<bool, Result<service::StationReport>> reports_;
};

}  // namespace

std::unique_ptr<StationLink> HttpLinks::open(const std::string& address) {
    return std::make_unique<HttpLink>(address, tls_, report_deadline_);
}

}  // namespace weir::control
