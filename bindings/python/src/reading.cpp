// SPDX-License-Identifier: Apache-2.0
// Raw files as weir/reading.py needs them: where events and fragments lie in bytes that Python has mapped, so that its
// arrays are views of the file. Every offset that is given out was checked against the end of the bytes.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bind.hpp"
#include "buffer.hpp"
#include "weir/event/check.hpp"
#include "weir/event/compression.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/raw_file.hpp"
#include "weir/event/rob_cursor.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

constexpr Bytes uncompressed_max{1ULL << 30};

/// ReadError of Python.
class ReadFailure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

nb::bytes bytes_of(std::span<const std::uint64_t> numbers) { return nb::bytes(numbers.data(), numbers.size_bytes()); }

nb::object text_of(std::string_view text) {  // of a file: any bytes
    return nb::steal(PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape"));
}

event::Format format_of(std::string_view name) {
    const auto format = event::parse_format(name);
    if (!format) throw nb::value_error("the format of events is opaque, event-5.0 or event-3.0");
    return *format;
}

/// (version, file number, run, format, {key: value}) of the first records of a file.
nb::tuple head(nb::handle object) {
    const Buffer buffer(object);
    const auto parsed = event::parse_file_head(buffer.data());
    if (!parsed) throw ReadFailure(parsed.error().message());
    const auto& head = parsed->head;
    nb::dict metadata;
    for (const std::string_view each : head.metadata) {
        const auto at = each.find('=');
        metadata[text_of(each.substr(0, at))] =
            text_of(at == std::string_view::npos ? std::string_view{} : each.substr(at + 1));
    }
    return nb::make_tuple(head.version, head.file_number, number(head.run.run), event::name(head.format()), metadata);
}

struct Walk {
    std::vector<std::uint64_t> places;  // of each event: where it begins, its size, its block number
    std::optional<std::uint64_t> events_stated;
    std::string fault;  // what ended the walk before the end of the file
};

Walk walk_of(ConstData file) {
    Walk walk;
    const auto head = event::parse_file_head(file);
    if (!head) {
        walk.fault = head.error().message();
        return walk;
    }
    for (std::uint64_t at = head->size; at < file.size();) {
        const auto rest = file.subspan(at);
        const auto where = [&] {
            return "event " + std::to_string(walk.places.size() / 3 + 1) + ", offset " + std::to_string(at) + ": ";
        };
        const auto kind = event::record_kind(rest);
        if (kind == event::RecordKind::file_end) {
            const auto end = event::parse_file_end(rest, at);
            if (!end) walk.fault = end.error().message();
            else if (rest.size() != event::file_end_size_bytes)
                walk.fault = std::to_string(rest.size() - event::file_end_size_bytes) +
                             " bytes behind the file end at offset " + std::to_string(at);
            else walk.events_stated = end->events_in_file;
            return walk;
        }
        if (kind == event::RecordKind::unknown) {
            walk.fault = where() + "no data separator and no file end";
            return walk;
        }
        const auto separator = event::parse_separator(rest, at);
        if (!separator) {
            walk.fault = where() + separator.error().message();
            return walk;
        }
        const auto left = rest.size() - event::separator_size_bytes;
        if (separator->size > left) {
            walk.fault = where() + "the event of " + std::to_string(separator->size) + " bytes is cut off after " +
                         std::to_string(left);
            return walk;
        }
        at += event::separator_size_bytes;
        walk.places.insert(walk.places.end(), {at, separator->size, separator->block_number});
        at += separator->size;
    }
    return walk;
}

/// (places, events stated or None, fault)
nb::tuple walk(nb::handle object) {
    const Buffer buffer(object);
    const auto walk = [&] {
        const nb::gil_scoped_release release;
        return walk_of(buffer.data());
    }();
    return nb::make_tuple(bytes_of(walk.places), walk.events_stated, walk.fault);
}

event::EventView view_of(ConstData data, event::Format format) {
    auto view = event::EventView::parse(data, format);
    if (!view) throw ReadFailure(view.error().message());
    return *view;
}

/// The header of an event, (offset in bytes, words) for its lists of words, and whether it is compressed.
nb::tuple event_header(nb::handle object, std::string_view format) {
    const Buffer buffer(object);
    const auto view = view_of(buffer.data(), format_of(format));
    const auto tags = view.stream_tags();
    if (!tags) throw ReadFailure(tags.error().message());
    nb::list streams;
    for (const auto& tag : *tags) streams.append(text_of(stream_key(tag)));
    const auto place = [&](ConstData words) {
        return nb::make_tuple(words.empty() ? 0 : words.data() - buffer.data().data(), words.size() / 4);
    };
    const auto& ids = view.ids();
    return nb::make_tuple(number(ids.run), number(ids.global_id), number(ids.level1_id), number(ids.lumi_block),
                          1'000'000'000LL * ids.time.seconds + ids.time.nanoseconds, view.bunch_crossing_id(),
                          view.trigger_type(), view.status(), streams, place(view.level1_words()),
                          place(view.level2_words()), place(view.filter_words()),
                          view.compression() != event::Compression::none);
}

nb::bytes uncompressed(nb::handle object, std::string_view format) {
    const Buffer buffer(object);
    const auto view = view_of(buffer.data(), format_of(format));
    const auto whole = [&] {
        const nb::gil_scoped_release release;
        return event::decompress_event(view, uncompressed_max);
    }();
    if (!whole) throw ReadFailure(whole.error().message());
    return nb::bytes(whole->data(), whole->size());
}

constexpr std::size_t rob_columns = 9;

/// Appends, for each ROB: source; its offset and size in bytes; its status; offset and words of the ROD's data; offset
/// and words of the ROD's status; the ROD's level-1 id, above 32 bits: there is no ROD.
Result<> append_robs(const event::EventView& view, std::vector<std::uint64_t>& to) {
    const auto* const begin = view.bytes().data();
    const auto offset = [begin](ConstData part) {
        return part.empty() ? std::uint64_t{0} : static_cast<std::uint64_t>(part.data() - begin);
    };
    return event::for_each_rob(view, [&](const event::FragmentView& rob) {
        std::array<std::uint64_t, rob_columns> row{
            number(rob.source()), offset(rob.bytes()), rob.bytes().size(), rob.status(), 0, 0, 0, 0, 1ULL << 32};
        if (const auto rod = event::RodView::parse(rob.payload(), rob.payload_offset())) {
            row[4] = offset(rod->data());
            row[5] = rod->data().size() / 4;
            row[6] = offset(rod->status_words());
            row[7] = rod->status_words().size() / 4;
            row[8] = number(rod->level1_id());
        }
        to.insert(to.end(), row.begin(), row.end());
    });
}

nb::bytes robs(nb::handle object, std::string_view format) {
    const Buffer buffer(object);
    const auto view = view_of(buffer.data(), format_of(format));
    std::vector<std::uint64_t> rows;
    if (const auto read = append_robs(view, rows); !read) throw ReadFailure(read.error().message());
    return bytes_of(rows);
}

/// {what: how many} of an event that contradicts itself nowhere.
std::map<std::string, std::uint64_t> check(nb::handle object, std::string_view format_name) {
    const Buffer buffer(object);
    const auto format = format_of(format_name);
    const auto report = [&] {
        const nb::gil_scoped_release release;
        return event::check_event(buffer.data(), format, event::Depth::fragments);
    }();
    if (!report) throw ReadFailure(report.error().message());
    return {{"robs", report->robs},
            {"robs_without_data", report->robs_without_data},
            {"level1_mismatches", report->level1_mismatches},
            {"run_mismatches", report->run_mismatches},
            {"source_mismatches", report->source_mismatches},
            {"checksums_verified", report->checksums_verified},
            {"checksums_unverified", report->checksums_unverified}};
}

}  // namespace

void bind_reading(nb::module_& module) {
    nb::exception<ReadFailure>(module, "ReadError", PyExc_ValueError).attr("__doc__") =
        "What was read is no raw file, or is damaged; the text has the place and the reason.";
    module.def("_head", &head, nb::arg("file"));
    module.def("_walk", &walk, nb::arg("file"));
    module.def("_event_header", &event_header, nb::arg("event"), nb::arg("format"));
    module.def("_uncompressed", &uncompressed, nb::arg("event"), nb::arg("format"));
    module.def("_robs", &robs, nb::arg("event"), nb::arg("format"));
    module.def("_check", &check, nb::arg("event"), nb::arg("format"));
}

}  // namespace weir::python
