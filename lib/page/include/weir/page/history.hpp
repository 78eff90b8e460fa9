// SPDX-License-Identifier: Apache-2.0
// How numbers went over time, in bounded memory: each series has a ring of the last hour, a value a second, and one of
// the last 24 hours, means of ten seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/base/clock.hpp"

namespace weir::page {

struct HistoryLimits {
    std::size_t fine = 3600;       // values a second apart
    std::size_t coarse = 8640;     // values ten seconds apart
    std::size_t series_max = 256;  // further names are left out, and counted
};

/// Any thread.
class History {
public:
    explicit History(const Clock& clock, HistoryLimits limits = {});

    /// The values of this second; of a series that has none now, and of seconds for which this was not called, there is
    /// a gap. Called again in the same second it replaces them.
    void add(std::span<const std::pair<std::string_view, double>> values);

    /// {"step":1,"end":1790000033,"series":{"recorded":[null,497.5,...]}}: the values of the last `span`, the newest
    /// last, from the fine rings if they reach so far back. `end`: the second of the newest, since 1970. No names: all
    /// series. Unknown names are absent.
    [[nodiscard]] std::string to_json(std::chrono::seconds span, std::span<const std::string> names) const;

    [[nodiscard]] std::size_t series() const;
    [[nodiscard]] std::uint64_t left_out() const;
    /// What all rings take. At most series_max * (fine + coarse) * sizeof(float).
    [[nodiscard]] std::size_t bytes() const;

private:
    struct Series {
        std::vector<float> fine, coarse;  // rings by second, and by ten of them; NaN: a gap
        double sum = 0;                   // of the ten seconds that go on
        std::uint32_t count = 0;
    };
    void open_second(std::int64_t second);

    const Clock& clock_;
    const HistoryLimits limits_;
    const SteadyTime begin_;
    mutable std::mutex mutex_;
    std::int64_t second_ = -1;  // the newest, since begin_
    std::map<std::string, Series, std::less<>> series_;
    std::uint64_t left_out_ = 0;
};

/// Of a query as "seconds=600&series=a,b%20c": what is not there or is not understood is left as it is.
struct HistoryQuery {
    std::chrono::seconds span{600};
    std::vector<std::string> names{};  // 64 at most
};
[[nodiscard]] HistoryQuery parse_history_query(std::string_view query);

/// "a%20b" -> "a b".
[[nodiscard]] std::string unescaped(std::string_view text);
/// The value of a key in "a=1&b=2", unescaped; empty: it has none.
[[nodiscard]] std::string query_value(std::string_view query, std::string_view key);

}  // namespace weir::page
