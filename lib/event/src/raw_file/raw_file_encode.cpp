// SPDX-License-Identifier: Apache-2.0
// The writing side of the records.
#include <fmt/format.h>

#include "weir/event/raw_file.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

Result<> check_text(std::string_view what, std::string_view text, std::size_t limit) {
    if (text.size() <= limit) return {};
    return fail(Errc::usage,
                fmt::format("raw file head: {} of {} bytes; at most {} are written", what, text.size(), limit));
}

/// Byte length, bytes, spaces up to a word.
void append_text(std::vector<std::byte>& to, std::string_view text) {
    append_word(to, static_cast<std::uint32_t>(text.size()));
    append(to, as_data(text));
    while (to.size() % word_bytes != 0) to.push_back(std::byte{' '});
}

void append_run_parameters(std::vector<std::byte>& to, const FileHead& head) {
    const bool is_v2 = head.version == file_version_bes3;
    append_word(to, run_parameters_marker);
    append_word(to, is_v2 ? run_parameters_words_v2 : run_parameters_words_v6);
    append_word(to, number(head.run.run));
    append_word(to, head.run.events_max);
    append_word(to, head.run.recording_enabled);
    append_word(to, head.run.trigger_type);
    for (std::size_t i = 0; i < (is_v2 ? 1U : 4U); ++i) append_word(to, head.run.detector_mask[i]);
    append_word(to, head.run.beam_type);
    append_word(to, head.run.beam_energy);
}

}  // namespace

std::vector<std::string> compose_metadata(const Guid& guid, std::span<const std::string> user, const StreamTag& stream,
                                          std::string_view project, LumiBlock lumi_block, Format format) {
    std::vector<std::string> strings{"GUID=" + to_string(guid)};
    strings.insert(strings.end(), user.begin(), user.end());
    if (format == Format::opaque) strings.emplace_back("Format=opaque");
    strings.push_back("Stream=" + stream_key(stream));
    strings.push_back(fmt::format("Project={}", project));
    strings.push_back(fmt::format("LumiBlock={}", number(lumi_block)));
    return strings;
}

Result<std::vector<std::byte>> encode_file_head(const FileHead& head) {
    if (head.version != file_version_bes3 && head.version != file_version_current)
        return fail(Errc::usage, fmt::format("raw file head: version {} is not written; choose {} or {}", head.version,
                                             file_version_bes3, file_version_current));
    if (head.version == file_version_bes3 && !head.metadata.empty())
        return fail(Errc::usage, "raw file head: version 2 has no metadata strings; choose version 6 or omit them");
    if (head.metadata.size() > metadata_strings_max)
        return fail(Errc::usage, fmt::format("raw file head: {} metadata strings; at most {} are written",
                                             head.metadata.size(), metadata_strings_max));
    WEIR_TRY(check_text("an application name", head.application, name_string_size_max));
    WEIR_TRY(check_text("a file name core", head.name_core, name_string_size_max));
    for (const auto& text : head.metadata) WEIR_TRY(check_text("a metadata string", text, metadata_string_size_max));

    std::vector<std::byte> bytes;
    append_word(bytes, file_start_marker);
    append_word(bytes, file_start_words);
    append_word(bytes, head.version);
    append_word(bytes, head.file_number);
    append_word(bytes, head.opened.date_word());
    append_word(bytes, head.opened.time_word());
    append_word(bytes, head.blocks_max);
    append_word(bytes, head.size_max_mb);
    append_word(bytes, name_strings_marker);
    append_text(bytes, head.application);
    append_text(bytes, head.name_core);
    if (!head.metadata.empty()) {
        append_word(bytes, metadata_strings_marker);
        append_word(bytes, static_cast<std::uint32_t>(head.metadata.size()));
        for (const auto& text : head.metadata) append_text(bytes, text);
    }
    append_run_parameters(bytes, head);
    if (bytes.size() > file_head_size_max)
        return fail(Errc::usage,
                    fmt::format("raw file head: {} bytes; at most {} are written", bytes.size(), file_head_size_max));
    return bytes;
}

void encode_separator(std::span<std::byte, separator_size_bytes> to, const DataSeparator& separator) noexcept {
    set_word(to, 0, separator_marker);
    set_word(to, 1, separator_words);
    set_word(to, 2, separator.block_number);
    set_word(to, 3, separator.size);
}

void encode_file_end(std::span<std::byte, file_end_size_bytes> to, const FileEnd& end) noexcept {
    set_word(to, 0, file_end_marker);
    set_word(to, 1, file_end_words);
    set_word(to, 2, end.closed.date_word());
    set_word(to, 3, end.closed.time_word());
    set_word(to, 4, end.events_in_file);
    set_word(to, 5, end.mib_in_file);
    set_word(to, 6, end.events_in_sequence);
    set_word(to, 7, end.mib_in_sequence);
    set_word(to, 8, end.last_of_sequence ? 1 : 0);
    set_word(to, 9, file_end_last_marker);
}

}  // namespace weir::event
