// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize_candidates.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "cli/process/child_process.hpp"
#include "serialize/process/serialize_root_source.hpp"
#include "serialize/serialize_limits.hpp"
#include "serialize/serialize_ours.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

struct Peer {
    const char* program;
    const char* name;
    const char* package;  // of Debian, for its headers
};
constexpr std::array<Peer, 4> peers{{{"weir-bench-boost", "Boost.Serialization", "libboost-serialization1.81-dev"},
                                     {"weir-bench-cereal", "cereal", "libcereal-dev"},
                                     {"weir-bench-messagepack", "MessagePack", "libmsgpuck-dev"},
                                     {"weir-bench-protobuf", "Protobuf", "libprotobuf-dev and protobuf-compiler"}}};

/// A folder that goes with this object.
class TemporaryFolder {
public:
    [[nodiscard]] static Result<TemporaryFolder> make() {
        std::error_code failed;
        auto name = (fs::temp_directory_path(failed) / "weir-bench-XXXXXX").native();
        if (failed || ::mkdtemp(name.data()) == nullptr)
            return fail_errno(errno, fmt::format("cannot make the folder {}", name));
        return TemporaryFolder(name);
    }
    TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
    TemporaryFolder& operator=(TemporaryFolder&&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        if (!path_.empty()) fs::remove_all(path_, ignored);
    }
    [[nodiscard]] const fs::path& path() const noexcept { return path_; }

private:
    explicit TemporaryFolder(fs::path path) : path_(std::move(path)) {}
    fs::path path_;
};

jobs::Jobs our_jobs() {
    jobs::Jobs jobs;
    jobs.about = "weir";
    add_serialize_limits(jobs);
    add_serialize_ours(jobs);
    return jobs;
}

std::string last_line(const fs::path& file) {
    std::ifstream in(file);
    std::string last;
    for (std::string line; std::getline(in, line);)
        if (!line.empty()) last = line;
    return last;
}

/// What a peer prints belongs to it; its last line has the reason why it did not come up.
Result<JobProcess> start_peer(const std::vector<std::string>& arguments, const fs::path& folder,
                              std::chrono::seconds patience) {
    const auto log = folder / (fs::path(arguments.front()).filename().native() + ".log");
    auto process = JobProcess::start(arguments, log, patience);
    if (process) return process;
    const auto reason = last_line(log);
    return fail(process.error().code, process.error().message() + (reason.empty() ? "" : fmt::format(" ({})", reason)));
}

/// The wire is the same, so the bytes have to be.
void compare_with_root(SerializeCandidates& all) {
    const auto hash_of = [&](std::string_view codec, std::string_view subject) -> std::uint64_t {
        for (const auto& process : all.processes)
            for (const auto& job : process.jobs())
                if (job.writes && job.codec == codec && job.subject == subject) return job.hash;
        return 0;
    };
    for (const auto* way : {"object-wise", "member-wise"}) {
        for (const auto* subject : {"10", "1000", "event"}) {
            const auto ours = hash_of(fmt::format("weir {}", way), subject),
                       root = hash_of(fmt::format("ROOT {}", way), subject);
            if (ours != 0 && root != 0 && ours != root)
                all.notes.push_back(fmt::format("weir and ROOT write different bytes: {}, {}", subject, way));
        }
    }
}

}  // namespace

Result<SerializeCandidates> find_serialize_candidates(const std::string& peers_folder, const std::string& root_python) {
    const auto folder = WEIR_TRY(TemporaryFolder::make());
    SerializeCandidates all;
    auto ours = WEIR_TRY(JobProcess::fork_with(our_jobs));
    all.processes.push_back(std::move(ours));

    const auto beside = peers_folder.empty() ? fs::path(ChildProcess::self()).parent_path() : fs::path(peers_folder);
    for (const auto& peer : peers) {
        const auto program = beside / peer.program;
        if (std::error_code ignored; !fs::exists(program, ignored)) {
            all.notes.push_back(fmt::format("not installed: {} (install {} and build with -DWEIR_BENCH_PEERS=ON)",
                                            peer.name, peer.package));
            continue;
        }
        if (auto process = start_peer({program.native()}, folder.path(), std::chrono::seconds(20)))
            all.processes.push_back(std::move(*process));
        else all.notes.push_back(fmt::format("not measured: {}: {}", peer.name, process.error().message()));
    }
    if (!root_python.empty()) {
        for (const auto& file : root_sources) {
            std::ofstream out(folder.path() / file.name);
            out << file.text;
            if (!out.flush())
                return fail_errno(errno, fmt::format("cannot write {}", (folder.path() / file.name).native()));
        }
        if (auto process = start_peer({root_python, folder.path() / "root.py", folder.path()}, folder.path(),
                                      std::chrono::seconds(180)))
            all.processes.push_back(std::move(*process));
        else
            all.notes.push_back(
                fmt::format("not installed: ROOT (pip install --pre ROOT, then --root-python ITS/bin/python): {}: {}",
                            root_python, process.error().message()));
    }
    for (const auto& process : all.processes)
        for (const auto& wrong : process.wrong()) all.notes.push_back("not measured: " + wrong);
    compare_with_root(all);
    return all;
}

}  // namespace weir::app
