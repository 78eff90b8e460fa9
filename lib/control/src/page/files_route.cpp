// SPDX-License-Identifier: Apache-2.0
#include "weir/control/files_route.hpp"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <charconv>
#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "page/files_of_recorders.hpp"
#include "page/question_thread.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/json/parse.hpp"
#include "weir/page/history.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds recorder_deadline{4000};
constexpr std::size_t recorders_asked_max = 8;  // at once: each answer is in memory whole
constexpr auto shared_for = 1s;
constexpr std::size_t answers_kept_max = 8;

/// Answers as they come, between the thread of the calls and the one that waits; shared by both.
struct AnswersThatCome {
    std::mutex mutex;
    std::condition_variable_any came;
    std::vector<std::pair<std::size_t, Result<service::ControlAnswer>>> answers;
};

}  // namespace

/// What the thread uses, which may outlive the route. Clock and functions are used before a stop is requested only.
class FilesRoute::Work {
public:
    Work(FilesRouteParts parts, const Clock& clock) : parts_(std::move(parts)), clock_(clock), archive_(parts_.here) {}

    Result<std::string> text_of(std::optional<RunNumber> run, const std::stop_token& stop) {
        if (!run && parts_.run) run = parts_.run();
        const auto key = run ? number(*run) : 0;
        std::erase_if(answers_, [&](const auto& one) { return clock_.now() - one.second.made >= shared_for; });
        if (const auto known = answers_.find(key); known != answers_.end()) return known->second.text;
        auto text = make(run, stop);
        if (stop.stop_requested()) return fail(Errc::refused, "this process ends");
        if (answers_.size() >= answers_kept_max) answers_.clear();
        return answers_.insert_or_assign(key, Answer{clock_.now(), std::move(text)}).first->second.text;
    }

private:
    struct Answer {
        SteadyTime made{};
        Result<std::string> text{};
    };

    Result<std::string> make(std::optional<RunNumber> run, const std::stop_token& stop) {
        if (!parts_.recorders) return json::serialize(WEIR_TRY(archive_.files(run)));
        return json::serialize(WEIR_TRY(ask(parts_.recorders(), run, stop)));
    }

    Result<json::object> ask(const std::vector<RecorderPlace>& recorders, std::optional<RunNumber> run,
                             const std::stop_token& stop) {
        if (!calls_) calls_ = WEIR_TRY(service::ControlCalls::start(parts_.tls, recorder_answer_max));
        FilesOfRecorders files(run);
        const auto path = run ? fmt::format("/files?run={}", number(*run)) : std::string("/files");
        const auto coming = std::make_shared<AnswersThatCome>();
        std::size_t next = 0, under_way = 0;
        while (true) {
            for (; next < recorders.size() && under_way < recorders_asked_max; ++next) {
                const auto& recorder = recorders[next];
                if (recorder.control.empty()) {
                    files.add(recorder.name, recorder.host,
                              Error{Errc::io, 0, "it is not there; run control starts it again"});
                    continue;
                }
                ++under_way;
                calls_->get(recorder.control, path, recorder_deadline, [coming, which = next](auto given) {
                    const std::scoped_lock lock(coming->mutex);
                    coming->answers.emplace_back(which, std::move(given));
                    coming->came.notify_one();
                });
            }
            if (under_way == 0) return files.document();
            std::vector<std::pair<std::size_t, Result<service::ControlAnswer>>> answers;
            {
                std::unique_lock lock(coming->mutex);
                const ScopedWait wait(WaitCause::peer);
                if (!coming->came.wait(lock, stop, [&] { return !coming->answers.empty(); }))
                    return fail(Errc::refused, "this process ends");
                answers.swap(coming->answers);
            }
            under_way -= answers.size();
            for (const auto& [which, given] : answers) {
                const auto& recorder = recorders[which];
                if (!given) files.add(recorder.name, recorder.host, given.error());
                else if (!given->good())
                    files.add(recorder.name, recorder.host, Error{Errc::refused, 0, given->error()});
                else files.add(recorder.name, recorder.host, std::string_view(given->body));
            }
        }
    }

    const FilesRouteParts parts_;
    const Clock& clock_;
    const RunArchive archive_;
    std::map<std::uint32_t, Answer> answers_;       // of the thread, as calls_ is; by run, 0: the newest
    std::unique_ptr<service::ControlCalls> calls_;  // from the first question on
};

FilesRoute::FilesRoute(FilesRouteParts parts, const Clock& clock)
    : work_(std::make_shared<Work>(std::move(parts), clock)), thread_(std::make_unique<QuestionThread>("files")) {}
FilesRoute::~FilesRoute() = default;

service::HttpRoute FilesRoute::route() {
    return {service::HttpRoute::Method::get, "/files", [this](const auto& request, const auto& answer) {
                const auto asked = page::query_value(request.query, "run");
                const auto run = parse_run_number(asked);
                if (!asked.empty() && !run) return answer(service::http_error(400, "which run? /files?run=NUMBER"));
                thread_->ask(request, answer,
                             [work = work_, run](const auto& stop) { return work->text_of(run, stop); });
            }};
}

std::optional<RunNumber> parse_run_number(std::string_view text) noexcept {
    std::uint32_t run = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), run);
    if (failed != std::errc{} || end != text.data() + text.size() || run == 0) return std::nullopt;
    return RunNumber{run};
}

}  // namespace weir::control
