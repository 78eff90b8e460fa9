// SPDX-License-Identifier: Apache-2.0
#include "weir/control/http_links.hpp"

#include <mutex>

#include "weir/service/event_ids.hpp"

namespace weir::control {
namespace {

/// The answer to the last question; those to earlier ones, which were abandoned, are thrown away. Any thread.
template <class Answer>
class Awaited {
public:
    [[nodiscard]] std::uint64_t ask() {
        const std::scoped_lock lock(mutex_);
        answer_.reset();
        return ++asked_;
    }
    void put(std::uint64_t which, Answer answer) {
        const std::scoped_lock lock(mutex_);
        if (which == asked_) answer_ = std::move(answer);
    }
    [[nodiscard]] std::optional<Answer> take() {
        const std::scoped_lock lock(mutex_);
        return std::exchange(answer_, std::nullopt);
    }

private:
    std::mutex mutex_;
    std::uint64_t asked_ = 0;
    std::optional<Answer> answer_;
};

using Report = Result<service::StationReport>;

CallAnswer call_answer(const Result<service::ControlAnswer>& answer, const std::string& address) {
    const auto state = answer ? service::station_state(*answer, address) : std::unexpected(answer.error());
    if (state) return {};
    // An agent answers with 502 when the station did not.
    const bool rejected =
        answer && answer->status < 500 && (state.error().code == Errc::refused || state.error().code == Errc::usage);
    return std::unexpected(CallFailure{rejected, state.error().message()});
}

Report report_of(const Result<service::ControlAnswer>& answer) {
    if (!answer) return std::unexpected(answer.error());
    if (!answer->good()) return fail(Errc::io, answer->error());
    return service::parse_station_report(answer->body);
}

class HttpLink final : public StationLink {
public:
    HttpLink(service::ControlCalls& calls, service::ControlCalls& events, std::string address,
             std::chrono::milliseconds report_deadline, const std::string& query, std::shared_ptr<RequestText> text)
        : calls_(calls),
          events_(events),
          address_(std::move(address)),
          transition_("/transition" + query),
          report_deadline_(report_deadline),
          text_(std::move(text)) {}

    void call(const service::StationRequest& request) override {
        calls_.post(address_, transition_, text_->of(request), service::answer_deadline(request),
                    [to = answer_, which = answer_->ask(), address = address_](const auto& answer) {
                        to->put(which, call_answer(answer, address));
                    });
    }
    [[nodiscard]] std::optional<CallAnswer> answer() override { return answer_->take(); }

    void ask(bool with_events) override {
        calls_.get(address_, "/status", report_deadline_,
                   [to = report_, which = report_->ask(), &events = events_, address = address_,
                    with_events](const auto& answer) {
                       auto report = report_of(answer);
                       if (!report || !with_events) return to->put(which, std::move(report));
                       add_events(events, address, std::move(*report),
                                  [to, which](Report whole) { to->put(which, std::move(whole)); });
                   });
    }
    [[nodiscard]] std::optional<Report> report() override { return report_->take(); }

private:
    /// A report without events says that they are not known.
    static void add_events(service::ControlCalls& calls, const std::string& address, service::StationReport report,
                           std::function<void(Report)> done) {
        calls.get(address, "/events", events_deadline,
                  [report = std::move(report), done = std::move(done)](const auto& answer) mutable {
                      if (answer && answer->good()) {
                          auto events = service::parse_station_events(answer->body, service::events_memory_max);
                          if (events)
                              report.events = std::make_shared<const service::StationEvents>(std::move(*events));
                      }
                      done(std::move(report));
                  });
    }

    service::ControlCalls& calls_;
    service::ControlCalls& events_;
    const std::string address_;
    const std::string transition_;
    const std::chrono::milliseconds report_deadline_;
    const std::shared_ptr<RequestText> text_;
    // Shared with the answers that are under way: they may come when this is gone.
    std::shared_ptr<Awaited<CallAnswer>> answer_ = std::make_shared<Awaited<CallAnswer>>();
    std::shared_ptr<Awaited<Report>> report_ = std::make_shared<Awaited<Report>>();
};

}  // namespace

const std::string& RequestText::of(const service::StationRequest& request) {
    if (text_.empty() || !(request == request_)) {
        text_ = to_json(request);
        request_ = request;
    }
    return text_;
}

std::unique_ptr<StationLink> HttpLinks::open(const std::string& address) {
    return std::make_unique<HttpLink>(calls_, events_, address, report_deadline_, query_, text_);
}

}  // namespace weir::control
