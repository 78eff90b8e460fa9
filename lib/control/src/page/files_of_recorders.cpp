// SPDX-License-Identifier: Apache-2.0
#include "page/files_of_recorders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

// Of one recorder. A document is as large as its texts; these say how much of it is looked at.
constexpr std::size_t streams_max = 4096;
constexpr std::size_t volumes_max = 1024;
constexpr std::size_t troubles_taken_max = 100;
constexpr std::size_t copies_max = 64;
constexpr std::size_t sums_max = 16;
constexpr std::size_t station_text_max = 4200;  // bytes; a station cuts its texts to 4096, and says so behind them
constexpr std::size_t trouble_max = 500;
constexpr std::size_t troubles_shown_max = 100;                            // of all recorders
constexpr std::uint64_t whole_number_max = (std::uint64_t{1} << 53U) - 1;  // that a browser reads exactly

std::uint64_t bounded_sum(std::uint64_t a, std::uint64_t b) {
    return a > whole_number_max - std::min(b, whole_number_max) ? whole_number_max : a + b;
}

json::string cut_station_text(std::string_view text, std::size_t most = station_text_max) {
    auto cut = json::safe(text.substr(0, most));
    if (text.size() > most) cut += "...";
    return cut;
}

/// Fields of one object of a station, with texts that may have any characters: the page shows them as text.
class StationFields {
public:
    StationFields(const json::value& value, std::string what)
        : object_(value.if_object()), what_(std::move(what)), fields_(value, what_) {}

    json::string text(std::string_view name) {
        const auto* value = object_ == nullptr ? nullptr : object_->if_contains(name);
        const auto* text = value == nullptr ? nullptr : value->if_string();
        if (text == nullptr) fields_.fail_with(fmt::format("\"{}\" of {} is not a text", name, what_));
        return text == nullptr ? json::string() : cut_station_text(*text);
    }
    std::uint64_t number(std::string_view name) { return fields_.number(name, std::nullopt, whole_number_max); }
    /// null stays null.
    json::value number_or_null(std::string_view name, std::uint64_t most = whole_number_max) {
        const auto* value = object_ == nullptr ? nullptr : object_->if_contains(name);
        if (value == nullptr || value->is_null()) return nullptr;
        return fields_.number(name, std::nullopt, most);
    }
    double real(std::string_view name) { return fields_.real(name); }
    const json::array& array(std::string_view name, std::size_t items_max) {
        static const json::array none;
        if (!fields_.has(name)) fields_.fail_with(fmt::format("{} has no \"{}\"", what_, name));
        const auto* array = fields_.array(name, items_max);
        return array == nullptr ? none : *array;
    }
    json::object texts(std::string_view name, std::size_t items_max) {
        json::object read;
        const auto* object = fields_.object(name);
        if (object == nullptr) {
            fields_.fail_with(fmt::format("{} has no \"{}\"", what_, name));
            return read;
        }
        for (const auto& [key, value] : *object) {
            const auto* text = value.if_string();
            if (text == nullptr || read.size() == items_max) {
                fields_.fail_with(
                    fmt::format("\"{}\" of {} is not an object of at most {} texts", name, what_, items_max));
                return read;
            }
            read[cut_station_text(key, trouble_max)] = cut_station_text(*text);
        }
        return read;
    }
    [[nodiscard]] Result<> result() const { return fields_.result(); }

private:
    const json::object* object_;
    const std::string what_;
    json::Fields fields_;
};

Result<json::object> file_of_station(const json::value& value, const std::string& host, const std::string& what) {
    StationFields fields(value, what);
    json::object file{{"host", json::safe(host)}};
    for (const auto* name : {"name", "volume", "stream", "recorder", "state", "transfer", "health"})
        file[name] = fields.text(name);
    for (const auto* name : {"lumi_block", "events", "bytes"}) file[name] = fields.number(name);
    file["opened"] = fields.real("opened");
    file["sums"] = fields.texts("sums", sums_max);
    json::array copies;
    for (const auto& one : fields.array("copies", copies_max)) {
        StationFields of_copy(one, "a copy of " + what);
        copies.push_back({{"destination", of_copy.text("destination")},
                          {"state", of_copy.text("state")},
                          {"attempts", of_copy.number("attempts")},
                          {"error", of_copy.text("error")}});
        WEIR_TRY(of_copy.result());
    }
    file["copies"] = std::move(copies);
    WEIR_TRY(fields.result());
    return file;
}

std::string who_of(const std::string& recorder, const std::string& host) {
    return host.empty() ? recorder : fmt::format("{} on {}", recorder, host);
}

}  // namespace

void FilesOfRecorders::trouble(const std::string& who, std::string_view text) {
    if (troubles_.size() < troubles_shown_max)
        troubles_.insert(fmt::format("{}: {}", who, std::string_view(cut_station_text(text, trouble_max))));
}

void FilesOfRecorders::add(const std::string& recorder, const std::string& host, const Error& why) {
    silent_.insert(recorder);
    trouble(who_of(recorder, host), "its files are not shown: " + why.message());
}

void FilesOfRecorders::add(const std::string& recorder, const std::string& host, std::string_view text) {
    auto part = read(text, host);
    if (part && asked_ && part->run != asked_)
        part = fail(Errc::corrupt, fmt::format("it was asked for run {}, and answered another", number(*asked_)));
    if (!part) return add(recorder, host, part.error());
    take(std::move(*part), who_of(recorder, host));
}

Result<FilesOfRecorders::Part> FilesOfRecorders::read(std::string_view text, const std::string& host) {
    const auto document = WEIR_TRY(json::parse(text, {.size = recorder_answer_max, .depth = 8}));
    StationFields fields(document, "its answer");
    Part part;
    if (const auto run = fields.number_or_null("run", std::numeric_limits<std::uint32_t>::max()); !run.is_null())
        part.run = RunNumber{run.to_number<std::uint32_t>()};
    part.left_out = fields.number("left_out");
    for (const auto& one : fields.array("streams", streams_max)) {
        StationFields stream(one, "a stream");
        part.streams.emplace_back(stream.text("stream"),
                                  Stream{stream.number("files"), stream.number("open"), stream.number("handed_over"),
                                         stream.number("deleted"), stream.number("not_sane"), stream.number("events"),
                                         stream.number("bytes")});
        WEIR_TRY(stream.result());
    }
    for (const auto& one : fields.array("files", files_shown_max)) {
        auto file = WEIR_TRY(file_of_station(one, host, "a file"));
        File read{file.at("opened").as_double(), {}, {}};
        read.place = fmt::format("{}\n{}\n{}", host, std::string_view(file.at("volume").as_string()),
                                 std::string_view(file.at("name").as_string()));
        read.document = std::move(file);
        part.files.push_back(std::move(read));
    }
    for (const auto& one : fields.array("volumes", volumes_max)) {
        StationFields volume(one, "a volume");
        const auto name = volume.text("volume");
        json::object read{{"host", json::safe(host)},
                          {"volume", name},
                          {"device", volume.number_or_null("device", std::numeric_limits<std::uint64_t>::max())},
                          {"bytes", volume.number_or_null("bytes")},
                          {"free", volume.number_or_null("free")}};
        part.volumes.emplace_back(Volume{host, std::string(name)}, std::move(read));
        WEIR_TRY(volume.result());
    }
    for (const auto& one : fields.array("troubles", troubles_taken_max)) {
        const auto* line = one.if_string();
        if (line == nullptr) return fail(Errc::usage, "one of its troubles is not a text");
        part.troubles.emplace_back(*line);
    }
    WEIR_TRY(fields.result());
    return part;
}

void FilesOfRecorders::take(Part part, const std::string& who) {
    for (const auto& text : part.troubles) trouble(who, text);
    for (auto& [name, volume] : part.volumes) {
        if (volumes_.size() < volumes_max) volumes_.try_emplace(name, std::move(volume));
        else trouble(who, fmt::format("more than {} disks: further ones are not shown", volumes_max));
    }
    if (!part.run || (run_ && *part.run < *run_)) return;  // it has no files of the run
    if (!run_ || *run_ < *part.run) {
        run_ = part.run;
        streams_.clear();
        files_.clear();
        left_out_ = 0;
    }
    for (const auto& [name, more] : part.streams) {
        if (!streams_.contains(name) && streams_.size() == streams_max) {
            trouble(who, fmt::format("more than {} streams: further ones are not shown", streams_max));
            break;
        }
        auto& sum = streams_[name];
        for (const auto member : {&Stream::files, &Stream::open, &Stream::handed_over, &Stream::deleted,
                                  &Stream::not_sane, &Stream::events, &Stream::bytes})
            sum.*member = bounded_sum(sum.*member, more.*member);
    }
    left_out_ = bounded_sum(left_out_, part.left_out);
    std::ranges::move(part.files, std::back_inserter(files_));
    keep_newest();
}

void FilesOfRecorders::keep_newest() {
    std::ranges::sort(
        files_, [](const File& a, const File& b) { return std::tie(b.opened, a.place) < std::tie(a.opened, b.place); });
    if (files_.size() <= files_shown_max) return;
    left_out_ = bounded_sum(left_out_, files_.size() - files_shown_max);
    files_.resize(files_shown_max);
}

json::object FilesOfRecorders::document() const {
    json::array streams, files, volumes, troubles, silent;
    for (const auto& [name, sum] : streams_)
        streams.push_back({{"stream", json::safe(name)},
                           {"files", sum.files},
                           {"open", sum.open},
                           {"handed_over", sum.handed_over},
                           {"deleted", sum.deleted},
                           {"not_sane", sum.not_sane},
                           {"events", sum.events},
                           {"bytes", sum.bytes}});
    for (const auto& file : files_) files.push_back(file.document);
    for (const auto& [name, volume] : volumes_) volumes.push_back(volume);
    for (const auto& text : troubles_) troubles.push_back(json::safe(text));
    for (const auto& name : silent_) silent.push_back(json::safe(name));
    json::value run;
    if (run_) run = number(*run_);
    return {{"run", std::move(run)},      {"streams", std::move(streams)}, {"files", std::move(files)},
            {"left_out", left_out_},      {"volumes", std::move(volumes)}, {"troubles", std::move(troubles)},
            {"silent", std::move(silent)}};
}

}  // namespace weir::control
