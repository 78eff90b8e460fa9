// SPDX-License-Identifier: Apache-2.0
// Metrics in the form that Prometheus reads. What the data path touches is one relaxed atomic, alone on
// its cache line; everything else happens when metrics are read. Values that a part keeps anyway are not
// kept twice: it hands in a function that reports them at that moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "weir/base/duration_histogram.hpp"

namespace weir::service {

/// Only grows. Any thread; the order against other memory does not matter, so all access is relaxed.
class alignas(64) Counter {
public:
    void add(std::uint64_t n = 1) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t value() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

/// Label names are ours and must be valid; values may be any bytes (what is not UTF-8 is replaced).
using Labels = std::map<std::string, std::string>;

/// Takes the values of a collect function, during one scrape.
class MetricSink {
public:
    virtual ~MetricSink() = default;
    virtual void counter(std::string_view name, std::string_view help, const Labels& labels, double value) = 0;
    virtual void gauge(std::string_view name, std::string_view help, const Labels& labels, double value) = 0;
    /// In seconds: `weir_<what>_duration_seconds`.
    virtual void histogram(std::string_view name, std::string_view help, const Labels& labels,
                           const Durations& durations) = 0;
};

class Metrics {
    struct State;

public:
    /// How many sets of labels one name may have; further ones share a set with the values "_other".
    explicit Metrics(std::size_t label_sets_max = 100);
    ~Metrics();
    Metrics(const Metrics&) = delete;
    Metrics& operator=(const Metrics&) = delete;

    /// Found or made; lives as long as the Metrics. Names are `weir_<what>_<unit>_total`. It locks: not for the data
    /// path.
    Counter& counter(const std::string& name, const std::string& help, const Labels& labels = {});

    /// While it lives, the function is called at each scrape. Its end waits for a scrape that runs.
    class [[nodiscard]] Collection {
    public:
        Collection() = default;
        Collection(Collection&& other) noexcept;
        Collection& operator=(Collection&& other) noexcept;
        ~Collection();

    private:
        friend class Metrics;
        Collection(std::shared_ptr<State> state, std::uint64_t id) : state_(std::move(state)), id_(id) {}
        std::shared_ptr<State> state_;  // shared with the Metrics, which may be gone first
        std::uint64_t id_ = 0;
    };

    /// The function must not call this Metrics, and not block.
    Collection collect(std::function<void(MetricSink&)> report);

    /// Everything, and weir_build_info, in Prometheus's text format 0.0.4.
    [[nodiscard]] std::string text() const;

private:
    std::shared_ptr<State> state_;
};

}  // namespace weir::service
