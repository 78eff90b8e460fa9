// SPDX-License-Identifier: Apache-2.0
// prometheus-cpp writes the text format; the values are our own, because its counters are compare-and-
// swap loops on doubles, and a counter of ours must not cost more than one addition.
#include "weir/service/metrics.hpp"

#include <prometheus/check_names.h>
#include <prometheus/text_serializer.h>

#include <functional>
#include <limits>
#include <mutex>
#include <sstream>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/utf8.hpp"

namespace weir::service {
namespace {

using prometheus::MetricType;

Labels overflow_of(Labels labels) {
    for (auto& [label, value] : labels) value = "_other";
    return labels;
}

void check_names(const std::string& name, const Labels& labels) {
    WEIR_ASSERT(prometheus::CheckMetricName(name));
    for (const auto& [label, value] : labels) WEIR_ASSERT(prometheus::CheckLabelName(label));
}

std::vector<prometheus::ClientMetric::Label> written(const Labels& labels) {
    std::vector<prometheus::ClientMetric::Label> list;
    for (const auto& [label, value] : labels) list.push_back({label, valid_utf8(value)});
    return list;
}

/// What one scrape has of one name.
struct Gathered {
    MetricType type = MetricType::Untyped;
    std::string help;
    std::map<Labels, double> values{};
    std::map<Labels, Durations> durations{};
};

using Gathering = std::map<std::string, Gathered, std::less<>>;

Gathered& gathered(Gathering& all, std::string_view name, std::string_view help, MetricType type) {
    auto found = all.find(name);
    if (found == all.end()) found = all.emplace(std::string(name), Gathered{type, std::string(help)}).first;
    WEIR_ASSERT(found->second.type == type);
    return found->second;
}

class GatheringSink final : public MetricSink {
public:
    GatheringSink(Gathering& all, std::size_t label_sets_max) : all_(all), label_sets_max_(label_sets_max) {}

    void counter(std::string_view name, std::string_view help, const Labels& labels, double value) override {
        add(name, help, labels, value, MetricType::Counter);
    }
    void gauge(std::string_view name, std::string_view help, const Labels& labels, double value) override {
        add(name, help, labels, value, MetricType::Gauge);
    }

    void histogram(std::string_view name, std::string_view help, const Labels& labels,
                   const Durations& durations) override {
        check_names(std::string(name), labels);
        member(gathered(all_, name, help, MetricType::Histogram).durations, labels) += durations;
    }

private:
    void add(std::string_view name, std::string_view help, const Labels& labels, double value, MetricType type) {
        check_names(std::string(name), labels);
        member(gathered(all_, name, help, type).values, labels) += value;
    }

    /// Parts that report the same labels are summed.
    template <class Value>
    Value& member(std::map<Labels, Value>& values, const Labels& labels) {
        const bool room = values.size() < label_sets_max_ || values.contains(labels);
        return values[room ? labels : overflow_of(labels)];
    }

    Gathering& all_;
    const std::size_t label_sets_max_;
};

void write_bins(const Durations& durations, prometheus::ClientMetric::Histogram& to) {
    to.sample_sum = durations.sum_s;
    for (std::size_t i = 0; i < durations.counts.size(); ++i) {
        to.sample_count += durations.counts[i];
        const bool open = i == duration_bounds_s.size();
        to.bucket.push_back(
            {to.sample_count, open ? std::numeric_limits<double>::infinity() : duration_bounds_s.at(i)});
    }
}

}  // namespace

struct Metrics::State {
    struct Family {
        std::string help;
        std::map<Labels, std::unique_ptr<Counter>> members;
    };

    Counter& find_or_make(const std::string& name, const std::string& help, const Labels& labels) {
        check_names(name, labels);
        const std::lock_guard lock(mutex);
        auto& family = counters[name];
        if (family.help.empty()) family.help = help;
        const bool room = family.members.size() < label_sets_max || family.members.contains(labels);
        auto& member = family.members[room ? labels : overflow_of(labels)];
        if (member == nullptr) member = std::make_unique<Counter>();
        return *member;
    }

    explicit State(std::size_t limit) : label_sets_max(limit) {}

    const std::size_t label_sets_max;
    std::mutex mutex;  // guards all below; held through a scrape
    std::map<std::string, Family> counters;
    std::map<std::uint64_t, std::function<void(MetricSink&)>> collections;
    std::uint64_t next_id = 1;
};

Metrics::Metrics(std::size_t label_sets_max) : state_(std::make_shared<State>(label_sets_max)) {}
Metrics::~Metrics() = default;

Counter& Metrics::counter(const std::string& name, const std::string& help, const Labels& labels) {
    return state_->find_or_make(name, help, labels);
}

Metrics::Collection Metrics::collect(std::function<void(MetricSink&)> report) {
    const std::lock_guard lock(state_->mutex);
    const auto id = state_->next_id++;
    state_->collections.emplace(id, std::move(report));
    return Collection(state_, id);
}

Metrics::Collection::Collection(Collection&& other) noexcept
    : state_(std::exchange(other.state_, nullptr)), id_(std::exchange(other.id_, 0)) {}

Metrics::Collection& Metrics::Collection::operator=(Collection&& other) noexcept {
    std::swap(state_, other.state_);
    std::swap(id_, other.id_);
    return *this;
}

Metrics::Collection::~Collection() {
    if (state_ == nullptr) return;
    const std::lock_guard lock(state_->mutex);
    state_->collections.erase(id_);
}

std::string Metrics::text() const {
    Gathering all;
    {
        const std::lock_guard lock(state_->mutex);
        for (const auto& [name, family] : state_->counters) {
            auto& values = gathered(all, name, family.help, MetricType::Counter).values;
            for (const auto& [labels, counter] : family.members) values[labels] = static_cast<double>(counter->value());
        }
        GatheringSink sink(all, state_->label_sets_max);
        sink.gauge("weir_build_info", "the program: 1, with its version", {{"version", WEIR_VERSION}}, 1);
        for (const auto& [id, report] : state_->collections) report(sink);
    }
    std::vector<prometheus::MetricFamily> families;
    for (auto& [name, one] : all) {
        prometheus::MetricFamily family{name, one.help, one.type, {}};
        for (const auto& [labels, value] : one.values) {
            prometheus::ClientMetric metric;
            metric.label = written(labels);
            (one.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
            family.metric.push_back(std::move(metric));
        }
        for (const auto& [labels, durations] : one.durations) {
            prometheus::ClientMetric metric;
            metric.label = written(labels);
            write_bins(durations, metric.histogram);
            family.metric.push_back(std::move(metric));
        }
        families.push_back(std::move(family));
    }
    std::ostringstream out;
    prometheus::TextSerializer{}.Serialize(out, families);
    return std::move(out).str();
}

}  // namespace weir::service
