// SPDX-License-Identifier: Apache-2.0
#include "monitor_messages.hpp"

#include <bit>

namespace weir::monitor {
namespace {

class MessageBody {
public:
    template <class Kind>
    MessageBody(Kind kind, std::vector<std::byte>& to)
        : to_(to), begin_(plugin::begin_message(static_cast<std::uint32_t>(kind), to)) {}
    ~MessageBody() { plugin::end_message(begin_, to_); }
    MessageBody(const MessageBody&) = delete;
    MessageBody& operator=(const MessageBody&) = delete;

    template <std::unsigned_integral T>
    void number(T value) {
        to_.resize(to_.size() + sizeof value);
        store_little(std::span(to_), to_.size() - sizeof value, value);
    }
    void real(double value) { number(std::bit_cast<std::uint64_t>(value)); }
    void reals(std::span<const double> values) {
        to_.reserve(to_.size() + values.size_bytes());
        for (const auto value : values) real(value);
    }
    void bytes(ConstData data) { to_.insert(to_.end(), data.begin(), data.end()); }
    void text(std::string_view text) {
        number(static_cast<std::uint32_t>(text.size()));
        bytes(as_data(text));
    }

private:
    std::vector<std::byte>& to_;
    const std::size_t begin_;
};

/// Reads in a row; what is not there is 0, and asked for once at the end.
class BodyReader {
public:
    explicit BodyReader(ConstData body) : rest_(body) {}

    template <std::unsigned_integral T>
    T number() {
        const auto bytes = take(sizeof(T));
        return bytes.empty() ? T{0} : load_little<T>(bytes);
    }
    double real() { return std::bit_cast<double>(number<std::uint64_t>()); }
    std::vector<double> reals(std::size_t count) {
        if (count > rest_.size() / sizeof(double)) {
            short_ = true;
            return {};
        }
        std::vector<double> values(count);
        for (auto& value : values) value = real();
        return values;
    }
    std::string text(std::size_t most) {
        const auto size = number<std::uint32_t>();
        if (size > most) {
            short_ = true;
            return {};
        }
        return std::string(as_text(take(size)));
    }
    ConstData take(std::size_t size) {
        if (short_ || size > rest_.size()) {
            short_ = true;
            return {};
        }
        const auto taken = rest_.first(size);
        rest_ = rest_.subspan(size);
        return taken;
    }
    [[nodiscard]] ConstData rest() const noexcept { return rest_; }
    [[nodiscard]] bool good() const noexcept { return !short_; }
    [[nodiscard]] bool whole() const noexcept { return !short_ && rest_.empty(); }

private:
    ConstData rest_;
    bool short_ = false;
};

std::unexpected<Error> ends_early(const char* what) {
    return fail(Errc::truncated, std::string("the message of ") + what + " has another size than it says");
}

Result<Axis> read_axis(BodyReader& from, std::string title) {
    const auto bins = from.number<std::uint32_t>(), edges = from.number<std::uint32_t>();
    const auto low = from.real(), high = from.real();
    if (bins > HistogramLimits::cells || (edges != 0 && edges != bins + 1) || (bins == 0 && edges != 0))
        return fail(Errc::limit, "an axis has more bins than are allowed, or other edges than bins");
    auto axis = edges == 0 ? Axis(bins, low, high) : Axis(from.reals(edges));
    axis.title = std::move(title);
    return axis;
}

constexpr auto sums_in_order = {&HistogramSums::w,  &HistogramSums::w2,  &HistogramSums::wx, &HistogramSums::wx2,
                                &HistogramSums::wy, &HistogramSums::wy2, &HistogramSums::wxy};

}  // namespace

void write_event(const Event& event, std::vector<std::byte>& to) {
    MessageBody body(ToMonitor::event, to);
    body.number(number(event.global_id));
    for (const auto word :
         {number(event.run), number(event.level1_id), number(event.lumi_block), event.bunch_crossing_id,
          event.trigger_type, event.seconds, event.nanoseconds, static_cast<std::uint32_t>(event.fragments.size())})
        body.number(word);
    for (const auto& fragment : event.fragments) {
        body.number(number(fragment.source));
        body.number(fragment.status);
        for (const auto part : {fragment.bytes, fragment.data}) {
            body.number(static_cast<std::uint32_t>(part.empty() ? 0 : part.data() - event.payload.data()));
            body.number(static_cast<std::uint32_t>(part.size()));
        }
    }
    body.bytes(event.payload);
}

Result<Event> read_event(ConstData body, std::vector<Fragment>& fragments) {
    BodyReader from(body);
    Event event;
    event.global_id = GlobalEventId{from.number<std::uint64_t>()};
    event.run = RunNumber{from.number<std::uint32_t>()};
    event.level1_id = Level1Id{from.number<std::uint32_t>()};
    event.lumi_block = LumiBlock{from.number<std::uint32_t>()};
    for (auto* word : {&event.bunch_crossing_id, &event.trigger_type, &event.seconds, &event.nanoseconds})
        *word = from.number<std::uint32_t>();
    const auto count = from.number<std::uint32_t>();
    constexpr std::size_t fragment_size = 24;
    auto table = from.take(std::size_t{count} * fragment_size);
    if (!from.good()) return ends_early("an event");
    event.payload = from.rest();
    fragments.clear();
    BodyReader rows(table);
    for (std::uint32_t i = 0; i < count; ++i) {
        Fragment fragment;
        fragment.source = SourceId{rows.number<std::uint32_t>()};
        fragment.status = rows.number<std::uint32_t>();
        for (auto* part : {&fragment.bytes, &fragment.data}) {
            const auto at = rows.number<std::uint32_t>(), size = rows.number<std::uint32_t>();
            if (at > event.payload.size() || size > event.payload.size() - at)
                return fail(Errc::corrupt, "a fragment lies outside its event");
            *part = event.payload.subspan(at, size);
        }
        fragments.push_back(fragment);
    }
    event.fragments = fragments;
    return event;
}

void write_histogram(const Histogram& h, std::vector<std::byte>& to) {
    MessageBody body(FromMonitor::histogram, to);
    for (const auto* text : {&h.name, &h.title, &h.x.title, &h.y.title, &h.value_title}) body.text(*text);
    for (const auto* axis : {&h.x, &h.y}) {
        body.number(axis->bins());
        body.number(static_cast<std::uint32_t>(axis->edges().size()));
        body.real(axis->low());
        body.real(axis->high());
        body.reals(axis->edges());
    }
    body.real(h.entries);
    for (const auto sum : sums_in_order) body.real(h.sums.*sum);
    body.number(std::uint32_t{h.squares.empty() ? 0U : 1U});
    body.reals(h.contents);
    body.reals(h.squares);
}

Result<Histogram> read_histogram(ConstData bytes) {
    BodyReader from(bytes);
    Histogram h;
    h.name = from.text(HistogramLimits::name_size);
    h.title = from.text(HistogramLimits::title_size);
    auto x_title = from.text(HistogramLimits::title_size), y_title = from.text(HistogramLimits::title_size);
    h.value_title = from.text(HistogramLimits::title_size);
    h.x = WEIR_TRY(read_axis(from, std::move(x_title)));
    h.y = WEIR_TRY(read_axis(from, std::move(y_title)));
    h.entries = from.real();
    for (const auto sum : sums_in_order) h.sums.*sum = from.real();
    const auto with_squares = from.number<std::uint32_t>();
    if (!from.good()) return ends_early("a histogram");
    if (const auto* fault = fault_of(h)) return fail(Errc::corrupt, std::string("a histogram is none: ") + fault);
    h.contents = from.reals(h.cells());
    if (with_squares != 0) h.squares = from.reals(h.cells());
    if (!from.whole()) return ends_early("a histogram");
    return h;
}

void write_counters(std::span<const Counter* const> counters, std::vector<std::byte>& to) {
    MessageBody body(FromMonitor::counters, to);
    body.number(static_cast<std::uint32_t>(counters.size()));
    for (const auto* counter : counters) {
        body.text(counter->name);
        body.real(counter->value);
    }
}

Result<std::vector<Counter>> read_counters(ConstData bytes) {
    BodyReader from(bytes);
    const auto count = from.number<std::uint32_t>();
    if (count > HistogramLimits::histograms) return fail(Errc::limit, "there are more than 1000 counters");
    std::vector<Counter> counters;
    for (std::uint32_t i = 0; i < count && from.good(); ++i) {
        Counter counter;
        counter.name = from.text(HistogramLimits::name_size);
        counter.value = from.real();
        if (const auto* fault = from.good() ? fault_of_name(counter.name) : nullptr)
            return fail(Errc::corrupt, std::string("a counter is none: ") + fault);
        counters.push_back(std::move(counter));
    }
    if (!from.whole()) return ends_early("counters");
    return counters;
}

}  // namespace weir::monitor
