// SPDX-License-Identifier: Apache-2.0
#include "workers/selection_process.hpp"

#include "weir/base/endian.hpp"

namespace weir::selection {

Result<std::unique_ptr<SelectionProcess>> SelectionProcess::start(const std::vector<std::string>& command,
                                                                  std::chrono::nanoseconds limit,
                                                                  const std::stop_token& stop, const Clock& clock) {
    const auto until = clock.now() + limit;
    auto process = WEIR_TRY(plugin::WorkerProcess::start(command, answer_limits, clock));
    std::unique_ptr<SelectionProcess> worker(new SelectionProcess(std::move(process), clock));
    WEIR_TRY(worker->process_->memory(1U << 20));
    const auto answer = worker->listen(until, stop);
    if (answer.kind == Answer::Kind::failed && answer.text.empty()) return worker;  // "ready"
    if (answer.kind == Answer::Kind::request) return fail(Errc::corrupt, "it requested fragments of no event");
    if (answer.kind == Answer::Kind::too_late) return fail(Errc::limit, "it did not load within its time limit");
    return fail(Errc::usage, answer.text);
}

SelectionProcess::Answer SelectionProcess::ask(const Event& event, std::chrono::nanoseconds limit,
                                               const std::stop_token& stop) {
    auto used = shared_event_size(event);
    const auto memory = process_->memory(used);
    if (!memory) return {Answer::Kind::ended, {}, memory.error().message()};
    write_event(event, memory->first(used));
    std::byte words[8];
    store_little(std::span(words), 0, std::uint64_t{used});
    process_->send(words);
    auto until = clock_.now() + limit;
    for (std::size_t requests = 0;; ++requests) {
        auto answer = listen(until, stop);
        if (answer.kind == Answer::Kind::failed && answer.text.empty())
            return {Answer::Kind::nonsense, {}, "it answered with nothing"};
        if (answer.kind != Answer::Kind::request) return answer;
        if (requests == FragmentRequests::requests_max)
            return {Answer::Kind::nonsense, {}, "it requested fragments more often than is allowed"};
        const auto asked = clock_.now();
        const auto fragments = event.request(answer.sources);
        until += clock_.now() - asked;
        if (stop.stop_requested()) return {Answer::Kind::stopped, {}, "the station stops"};
        if (auto given = give(fragments, used); !given) return {Answer::Kind::ended, {}, given.error().message()};
    }
}

Result<> SelectionProcess::give(std::span<const Fragment> fragments, std::size_t& used) {
    const auto position = shared_position(used);
    const auto size = shared_fragments_size(fragments);
    const auto memory = WEIR_TRY(process_->memory(position + size));
    write_fragments(fragments, memory.subspan(position, size));
    used = position + size;
    std::byte words[16];
    store_little(std::span(words), 0, std::uint64_t{position});
    store_little(std::span(words), 8, std::uint64_t{size});
    process_->send(words);  // to a process that has ended as well: the next receive() names how it did
    return {};
}

SelectionProcess::Answer SelectionProcess::listen(SteadyTime until, const std::stop_token& stop) {
    using Kind = Answer::Kind;
    using Got = plugin::WorkerProcess::Got;
    plugin::WorkerMessage message;
    switch (process_->receive(message, until, stop)) {
        case Got::message: break;
        case Got::too_late: return {Kind::too_late, {}, "it gave no answer within its time limit and was killed"};
        case Got::stopped: return {Kind::stopped, {}, "the station stops"};
        case Got::nonsense: return {Kind::nonsense, {}, process_->why_nonsense()};
        case Got::woken:
        case Got::ended: return {Kind::ended, {}, process_->how_it_ended(stop)};
    }
    const auto kind = static_cast<AnswerKind>(message.kind);
    if (kind == AnswerKind::ready) return {Kind::failed, {}, ""};
    if (kind == AnswerKind::failed) {
        std::string text(as_text(message.body));
        return {Kind::failed, {}, text.empty() ? "it failed without a reason" : std::move(text)};
    }
    if (kind == AnswerKind::request) {
        auto sources = read_request(message.body);
        if (!sources) return {Kind::nonsense, {}, sources.error().message()};
        return {Kind::request, {}, "", std::move(*sources)};
    }
    auto decision = read_decision(message.body);
    if (!decision) {
        // A well-formed decision that is not allowed is a mistake of the selection, as an exception is; its process is
        // sound.
        const bool well_formed = decision.error().code == Errc::limit || decision.error().code == Errc::usage;
        return {well_formed ? Kind::failed : Kind::nonsense, {}, decision.error().context};
    }
    return {Kind::decision, std::move(*decision), ""};
}

}  // namespace weir::selection
