// SPDX-License-Identifier: Apache-2.0
// One document of the files of a run out of those that several recorders answer, each from the catalogue on its own
// machine. What a station answers is checked: a document of the wrong shape becomes a line in `troubles`.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

inline constexpr Bytes recorder_answer_max{8U << 20};
inline constexpr std::size_t files_shown_max = 200;

/// One thread. In whatever order documents are added, the result is the same.
class FilesOfRecorders {
public:
    /// `run`: the run that was asked for; none: the newest that a recorder has files of.
    explicit FilesOfRecorders(std::optional<RunNumber> run) : asked_(run), run_(run) {}

    /// What the recorder answered, JSON as of RunArchive::files(). `host`: its machine, by which its disks are told
    /// from those of others.
    void add(const std::string& recorder, const std::string& host, std::string_view text);
    /// It did not answer.
    void add(const std::string& recorder, const std::string& host, const Error& why);

    /// As of RunArchive::files(), with "host" in files and volumes, and in "silent" the recorders of which nothing is
    /// shown.
    [[nodiscard]] boost::json::object document() const;

private:
    struct Stream {
        std::uint64_t files = 0, open = 0, handed_over = 0, deleted = 0, not_sane = 0, events = 0, bytes = 0;
    };
    struct File {
        double opened = 0;
        std::string place{};  // host, volume and name: an order for files of the same time
        boost::json::object document{};
    };
    using Volume = std::pair<std::string, std::string>;  // host, directory
    struct Part {
        std::optional<RunNumber> run{};
        std::vector<std::pair<std::string, Stream>> streams{};
        std::vector<File> files{};
        std::uint64_t left_out = 0;
        std::vector<std::pair<Volume, boost::json::object>> volumes{};
        std::vector<std::string> troubles{};
    };
    static Result<Part> read(std::string_view text, const std::string& host);
    void take(Part part, const std::string& who);
    void keep_newest();
    void trouble(const std::string& who, std::string_view text);

    const std::optional<RunNumber> asked_;
    std::optional<RunNumber> run_;
    std::map<std::string, Stream> streams_;
    std::vector<File> files_;
    std::uint64_t left_out_ = 0;
    std::map<Volume, boost::json::object> volumes_;
    std::set<std::string> troubles_, silent_;
};

}  // namespace weir::control
