// SPDX-License-Identifier: Apache-2.0
#include "histogram_json.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

namespace weir::monitor {
namespace {

constexpr int format_version = 1;
constexpr double whole_most = 9'007'199'254'740'992;  // 2^53: whole numbers below it are exact
constexpr Bytes saved_size_max{128U << 20};

json::value real(double value) {
    if (!std::isfinite(value)) return nullptr;
    if (value == std::floor(value) && std::abs(value) < whole_most) return static_cast<std::int64_t>(value);  // shorter
    return value;
}
json::array reals(const std::vector<double>& values) {
    json::array all;
    all.reserve(values.size());
    for (const auto value : values) all.push_back(real(value));
    return all;
}

json::object axis_of(const Axis& axis) {
    json::object object{{"title", json::safe(axis.title)},
                        {"bins", axis.bins()},
                        {"low", real(axis.low())},
                        {"high", real(axis.high())}};
    if (!axis.edges().empty()) object["edges"] = reals(axis.edges());
    return object;
}

/// Named as in ROOT's TH1, without the prefix fTsum.
constexpr std::pair<const char*, double HistogramSums::*> named_sums[]{
    {"w", &HistogramSums::w},   {"w2", &HistogramSums::w2},   {"wx", &HistogramSums::wx},  {"wx2", &HistogramSums::wx2},
    {"wy", &HistogramSums::wy}, {"wy2", &HistogramSums::wy2}, {"wxy", &HistogramSums::wxy}};

std::vector<double> read_reals(json::Fields& fields, std::string_view name, std::size_t most) {
    std::vector<double> values;
    const auto* array = fields.array(name, most);
    if (array == nullptr) return values;
    values.reserve(array->size());
    for (const auto& value : *array) {
        if (const auto* whole = value.if_int64()) {
            values.push_back(static_cast<double>(*whole));
        } else if (const auto* number = value.if_double()) {
            values.push_back(*number);
        } else if (value.is_null()) {
            values.push_back(std::nan(""));
        } else {
            fields.fail_with(fmt::format("\"{}\" has something that is no number", name));
            return {};
        }
    }
    return values;
}

Axis axis_from(json::Fields& of_histogram, const json::value& histogram, std::string_view name) {
    if (of_histogram.object(name) == nullptr) return {};
    json::Fields fields(histogram.as_object().at(name), fmt::format("the axis {}", name));
    auto title = fields.text("title", "", HistogramLimits::title_size);
    const auto bins = static_cast<std::uint32_t>(fields.number("bins", std::nullopt, HistogramLimits::cells));
    const auto low = fields.real("low"), high = fields.real("high");
    auto edges = read_reals(fields, "edges", HistogramLimits::cells);
    if (const auto good = fields.result(); !good) of_histogram.fail_with(good.error().context);
    auto axis = edges.empty() ? Axis(bins, low, high) : Axis(std::move(edges));
    axis.title = std::move(title);
    return axis;
}

Result<Histogram> read_one(const json::value& value, std::size_t index) {
    json::Fields fields(value, fmt::format("histograms[{}]", index));
    Histogram h;
    h.name = fields.text("name", std::nullopt, HistogramLimits::name_size);
    h.title = fields.text("title", "", HistogramLimits::title_size);
    h.value_title = fields.text("value_title", "", HistogramLimits::title_size);
    h.x = axis_from(fields, value, "x");
    h.y = axis_from(fields, value, "y");
    h.entries = fields.real("entries");
    h.contents = read_reals(fields, "contents", HistogramLimits::cells);
    h.squares = read_reals(fields, "squares", HistogramLimits::cells);
    if (fields.object("sums") != nullptr) {
        json::Fields of_sums(value.as_object().at("sums"), "its sums");
        for (const auto& [name, sum] : named_sums) h.sums.*sum = of_sums.real(name, 0.0);
    }
    WEIR_TRY(fields.result());
    const auto* fault = fault_of(h);
    if (fault == nullptr && h.contents.size() != h.cells()) fault = "it has another number of bins than its axes";
    if (fault == nullptr && !h.squares.empty() && h.squares.size() != h.cells())
        fault = "it has another number of squares than its axes";
    if (fault != nullptr) return fail(Errc::usage, fmt::format("histograms[{}]: {}", index, fault));
    return h;
}

}  // namespace

json::object summary_of(const Histogram& h) {
    json::object object{{"name", json::safe(h.name)}, {"title", json::safe(h.title)}, {"axes", h.two_axes() ? 2 : 1},
                        {"entries", real(h.entries)}, {"mean_x", real(h.mean_x())},   {"rms_x", real(h.rms_x())}};
    if (h.two_axes()) {
        object["mean_y"] = real(h.mean_y());
        object["rms_y"] = real(h.rms_y());
    }
    return object;
}

json::object to_json(const Histogram& h) {
    auto object = summary_of(h);
    object["value_title"] = json::safe(h.value_title);
    object["x"] = axis_of(h.x);
    if (h.two_axes()) object["y"] = axis_of(h.y);
    json::object sums;
    for (const auto& [name, sum] : named_sums) sums[name] = real(h.sums.*sum);
    object["sums"] = std::move(sums);
    object["contents"] = reals(h.contents);
    if (!h.squares.empty()) object["squares"] = reals(h.squares);
    return object;
}

json::array to_json(const std::vector<Counter>& counters) {
    json::array all;
    for (const auto& counter : counters)
        all.push_back(json::object{{"name", json::safe(counter.name)}, {"value", real(counter.value)}});
    return all;
}

std::string saved_document(const SavedWith& with, const KeptHistograms::Picture& picture) {
    json::array histograms;
    for (const auto& histogram : picture.histograms) histograms.push_back(to_json(*histogram));
    return json::serialize(json::object{{"version", format_version},
                                        {"monitor", json::safe(with.monitor)},
                                        {"run", number(with.run)},
                                        {"events", with.events},
                                        {"histograms", std::move(histograms)},
                                        {"counters", to_json(picture.counters)}}) +
           "\n";
}

Result<SavedHistograms> read_saved_histograms(std::string_view text) {
    const auto document = WEIR_TRY(json::parse(text, {.size = saved_size_max}));
    json::Fields fields(document, "the file");
    SavedHistograms saved;
    if (fields.number("version") != format_version) fields.fail_with("its version is another one than 1");
    saved.run = RunNumber{static_cast<std::uint32_t>(fields.number("run", std::nullopt, UINT32_MAX))};
    const auto* histograms = fields.array("histograms", HistogramLimits::histograms);
    WEIR_TRY(fields.result());
    std::size_t cells = 0;
    for (std::size_t i = 0; histograms != nullptr && i < histograms->size(); ++i) {
        auto histogram = WEIR_TRY(read_one((*histograms)[i], i));
        cells += histogram.cells();
        if (cells > HistogramLimits::all_cells) return fail(Errc::usage, "more than 2000000 bins together");
        auto name = histogram.name;
        saved.histograms.emplace(std::move(name), std::move(histogram));
    }
    return saved;
}

}  // namespace weir::monitor
