// SPDX-License-Identifier: Apache-2.0
#include "serialize/serialize_points.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "serialize/serialize_limits.hpp"
#include "serialize/serialize_ours.hpp"

namespace weir::app {

std::size_t SerializePoint::counted() const {
    std::size_t sum = 0;
    for (const auto& visit : visits) sum += visit.counted;
    return sum;
}

std::size_t SerializePoint::taken() const {
    std::size_t sum = 0;
    for (const auto& visit : visits) sum += visit.taken;
    return sum;
}

double SerializePoint::best() const {
    double best = 0;
    for (const auto& visit : visits)
        if (visit.counted > 0 && (best == 0 || visit.best < best)) best = visit.best;
    return best;
}

Spread SerializePoint::medians() const {
    std::vector<double> medians;
    for (const auto& visit : visits)
        if (visit.counted > 0) medians.push_back(visit.median);
    return spread_of(medians);
}

const SerializePoint* find_point(const SerializePoints& points, std::string_view candidate, std::string_view subject,
                                 bool writes, unsigned threads) {
    const auto found = std::ranges::find_if(points, [&](const SerializePoint& point) {
        return point.candidate == candidate && point.subject == subject && point.writes == writes &&
               point.threads == threads && point.best() > 0;
    });
    return found == points.end() ? nullptr : &*found;
}

double scaling(const SerializePoint& one, const SerializePoint& many) {
    return many.threads * one.best() / many.best();
}

Spread scaling_of_visits(const SerializePoint& one, const SerializePoint& many) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(one.visits.size(), many.visits.size()); ++i)
        if (one.visits[i].counted > 0 && many.visits[i].counted > 0)
            ratios.push_back(many.threads * one.visits[i].median / many.visits[i].median);
    return spread_of(ratios);
}

std::vector<SerializeTarget> serialize_targets(const SerializePoints& points) {
    std::vector<SerializeTarget> targets;
    const auto ratio = [&](std::string what, const SerializePoint* over, const SerializePoint* under, double wanted,
                           bool at_least) {
        if (over != nullptr && under != nullptr)
            targets.push_back({.what = std::move(what),
                               .value = over->best() / under->best(),
                               .wanted = wanted,
                               .at_least = at_least});
    };
    for (const bool writes : {true, false}) {
        const auto* const way = writes ? "serialised" : "deserialised";
        const auto* const root = find_point(points, root_object_wise, "1000", writes);
        ratio(fmt::format("1000 {}, object-wise: times ROOT", way), root,
              find_point(points, ours_object_wise, "1000", writes), 30, true);
        ratio(fmt::format("1000 {}, object-wise, portable: times ROOT", way), root,
              find_point(points, ours_portable, "1000", writes), 10, true);
        ratio(fmt::format("1000 {}, member-wise: times memcpy's time", way),
              find_point(points, ours_member_wise, "1000", writes), find_point(points, memcpy_limit, "1000", writes),
              1.15, false);
    }
    if (const auto* const ten = find_point(points, ours_object_wise, "10", true))
        targets.push_back(
            {.what = "10 serialised, object-wise: ns", .value = ten->best() * 1e9, .wanted = 6, .at_least = false});
    for (const auto* candidate : {ours_object_wise, ours_member_wise}) {
        for (const auto* subject : {"10", "1000"}) {
            for (const bool writes : {true, false}) {
                const auto* const one = find_point(points, candidate, subject, writes);
                const auto* const two = find_point(points, candidate, subject, writes, 2);
                if (one != nullptr && two != nullptr)
                    targets.push_back({.what = fmt::format("{} {}, {}: two threads to one", subject,
                                                           writes ? "serialised" : "deserialised", candidate),
                                       .value = scaling(*one, *two),
                                       .wanted = 1.85,
                                       .at_least = true});
            }
        }
    }
    const auto* const one = find_point(points, ours_old_flag, "10", true);
    const auto* const two = find_point(points, ours_old_flag, "10", true, 2);
    if (one != nullptr && two != nullptr)
        targets.push_back({.what = "10 serialised, the old flag: two threads to one",
                           .value = scaling(*one, *two),
                           .wanted = 0.6,
                           .at_least = false});
    return targets;
}

std::vector<BenchRow> serialize_rows(const SerializePoints& points) {
    std::vector<BenchRow> rows;
    for (const auto& point : points) {
        if (point.best() <= 0) continue;
        const auto parameters = [&] {
            const auto has_word = [&](const char* word) { return point.candidate.find(word) != std::string::npos; };
            boost::json::value items(boost::json::string_view(point.subject));
            if (point.subject != "event") items = std::stoi(point.subject);
            return boost::json::object{{"candidate", point.candidate},
                                       {"items", items},
                                       {"layout", has_word("member-wise")   ? "member-wise"
                                                  : has_word("object-wise") ? "object-wise"
                                                                            : "its own"},
                                       {"direction", point.way()},
                                       {"threads", point.threads}};
        };
        auto time = point.medians();
        time.low = point.best();
        for (auto* value : {&time.median, &time.low, &time.high}) *value *= 1e9;
        auto more = parameters();
        more["bytes"] = point.bytes;
        more["batches_counted"] = point.counted();
        more["batches_taken"] = point.taken();
        rows.push_back(
            {.name = "time", .peer = !point.ours(), .parameters = std::move(more), .value = time, .unit = "ns"});
        const auto add_ratio = [&](const char* name, double best, Spread spread) {
            auto with_best = parameters();
            with_best["best"] = best;
            rows.push_back({.name = name,
                            .peer = !point.ours(),
                            .parameters = std::move(with_best),
                            .value = spread,
                            .unit = "times"});
        };
        if (point.threads > 1) {
            if (const auto* const one = find_point(points, point.candidate, point.subject, point.writes))
                add_ratio("scaling", scaling(*one, point), scaling_of_visits(*one, point));
            continue;
        }
        const auto against = [&](const char* name, const char* candidate, bool inverse) {
            const auto* const other = find_point(points, candidate, point.subject, point.writes);
            if (other == nullptr) return;
            const auto of = [inverse](double mine, double theirs) { return inverse ? theirs / mine : mine / theirs; };
            std::vector<double> ratios;
            for (std::size_t i = 0; i < std::min(point.visits.size(), other->visits.size()); ++i)
                if (point.visits[i].counted > 0 && other->visits[i].counted > 0)
                    ratios.push_back(of(point.visits[i].median, other->visits[i].median));
            add_ratio(name, of(point.best(), other->best()), spread_of(ratios));
        };
        against("time_to_memcpy", memcpy_limit, false);
        against("speed_to_root", root_object_wise, true);
    }
    for (const auto& target : serialize_targets(points)) {
        rows.push_back({.name = "target",
                        .peer = false,
                        .parameters = {{"what", target.what},
                                       {"wanted", target.wanted},
                                       {"at_least", target.at_least},
                                       {"met", target.met()}},
                        .value = {target.value, target.value, target.value, 1},
                        .unit = ""});
    }
    return rows;
}

}  // namespace weir::app
