// SPDX-License-Identifier: Apache-2.0
// weir combine: the sum of a followed by b, from their sums and lengths alone.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <span>
#include <sstream>

#include "cli/output.hpp"
#include "sums/commands.hpp"
#include "sums/sum_settings.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_combine = "weir combine";

struct Piece {
    digest::Digest sum;
    std::uint64_t length;
};

struct CombineOptions {
    AlgorithmList algorithm;
    std::string sum_a, sum_b;
    std::optional<Bytes> length_b, length_a;
    std::filesystem::path pieces;
    bool decimal = false;
    bool json = false;
};

/// All digits of the value: one that lost some may be another.
Result<digest::Digest> parse_whole(digest::Algorithm algorithm, const std::string& text, bool decimal) {
    auto sum = digest::Digest::parse(algorithm, text, decimal);
    const auto digits = 2 * digest::digest_size(algorithm);
    if (sum && !decimal && text.size() != digits)
        return fail(Errc::usage, fmt::format("\"{}\" has {}, and a {} has {}; write its leading zeros", text,
                                             counted(text.size(), "digit"), digest::name(algorithm), digits));
    return sum;
}

/// The pieces of a file, a line each: sum and length.
Result<std::vector<Piece>> read_pieces(const std::filesystem::path& path, digest::Algorithm algorithm, bool decimal) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) return fail_errno(errno, fmt::format("cannot open the pieces {}", path.native()));
    }
    std::istream& lines = path == "-" ? std::cin : file;
    std::vector<Piece> pieces;
    std::size_t number = 0;
    for (std::string line; std::getline(lines, line);) {
        ++number;
        std::istringstream words(line);
        std::string sum_text, length_text, more;
        if (!(words >> sum_text)) continue;
        const auto wrong = [&](std::string_view why) {
            return fail(Errc::usage, fmt::format("{}:{}: {}", path.native(), number, why));
        };
        Bytes length;
        if (!(words >> length_text) || words >> more) return wrong("a line is SUM LENGTH, as in 024d0127 4096");
        if (const auto read = read_value(length_text, length); !read) return wrong(read.error().context);
        const auto sum = parse_whole(algorithm, sum_text, decimal);
        if (!sum) return wrong(sum.error().context);
        pieces.push_back({*sum, length.count()});
    }
    if (lines.bad()) return fail_errno(errno, fmt::format("cannot read the pieces {}", path.native()));
    if (pieces.empty()) return fail(Errc::usage, fmt::format("{} has no pieces; a line is SUM LENGTH", path.native()));
    return pieces;
}

/// The two pieces of the command line.
Result<std::vector<Piece>> named_pieces(const CombineOptions& options, digest::Algorithm algorithm) {
    if (options.sum_a.empty() || options.sum_b.empty() || !options.length_b)
        return fail(Errc::usage,
                    "SUM_A SUM_B LENGTH_B are needed, or --pieces FILE; weir combine --help shows an example");
    if (algorithm == digest::Algorithm::cksum && !options.length_a)
        return fail(Errc::usage,
                    "a cksum has the length in it, so LENGTH_A is needed too: weir combine cksum SUM_A SUM_B LENGTH_B "
                    "LENGTH_A");
    const auto a = parse_whole(algorithm, options.sum_a, options.decimal);
    if (!a) return fail(Errc::usage, "SUM_A: " + a.error().context);
    const auto b = parse_whole(algorithm, options.sum_b, options.decimal);
    if (!b) return fail(Errc::usage, "SUM_B: " + b.error().context);
    return std::vector<Piece>{{*a, options.length_a.value_or(Bytes{}).count()}, {*b, options.length_b->count()}};
}

int run_combine(const CombineOptions& options) {
    if (options.algorithm.values.size() != 1)
        return fail_usage(
            weir_combine,
            "ALGORITHM is one; name one of adler32, crc32, cksum, crc32c, crc64-xz, crc64-nvme, crc64-ecma182");
    const auto algorithm = options.algorithm.values.front();
    if (options.decimal && algorithm != digest::Algorithm::cksum)
        return fail_usage(weir_combine, "--decimal: only a cksum is written in decimal digits");
    if (!options.pieces.empty() && !options.sum_a.empty())
        return fail_usage(weir_combine, "--pieces: the pieces stand in its file; omit SUM_A and what follows");
    const auto pieces = options.pieces.empty() ? named_pieces(options, algorithm)
                                               : read_pieces(options.pieces, algorithm, options.decimal);
    if (!pieces) return fail_with(weir_combine, pieces.error());
    Result<digest::Digest> sum = pieces->front().sum;
    auto length = pieces->front().length;
    for (const auto& piece : std::span(*pieces).subspan(1)) {
        if (piece.length > std::numeric_limits<std::uint64_t>::max() - length)
            return fail_usage(weir_combine, "the pieces are longer than any file");
        sum = digest::combine(*sum, piece.sum, piece.length, length);
        if (!sum) return fail_with(weir_combine, sum.error());
        length += piece.length;
    }
    if (options.json) print_json(json::object{{"algorithm", digest::name(algorithm)}, {"sum", sum->hex()}});
    else if (options.decimal) print("{}\n", sum->number());
    else print("{}\n", sum->hex());
    return exit_good;
}

}  // namespace

void add_combine(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<CombineOptions>();  // shared by the parser's callbacks and the command
    auto& command =
        add_command(parent, group_look, "combine", "the sum of two pieces from their sums, without reading them",
                    "weir combine adler32 024d0127 024c0126 3");
    add_value(command, "algorithm", options->algorithm, "ALGORITHM",
              "adler32, crc32, cksum, crc32c, crc64-xz, crc64-nvme or crc64-ecma182")
        .required();
    add_value(command, "sum_a", options->sum_a, "SUM_A", "of the first piece");
    add_value(command, "sum_b", options->sum_b, "SUM_B", "of the piece behind it");
    add_value(command, "length_b", options->length_b, "LENGTH_B", "bytes of the second piece: 1234, 4KiB");
    add_value(command, "length_a", options->length_a, "LENGTH_A", "bytes of the first piece; cksum needs it");
    add_value(command, "--pieces", options->pieces, "FILE",
              "any number of pieces in order instead, a line each: SUM LENGTH; - is stdin");
    add_flag(command, "--decimal", options->decimal, "sums are decimal numbers, as cksum prints them");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_combine(*options); }; });
}

}  // namespace weir::app
