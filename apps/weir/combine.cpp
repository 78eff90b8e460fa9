// SPDX-License-Identifier: Apache-2.0
// weir combine: the sum of a followed by b, from their sums and lengths alone.
#include <memory>

#include "commands.hpp"
#include "output.hpp"
#include "sum_settings.hpp"

namespace weir::app {
namespace {

constexpr const char* me = "weir combine";

struct Options {
    AlgorithmList algorithm;
    std::string sum_a, sum_b;
    Bytes length_b;
    std::optional<Bytes> length_a;
    bool decimal = false;
    bool json = false;
};

int run_combine(const Options& options) {
    if (options.algorithm.values.size() != 1) return fail_usage(me, "ALGORITHM is one; name one of adler32, crc32, cksum, crc32c, crc64-xz, crc64-nvme, crc64-ecma182");
    const auto algorithm = options.algorithm.values.front();
    if (options.decimal && algorithm != digest::Algorithm::cksum) return fail_usage(me, "--decimal: only a cksum is written in decimal digits");
    if (algorithm == digest::Algorithm::cksum && !options.length_a)
        return fail_usage(me, "a cksum has the length in it, so LENGTH_A is needed too: weir combine cksum SUM_A SUM_B LENGTH_B LENGTH_A");
    const auto a = digest::Digest::parse(algorithm, options.sum_a, options.decimal);
    if (!a) return fail_usage(me, "SUM_A: " + a.error().context);
    const auto b = digest::Digest::parse(algorithm, options.sum_b, options.decimal);
    if (!b) return fail_usage(me, "SUM_B: " + b.error().context);
    const auto sum = digest::combine(*a, *b, options.length_b.count(), options.length_a.value_or(Bytes{}).count());
    if (!sum) return fail_with(me, sum.error());
    if (options.json) print_json(json::object{{"algorithm", digest::name(algorithm)}, {"sum", sum->hex()}});
    else if (options.decimal) print("{}\n", sum->number());
    else print("{}\n", sum->hex());
    return exit_good;
}

}  // namespace

void add_combine(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<Options>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "combine", "the sum of two pieces from their sums, without reading them",
                                "weir combine adler32 024d0127 024c0126 3");
    add_value(command, "algorithm", options->algorithm, "ALGORITHM", "adler32, crc32, cksum, crc32c, crc64-xz, crc64-nvme or crc64-ecma182").required();
    add_value(command, "sum_a", options->sum_a, "SUM_A", "of the first piece").required();
    add_value(command, "sum_b", options->sum_b, "SUM_B", "of the piece behind it").required();
    add_value(command, "length_b", options->length_b, "LENGTH_B", "bytes of the second piece: 1234, 4KiB").default_str("")->required();
    add_value(command, "length_a", options->length_a, "LENGTH_A", "bytes of the first piece; cksum needs it");
    add_flag(command, "--decimal", options->decimal, "sums are decimal numbers, as cksum prints them");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_combine(*options); }; });
}

}  // namespace weir::app
