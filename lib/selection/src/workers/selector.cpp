// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/selector.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "workers/builtin_selection.hpp"
#include "workers/plugin_library.hpp"
#include "workers/worker_process.hpp"

namespace weir::selection {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

std::string on_one_line(std::string text) {
    for (auto& letter : text)
        if (static_cast<unsigned char>(letter) < ' ') letter = ' ';
    return text.substr(0, 500);
}

class CallSelector final : public Selector {
public:
    explicit CallSelector(SelectCall call) : call_(std::move(call)) {}
    Judgement select(const Event& event, const std::stop_token&) override {
        auto decision = call_selection(call_, event);
        if (!decision) return {{}, Trouble::threw, on_one_line(decision.error().context)};
        return {std::move(*decision), Trouble::none, {}};
    }

private:
    SelectCall call_;
};

class ProcessSelector final : public Selector {
public:
    ProcessSelector(std::vector<std::string> command, const SelectionSpec& spec)
        : command_(std::move(command)), spec_(spec) {}

    Judgement select(const Event& event, const std::stop_token& stop) override {
        if (!process_) {
            if (auto started = start(stop); !started) {
                if (stop.stop_requested()) return {{}, Trouble::stopped, "the station stops"};
                spread();
                return {{}, Trouble::crashed, on_one_line("cannot be started: " + started.error().message())};
            }
        }
        auto answer = process_->ask(event, std::chrono::steady_clock::now() + spec_.time_limit, stop);
        using Kind = WorkerProcess::Answer::Kind;
        switch (answer.kind) {
            case Kind::decision: backoff_ = 0ms; return {std::move(answer.decision), Trouble::none, {}};
            case Kind::failed: return {{}, Trouble::threw, on_one_line(std::move(answer.text))};
            case Kind::stopped: process_.reset(); return {{}, Trouble::stopped, std::move(answer.text)};
            case Kind::too_late:
            case Kind::ended:
            case Kind::nonsense: break;
        }
        process_.reset();
        spread();
        return {{},
                answer.kind == Kind::too_late ? Trouble::timed_out : Trouble::crashed,
                on_one_line(std::move(answer.text))};
    }

    std::uint64_t restarts() const noexcept override { return restarts_; }

private:
    /// Waits out the pause after a process that died: a plug-in that dies at once shall not fill the machine with
    /// processes.
    Result<> start(const std::stop_token& stop) {
        while (std::chrono::steady_clock::now() < not_before_) {
            if (stop.stop_requested()) return fail(Errc::limit, "the station stops");
            std::this_thread::sleep_for(
                std::min<std::chrono::nanoseconds>(20ms, not_before_ - std::chrono::steady_clock::now()));
        }
        auto process =
            WEIR_TRY(WorkerProcess::start(command_, std::chrono::steady_clock::now() + spec_.start_limit, stop));
        if (began_) ++restarts_;
        began_ = true;
        process_ = std::move(process);
        return {};
    }

    void spread() {
        backoff_ = backoff_ == 0ms ? spec_.restart_first : std::min(2 * backoff_, spec_.restart_last);
        not_before_ = std::chrono::steady_clock::now() + backoff_;
    }

    std::vector<std::string> command_;
    SelectionSpec spec_;
    std::unique_ptr<WorkerProcess> process_;
    std::chrono::milliseconds backoff_{0};
    SteadyTime not_before_{};
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

/// Seen from the program in libexec/weir/, or from another one in bin/.
Result<fs::path> find_program(const fs::path& folder, std::initializer_list<const char*> places) {
    std::error_code error;
    auto start = folder;
    if (start.empty()) start = fs::read_symlink("/proc/self/exe", error).parent_path();
    for (const auto* place : places) {
        auto path = (start / place).lexically_normal();
        if (fs::exists(path, error)) return path;
    }
    return fail(Errc::usage, fmt::format("{} is not beside this program ({}): weir is not installed as a whole",
                                         fs::path(*places.begin()).filename().string(), start.string()));
}

Result<std::vector<std::string>> worker_command(const SelectionSpec& spec, const fs::path& file) {
    if (file.extension() == ".py") {
        const auto script = WEIR_TRY(
            find_program(spec.programs, {"weir_selection_worker.py", "../../share/weir/weir_selection_worker.py",
                                         "../share/weir/weir_selection_worker.py"}));
        return std::vector<std::string>{spec.python.string(), script.string(), file.string()};
    }
    const auto program =
        WEIR_TRY(find_program(spec.programs, {"weir-selection-worker", "../libexec/weir/weir-selection-worker"}));
    return std::vector<std::string>{program.string(), file.string()};
}

/// A selection that is not built in is a file, here, of one of two kinds.
Result<> check_file(const std::string& selection) {
    std::error_code error;
    const auto file = fs::absolute(selection, error);
    const auto ending = file.extension();
    if (ending != ".so" && ending != ".py")
        return fail(Errc::usage,
                    fmt::format("\"{}\" is no selection: give all, none, fraction:F, size:SIZE, busy:TIME, sleep:TIME, "
                                "or a file NAME.so or NAME.py",
                                selection));
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

Result<> Selection::check(const std::string& selection) {
    const auto builtin = WEIR_TRY(builtin_selection(selection));
    return builtin ? Result<>{} : check_file(selection);
}

Result<Selection> Selection::open(const SelectionSpec& spec) {
    auto builtin = WEIR_TRY(builtin_selection(spec.selection));
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
            [call = SelectCall(function), command = *command, spec, unsafe] {
                return std::make_unique<ThreadSelector>(call, command, spec, unsafe);
            },
            unsafe);
    }
    // Tried once, here, where the operator still sees a mistake at once.
    auto tried = WorkerProcess::start(*command, std::chrono::steady_clock::now() + spec.start_limit, {});
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
