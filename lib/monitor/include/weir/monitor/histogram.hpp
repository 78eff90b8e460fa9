// SPDX-License-Identifier: Apache-2.0
// Histograms and counters as an author of monitors fills them. Bins, errors and statistics are kept as ROOT's TH1D and
// TH2D keep them: bin 0 is the underflow, the last one the overflow; errors come from the sums of squared weights,
// which are kept from the first weight on that is not 1; mean and rms are of the values in the range, not of the bins.
//
//     Histogram1D size("size", "size of events;bytes;events", Axis(100, 0, 20'000));
//     size.fill(9884);
//
// Header only, so that a plug-in needs no library. Of one thread.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::monitor {

/// What may be booked. A station that is sent more by its plug-in ends the plug-in's process.
struct HistogramLimits {
    static constexpr std::size_t histograms = 1000;  // of one monitor; as many counters beside them
    static constexpr std::size_t name_size = 200;    // bytes
    static constexpr std::size_t title_size = 500;   // bytes, of each title
    static constexpr std::size_t cells = 1'000'000;  // of one histogram, with under- and overflow
    static constexpr std::size_t all_cells = 2'000'000;
};

class Axis {
public:
    /// No bins: the second axis of a histogram that has one.
    Axis() = default;
    /// So many bins of the same width.
    Axis(std::uint32_t bins, double low, double high) : bins_(bins), low_(low), high_(high) {}
    /// Bins between these, which grow.
    explicit Axis(std::vector<double> edges)
        : bins_(edges.empty() ? 0 : static_cast<std::uint32_t>(edges.size() - 1)),
          low_(edges.empty() ? 0 : edges.front()),
          high_(edges.empty() ? 0 : edges.back()),
          edges_(std::move(edges)) {}

    [[nodiscard]] static Axis of_edges(std::vector<double> edges) { return Axis(std::move(edges)); }

    [[nodiscard]] std::uint32_t bins() const noexcept { return bins_; }
    [[nodiscard]] double low() const noexcept { return low_; }
    [[nodiscard]] double high() const noexcept { return high_; }
    /// Of bins of different widths, one more than bins; else none.
    [[nodiscard]] const std::vector<double>& edges() const noexcept { return edges_; }
    /// Under- and overflow too; without bins there is one place for all.
    [[nodiscard]] std::size_t cells() const noexcept { return bins_ == 0 ? 1 : std::size_t{bins_} + 2; }
    [[nodiscard]] bool inside(std::size_t cell) const noexcept { return cell > 0 && cell <= bins_; }

    /// From 0, the underflow, to bins() + 1, the overflow. What is no number is in the overflow, as in ROOT.
    [[nodiscard]] std::size_t find(double value) const noexcept {
        if (value < low_) return 0;
        if (!(value < high_)) return std::size_t{bins_} + 1;
        if (edges_.empty()) {
            const auto place = static_cast<std::size_t>(bins_ * ((value - low_) / (high_ - low_)));
            return 1 + std::min<std::size_t>(place, bins_ - 1);  // rounded up, just below high()
        }
        return static_cast<std::size_t>(std::upper_bound(edges_.begin(), edges_.end(), value) - edges_.begin());
    }

    /// Why it is none; nothing: it is good.
    [[nodiscard]] const char* fault() const noexcept {
        if (bins_ == 0) return "it has no bins";
        if (!std::isfinite(low_) || !std::isfinite(high_) || !(low_ < high_) || !std::isfinite(high_ - low_))
            return "its lower end is not below its upper end, or one of them is no number";
        if (edges_.empty()) return nullptr;
        if (edges_.size() != std::size_t{bins_} + 1 || edges_.front() != low_ || edges_.back() != high_)
            return "its edges are not one more than its bins";
        for (std::size_t i = 1; i < edges_.size(); ++i)
            if (!(edges_[i - 1] < edges_[i])) return "its edges do not grow";
        return nullptr;
    }

    bool operator==(const Axis&) const = default;

    std::string title{};

private:
    std::uint32_t bins_ = 0;
    double low_ = 0, high_ = 0;
    std::vector<double> edges_;
};

/// Of what was filled within the range of every axis, with weights w.
struct HistogramSums {
    double w = 0, w2 = 0, wx = 0, wx2 = 0;  // w, w^2, wx, wx^2
    double wy = 0, wy2 = 0, wxy = 0;        // of two axes only

    bool operator==(const HistogramSums&) const = default;
};

/// What both kinds share: also how one is sent, kept, shown and written.
class Histogram {
public:
    Histogram() = default;
    /// `titles`: "title;x title;y title", and ";z title" of two axes. As in ROOT.
    Histogram(std::string its_name, std::string_view titles, Axis x_axis, Axis y_axis = {})
        : name(std::move(its_name)), x(std::move(x_axis)), y(std::move(y_axis)) {
        const auto next = [&titles] {
            const auto end = std::min(titles.find(';'), titles.size());
            const auto one = titles.substr(0, end);
            titles.remove_prefix(std::min(titles.size(), end + 1));
            return std::string(one);
        };
        title = next();
        x.title = next();
        (y.bins() == 0 ? value_title : y.title) = next();
        if (y.bins() != 0) value_title = next();
    }

    [[nodiscard]] bool two_axes() const noexcept { return y.bins() != 0; }
    [[nodiscard]] std::size_t cells() const noexcept { return x.cells() * y.cells(); }
    /// Along x first, each axis from its underflow to its overflow.
    [[nodiscard]] std::size_t cell(std::size_t of_x, std::size_t of_y = 0) const noexcept {
        return of_x + x.cells() * of_y;
    }
    [[nodiscard]] double content(std::size_t cell) const noexcept { return contents[cell]; }
    [[nodiscard]] double error(std::size_t cell) const noexcept {
        return std::sqrt(squares.empty() ? std::abs(contents[cell]) : squares[cell]);
    }
    [[nodiscard]] double mean_x() const noexcept { return sums.w == 0 ? 0 : sums.wx / sums.w; }
    [[nodiscard]] double mean_y() const noexcept { return sums.w == 0 ? 0 : sums.wy / sums.w; }
    [[nodiscard]] double rms_x() const noexcept { return rms(sums.wx, sums.wx2); }
    [[nodiscard]] double rms_y() const noexcept { return rms(sums.wy, sums.wy2); }

    /// Of the same axes: what the other one has is added.
    void add(const Histogram& other) {
        if (squares.empty() && !other.squares.empty()) keep_squares();
        for (std::size_t i = 0; i < contents.size(); ++i) {
            contents[i] += other.contents[i];
            if (!squares.empty()) squares[i] += other.squares.empty() ? std::abs(other.contents[i]) : other.squares[i];
        }
        entries += other.entries;
        for (const auto sum : {&HistogramSums::w, &HistogramSums::w2, &HistogramSums::wx, &HistogramSums::wx2,
                               &HistogramSums::wy, &HistogramSums::wy2, &HistogramSums::wxy})
            sums.*sum += other.sums.*sum;
    }

    std::string name{}, title{};
    std::string value_title{};  // of what is counted: the second axis that is drawn, or the third
    Axis x{}, y{};
    std::vector<double> contents{};  // cells() of them, once it has axes
    std::vector<double> squares{};   // of the weights; none: each weight was 1
    double entries = 0;              // calls of fill
    HistogramSums sums{};

protected:
    void count(std::size_t cell, double weight) {
        if (weight != 1 && squares.empty()) keep_squares();
        if (!squares.empty()) squares[cell] += weight * weight;
        contents[cell] += weight;
        ++entries;
    }

private:
    [[nodiscard]] double rms(double first, double second) const noexcept {
        if (sums.w == 0) return 0;
        const auto mean = first / sums.w;
        return std::sqrt(std::abs(second / sums.w - mean * mean));
    }
    void keep_squares() {
        squares = contents;
        for (auto& square : squares) square = std::abs(square);
    }
};

class Histogram1D : public Histogram {
public:
    Histogram1D(std::string its_name, std::string_view titles, Axis x_axis)
        : Histogram(std::move(its_name), titles, std::move(x_axis)) {
        contents.resize(cells());
    }

    void fill(double value, double weight = 1) {
        const auto at = x.find(value);
        count(at, weight);
        if (!x.inside(at)) return;
        sums.w += weight;
        sums.w2 += weight * weight;
        sums.wx += weight * value;
        sums.wx2 += weight * value * value;
    }
};

class Histogram2D : public Histogram {
public:
    Histogram2D(std::string its_name, std::string_view titles, Axis x_axis, Axis y_axis)
        : Histogram(std::move(its_name), titles, std::move(x_axis), std::move(y_axis)) {
        contents.resize(cells());
    }

    void fill(double value_x, double value_y, double weight = 1) {
        const auto at_x = x.find(value_x), at_y = y.find(value_y);
        count(cell(at_x, at_y), weight);
        if (!x.inside(at_x) || !y.inside(at_y)) return;
        sums.w += weight;
        sums.w2 += weight * weight;
        sums.wx += weight * value_x;
        sums.wx2 += weight * value_x * value_x;
        sums.wy += weight * value_y;
        sums.wy2 += weight * value_y * value_y;
        sums.wxy += weight * value_x * value_y;
    }
};

struct Counter {
    std::string name{};
    double value = 0;

    void add(double much = 1) noexcept { value += much; }
};

/// Why it cannot be booked, sent or kept: its name, titles or axes; nothing: it is good.
[[nodiscard]] inline const char* fault_of_name(std::string_view name) noexcept {
    if (name.empty()) return "it has no name";
    if (name.size() > HistogramLimits::name_size) return "its name is longer than 200 bytes";
    for (const char c : name)
        if (static_cast<unsigned char>(c) < ' ' || c == 0x7f || c == '/' || c == ';')
            return "its name has a control character, a / or a ;";
    return nullptr;
}
[[nodiscard]] inline const char* fault_of(const Histogram& histogram) noexcept {
    if (const auto* fault = fault_of_name(histogram.name)) return fault;
    for (const auto* title : {&histogram.title, &histogram.value_title, &histogram.x.title, &histogram.y.title})
        if (title->size() > HistogramLimits::title_size) return "a title is longer than 500 bytes";
    if (const auto* fault = histogram.x.fault()) return fault;
    if (histogram.two_axes())
        if (const auto* fault = histogram.y.fault()) return fault;
    if (histogram.cells() > HistogramLimits::cells) return "it has more than 1000000 bins, with under- and overflow";
    return nullptr;
}

}  // namespace weir::monitor
