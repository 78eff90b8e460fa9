// SPDX-License-Identifier: Apache-2.0
// The reading side of the records: every length is checked against a limit and against the bytes that are there.
#include <fmt/format.h>

#include <algorithm>

#include "weir/event/raw_file.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

std::unexpected<Error> wrong(Errc code, std::uint64_t offset, std::string_view reason) {
    return fail(code, fmt::format("raw file at byte {}: {}", offset, reason));
}

/// Takes words and texts off the front of the head. After the first failure it gives zeros, and keeps the failure.
class HeadReader {
public:
    explicit HeadReader(ConstData data) : data_(data) {}

    [[nodiscard]] std::size_t at() const noexcept { return at_; }
    [[nodiscard]] bool good() const noexcept { return !error_; }
    [[nodiscard]] std::unexpected<Error> error() { return std::unexpected(std::move(*error_)); }

    void fail_here(Errc code, std::string_view reason) {
        if (!error_) error_ = wrong(code, at_, reason).error();
    }

    std::uint32_t take_word(std::string_view what) {
        if (!has(word_bytes, what)) return 0;
        const auto value = load_little<std::uint32_t>(data_, at_);
        at_ += word_bytes;
        return value;
    }

    void expect(std::uint32_t expected, std::string_view what) {
        const auto value = take_word(what);
        if (!good() || value == expected) return;
        at_ -= word_bytes;
        fail_here(Errc::corrupt, fmt::format("{} is 0x{:x}, not 0x{:x}", what, value, expected));
    }

    [[nodiscard]] bool next_is(std::uint32_t marker) {
        return has(word_bytes, "next record") && load_little<std::uint32_t>(data_, at_) == marker;
    }

    std::string take_text(std::string_view what, std::size_t limit) {
        const std::size_t size = take_word(what);
        if (good() && size > limit)
            fail_here(Errc::limit, fmt::format("{} of {} bytes, more than {}", what, size, limit));
        const auto padded = (size + word_bytes - 1) / word_bytes * word_bytes;
        if (!good() || !has(padded, what)) return {};
        std::string text(as_text(data_.subspan(at_, size)));
        at_ += padded;
        return text;
    }

private:
    bool has(std::size_t size, std::string_view what) {
        if (!error_ && at_ + size > file_head_size_max)
            fail_here(Errc::limit,
                      fmt::format("{} goes beyond the {} bytes before the first event", what, file_head_size_max));
        if (!error_ && size > data_.size() - at_) fail_here(Errc::truncated, fmt::format("ends before its {}", what));
        return !error_;
    }

    ConstData data_;
    std::size_t at_ = 0;
    std::optional<Error> error_;
};

void read_run_parameters(HeadReader& in, FileHead& head) {
    const bool is_v2 = head.version == file_version_bes3;
    const bool is_v5 = head.version == file_version_run1;
    in.expect(run_parameters_marker, "run parameters marker");
    in.expect(is_v2   ? run_parameters_words_v2
              : is_v5 ? run_parameters_words_v5
                      : run_parameters_words_v6,
              "run parameters size");
    head.run.run = RunNumber{in.take_word("run number")};
    head.run.events_max = in.take_word("event limit");
    head.run.recording_enabled = in.take_word("recording flag");
    head.run.trigger_type = in.take_word("trigger type");
    for (std::size_t i = 0; i < (is_v2 ? 1U : is_v5 ? 2U : 4U); ++i)
        head.run.detector_mask[i] = in.take_word("detector mask");
    head.run.beam_type = in.take_word("beam type");
    head.run.beam_energy = in.take_word("beam energy");
}

}  // namespace

std::optional<std::string_view> FileHead::metadata_value(std::string_view key) const noexcept {
    for (const std::string_view text : metadata)
        if (text.size() > key.size() && text.starts_with(key) && text[key.size()] == '=')
            return text.substr(key.size() + 1);
    return std::nullopt;
}

Format FileHead::format() const noexcept {
    if (version == file_version_bes3) return Format::event_3_0;
    return metadata_value("Format") == "opaque" ? Format::opaque : Format::event_5_0;
}

Result<ParsedFileHead> parse_file_head(ConstData data) {
    HeadReader in(data);
    ParsedFileHead parsed;
    auto& head = parsed.head;
    in.expect(file_start_marker, "file start marker");
    in.expect(file_start_words, "file start size");
    head.version = in.take_word("version");
    if (in.good() && head.version != file_version_bes3 && head.version != file_version_run1 &&
        head.version != file_version_current)
        return wrong(Errc::unsupported, 2 * word_bytes,
                     fmt::format("file version {} is none of 2, 5, 6", head.version));
    head.file_number = in.take_word("file number");
    const auto date = in.take_word("date");
    head.opened = CalendarTime::from_words(date, in.take_word("time"));
    head.blocks_max = in.take_word("block limit");
    head.size_max_mb = in.take_word("size limit");
    in.expect(name_strings_marker, "name strings marker");
    head.application = in.take_text("application name", name_string_size_max);
    head.name_core = in.take_text("file name core", name_string_size_max);
    if (in.good() && head.version != file_version_bes3 && in.next_is(metadata_strings_marker)) {
        in.expect(metadata_strings_marker, "metadata marker");
        const auto count = in.take_word("number of metadata strings");
        if (count > metadata_strings_max)
            in.fail_here(Errc::limit, fmt::format("{} metadata strings, more than {}", count, metadata_strings_max));
        for (std::uint32_t i = 0; i < count && in.good(); ++i)
            head.metadata.push_back(in.take_text("metadata string", metadata_string_size_max));
    }
    read_run_parameters(in, head);
    if (!in.good()) return in.error();
    parsed.size = in.at();
    return parsed;
}

RecordKind record_kind(ConstData data) noexcept {
    if (data.size() < word_bytes) return RecordKind::unknown;
    switch (word(data, 0)) {
        case separator_marker: return RecordKind::separator;
        case file_end_marker: return RecordKind::file_end;
        default: return RecordKind::unknown;
    }
}

Result<DataSeparator> parse_separator(ConstData data, std::uint64_t offset) {
    if (data.size() < separator_size_bytes) return wrong(Errc::truncated, offset, "ends inside a data separator");
    if (word(data, 0) != separator_marker)
        return wrong(Errc::corrupt, offset,
                     fmt::format("data separator marker is 0x{:08x}, not 0x{:08x}", word(data, 0), separator_marker));
    if (word(data, 1) != separator_words)
        return wrong(Errc::corrupt, offset,
                     fmt::format("data separator size is {}, not {}", word(data, 1), separator_words));
    return DataSeparator{.block_number = word(data, 2), .size = word(data, 3)};
}

Result<FileEnd> parse_file_end(ConstData data, std::uint64_t offset) {
    if (data.size() < file_end_size_bytes) return wrong(Errc::truncated, offset, "ends inside the file end");
    if (word(data, 0) != file_end_marker || word(data, 9) != file_end_last_marker)
        return wrong(Errc::corrupt, offset,
                     fmt::format("file end markers are 0x{:08x} and 0x{:08x}, not 0x{:08x} and 0x{:08x}", word(data, 0),
                                 word(data, 9), file_end_marker, file_end_last_marker));
    if (word(data, 1) != file_end_words)
        return wrong(Errc::corrupt, offset, fmt::format("file end size is {}, not {}", word(data, 1), file_end_words));
    if (word(data, 8) > 1)
        return wrong(Errc::corrupt, offset, fmt::format("file end status is {}, neither 0 nor 1", word(data, 8)));
    return FileEnd{.closed = CalendarTime::from_words(word(data, 2), word(data, 3)),
                   .events_in_file = word(data, 4),
                   .mib_in_file = word(data, 5),
                   .events_in_sequence = word(data, 6),
                   .mib_in_sequence = word(data, 7),
                   .last_of_sequence = word(data, 8) == 1};
}

}  // namespace weir::event
