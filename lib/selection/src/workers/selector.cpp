// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/selector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "weir/plugin/restart_pause.hpp"
#include "weir/plugin/worker_command.hpp"
#include "workers/builtin_selection.hpp"
#include "workers/plugin_library.hpp"
#include "workers/requested_fragments.hpp"
#include "workers/selection_process.hpp"

namespace weir::selection {
namespace {

namespace fs = std::filesystem;

std::string on_one_line(std::string text) {
    for (auto& letter : text)
        if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
    return text.substr(0, 500);
}

class CallSelector final : public Selector {
public:
    explicit CallSelector(SelectCall call) : call_(std::move(call)) {}
    Judgement select(const Event& event, const std::stop_token& stop) override {
        RequestedFragments requested(event, stop);
        auto decision = call_selection([&](const Event& with, Decision& into) { call_(with, into, stop); }, requested);
        if (requested.interrupted() || (!decision && stop.stop_requested()))
            return {{}, Trouble::stopped, "the station stops"};
        if (!decision) return {{}, Trouble::threw, on_one_line(decision.error().context)};
        return {std::move(*decision), Trouble::none, {}};
    }

private:
    SelectCall call_;
};

class ProcessSelector final : public Selector {
public:
    ProcessSelector(std::vector<std::string> command, const SelectionSpec& spec)
        : command_(std::move(command)), spec_(spec), pause_(spec.restart_first, spec.restart_last, *spec.clock) {}

    Judgement select(const Event& event, const std::stop_token& stop) override {
        if (!process_) {
            if (auto started = start(stop); !started) {
                if (stop.stop_requested()) return {{}, Trouble::stopped, "the station stops"};
                pause_.grow();
                return {{}, Trouble::crashed, on_one_line("cannot be started: " + started.error().message())};
            }
        }
        using Kind = SelectionProcess::Answer::Kind;
        RequestedFragments requested(event, stop);
        auto answer = process_->ask(requested.event(), spec_.time_limit, stop);
        if (requested.interrupted()) answer = {Kind::stopped, {}, "the station stops"};
        switch (answer.kind) {
            case Kind::decision: pause_.reset(); return {std::move(answer.decision), Trouble::none, {}};
            case Kind::failed: return {{}, Trouble::threw, on_one_line(std::move(answer.text))};
            case Kind::stopped: process_.reset(); return {{}, Trouble::stopped, std::move(answer.text)};
            case Kind::too_late:
            case Kind::ended:
            case Kind::request:
            case Kind::nonsense: break;
        }
        process_.reset();
        pause_.grow();
        return {{},
                answer.kind == Kind::too_late ? Trouble::timed_out : Trouble::crashed,
                on_one_line(std::move(answer.text))};
    }

    std::uint64_t restarts() const noexcept override { return restarts_; }

private:
    Result<> start(const std::stop_token& stop) {
        if (!pause_.wait(stop)) return fail(Errc::limit, "the station stops");
        auto process = WEIR_TRY(SelectionProcess::start(command_, spec_.start_limit, stop, *spec_.clock));
        if (began_) ++restarts_;
        began_ = true;
        process_ = std::move(process);
        return {};
    }

    std::vector<std::string> command_;
    SelectionSpec spec_;
    std::unique_ptr<SelectionProcess> process_;
    plugin::RestartPause pause_;
    bool began_ = false;
    std::uint64_t restarts_ = 0;
};

/// In the calling thread, until an event is known on which that would end the station.
class ThreadSelector final : public Selector {
public:
    ThreadSelector(SelectCall call, std::vector<std::string> command, const SelectionSpec& spec,
                   std::shared_ptr<std::atomic<bool>> unsafe)
        : in_thread_(std::move(call)), in_process_(std::move(command), spec), unsafe_(std::move(unsafe)) {}

    Judgement select(const Event& event, const std::stop_token& stop) override {
        return unsafe_->load(std::memory_order_relaxed) ? in_process_.select(event, stop)
                                                        : in_thread_.select(event, stop);
    }
    Judgement select_apart(const Event& event, const std::stop_token& stop) override {
        auto judgement = in_process_.select(event, stop);
        if (judgement.trouble == Trouble::crashed || judgement.trouble == Trouble::timed_out)
            unsafe_->store(true, std::memory_order_relaxed);
        return judgement;
    }
    std::uint64_t restarts() const noexcept override { return in_process_.restarts(); }

private:
    CallSelector in_thread_;
    ProcessSelector in_process_;                 // started when it is needed
    std::shared_ptr<std::atomic<bool>> unsafe_;  // of all workers of a selection; a flag by itself: relaxed
};

/// A library knows of no stop but by its requests.
SelectCall library_call(SelectFunction* function) {
    return [function](const Event& event, Decision& decision, const std::stop_token&) { function(event, decision); };
}

Result<std::vector<std::string>> worker_command(const SelectionSpec& spec, const fs::path& file) {
    return plugin::worker_command({.program = "weir-selection-worker",
                                   .script = "weir_selection_worker.py",
                                   .python = spec.python,
                                   .folder = spec.programs},
                                  file);
}

/// A selection that is not built in is a file of one of two kinds.
Result<> check_file_name(const std::string& selection) {
    const auto ending = fs::path(selection).extension();
    if (ending != ".so" && ending != ".py")
        return fail(Errc::usage,
                    fmt::format("\"{}\" is no selection: give all, none, fraction:F, size:SIZE, busy:TIME, sleep:TIME, "
                                "request:SOURCES, "
                                "or a file NAME.so or NAME.py",
                                selection));
    return {};
}

/// It is here, too.
Result<> check_file(const std::string& selection) {
    WEIR_TRY(check_file_name(selection));
    std::error_code error;
    const auto file = fs::absolute(selection, error);
    if (!fs::exists(file, error)) return fail(Errc::usage, fmt::format("the selection {} is not there", file.string()));
    return {};
}

}  // namespace

const char* name(Trouble trouble) noexcept {
    switch (trouble) {
        case Trouble::none: return "none";
        case Trouble::threw: return "threw";
        case Trouble::timed_out: return "timed_out";
        case Trouble::crashed: return "crashed";
        case Trouble::stopped: return "stopped";
    }
    return "unknown";
}

Result<> check_decision(const Decision& decision) {
    if (!decision.trouble.empty()) return fail(Errc::refused, on_one_line(decision.trouble));
    if (decision.tags.size() > Decision::tags_max)
        return fail(Errc::limit, fmt::format("the decision names {} streams; {} are allowed", decision.tags.size(),
                                             Decision::tags_max));
    if (decision.result.size() > Decision::result_max)
        return fail(Errc::limit, fmt::format("the result has {} bytes; {} are allowed", decision.result.size(),
                                             Decision::result_max));
    if (decision.level2_words.size() > Decision::words_max)
        return fail(Errc::limit, fmt::format("the decision has {} words; {} are allowed", decision.level2_words.size(),
                                             Decision::words_max));
    for (const auto& tag : decision.tags) {
        if (!valid_stream_type(tag.type) || !valid_stream_name(tag.name))
            return fail(Errc::usage, fmt::format("\"{}\" is no stream: give type_name, as in physics_Main",
                                                 on_one_line(stream_key(tag))));
        if (tag.robs.size() > tag_robs_max || tag.detectors.size() > 255)
            return fail(Errc::limit, fmt::format("the tag {} names more than {} ROBs", stream_key(tag), tag_robs_max));
    }
    return {};
}

Result<> Selection::check_name(const std::string& selection) {
    const auto builtin = WEIR_TRY(builtin_selection(selection, system_clock()));
    return builtin ? Result<>{} : check_file_name(selection);
}

Result<> Selection::check(const std::string& selection) {
    const auto builtin = WEIR_TRY(builtin_selection(selection, system_clock()));
    return builtin ? Result<>{} : check_file(selection);
}

Result<Selection> Selection::open(const SelectionSpec& spec) {
    auto builtin = WEIR_TRY(builtin_selection(spec.selection, *spec.clock));
    if (builtin)
        return Selection(spec.selection, false, [call = *builtin] { return std::make_unique<CallSelector>(call); });
    WEIR_TRY(check_file(spec.selection));
    std::error_code error;
    const auto file = fs::absolute(spec.selection, error);
    const auto ending = file.extension();
    const auto command = worker_command(spec, file);
    if (!command) return std::unexpected(command.error());
    if (ending == ".so" && spec.workers_are == WorkersAre::threads) {
        const auto function = WEIR_TRY(load_library(file));
        const auto unsafe = std::make_shared<std::atomic<bool>>(false);
        return Selection(
            spec.selection, false,
            [call = library_call(function), command = *command, spec, unsafe] {
                return std::make_unique<ThreadSelector>(call, command, spec, unsafe);
            },
            unsafe);
    }
    // Tried once, here, where the operator still sees a mistake at once.
    auto tried = SelectionProcess::start(*command, spec.start_limit, {}, *spec.clock);
    if (!tried)
        return fail(Errc::usage, fmt::format("the selection {} cannot be loaded: {}", spec.selection,
                                             on_one_line(tried.error().message())));
    return Selection(spec.selection, true,
                     [command = *command, spec] { return std::make_unique<ProcessSelector>(command, spec); });
}

bool Selection::distrust() noexcept {
    if (!unsafe_) return false;
    unsafe_->store(true, std::memory_order_relaxed);
    in_processes_ = true;
    return true;
}

}  // namespace weir::selection
