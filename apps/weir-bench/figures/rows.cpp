// SPDX-License-Identifier: Apache-2.0
#include "figures/rows.hpp"

#include <fmt/format.h>

#include "cli/output.hpp"
#include "weir/base/bytes.hpp"

namespace weir::app {

namespace json = boost::json;

json::object to_json(const Machine& machine) {
    return {{"processor", machine.processor}, {"cores", machine.cores},
            {"threads", machine.threads},     {"memory_bytes", machine.memory_bytes},
            {"kernel", machine.kernel},       {"compiler", machine.compiler},
            {"kernels", machine.kernels}};
}

json::object bench_document(std::string_view bench, const Machine& machine, const std::vector<BenchRow>& rows,
                            json::object more) {
    json::array list;
    for (const auto& row : rows) {
        list.push_back({{"name", row.name},
                        {"peer", row.peer},
                        {"parameters", row.parameters},
                        {"value", row.value.median},
                        {"low", row.value.low},
                        {"high", row.value.high},
                        {"runs", row.value.runs},
                        {"unit", row.unit}});
    }
    json::object document{{"bench", bench}, {"machine", to_json(machine)}};
    for (auto& [key, value] : more) document[key] = std::move(value);
    document["rows"] = std::move(list);
    return document;
}

void print_machine(const Machine& machine) {
    fmt::print("{}: {} cores, {} threads, {}, Linux {}, {}\n{}\n", machine.processor, machine.cores, machine.threads,
               human(Bytes{machine.memory_bytes}), machine.kernel, machine.compiler, machine.kernels);
}

}  // namespace weir::app
