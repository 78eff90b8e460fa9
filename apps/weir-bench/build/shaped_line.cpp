// SPDX-License-Identifier: Apache-2.0
#include "build/shaped_line.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <sstream>
#include <utility>
#include <vector>

#include "cli/process/child_process.hpp"

namespace weir::app {
namespace {

Result<> command(const std::string& line) {
    std::istringstream words(line);
    std::vector<std::string> arguments;
    for (std::string word; words >> word;) arguments.push_back(word);
    auto child = WEIR_TRY(ChildProcess::start(arguments, true));
    if (const auto status = child.wait(); status.exit_code != 0)
        return fail(Errc::refused,
                    fmt::format("\"{}\" ended with {}; it needs root, iproute2 and a kernel with veth and tbf", line,
                                status.exit_code));
    return {};
}

}  // namespace

Result<ShapedLine> ShapedLine::lay(const std::string& rate, Bytes queue) {
    ShapedLine line(fmt::format("weir-bench-{}", ::getpid()));
    const auto& name = line.name_;
    const auto near_end = fmt::format("wb{}", ::getpid());
    for (const auto& step :
         {fmt::format("ip netns add {}", name),
          fmt::format("ip link add {} type veth peer name far netns {}", near_end, name),
          fmt::format("ip addr add {}/24 dev {}", near_address(), near_end), fmt::format("ip link set {} up", near_end),
          fmt::format("ip -n {} addr add {}/24 dev far", name, far_address()),
          fmt::format("ip -n {} link set far up", name), fmt::format("ip -n {} link set lo up", name),
          fmt::format("tc -n {} qdisc add dev far root tbf rate {} burst 128kb limit {}", name, rate, queue.count())}) {
        WEIR_TRY(command(step));
    }
    return line;
}

ShapedLine::ShapedLine(ShapedLine&& other) noexcept : name_(std::exchange(other.name_, {})) {}

ShapedLine::~ShapedLine() {
    if (name_.empty()) return;
    static_cast<void>(command("ip netns del " + name_));  // the pair of devices goes with it
}

}  // namespace weir::app
