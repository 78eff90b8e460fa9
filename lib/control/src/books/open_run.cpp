// SPDX-License-Identifier: Apache-2.0
#include "weir/control/open_run.hpp"

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <span>
#include <system_error>

#include "weir/base/file.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr Bytes size_max = 1_MiB;
constexpr std::size_t text_max = 4096;

}  // namespace

Result<> OpenRun::note(RunNumber run, const std::map<std::string, std::string>& parameters) const {
    json::object texts;
    for (const auto& [name, value] : parameters) texts[json::safe(name)] = json::safe(value);
    const auto text = json::serialize(json::object{{"run", number(run)}, {"parameters", std::move(texts)}}) + "\n";
    return replace_text(file_, text, Synced::no);
}

void OpenRun::over() const noexcept {
    std::error_code absent;
    std::filesystem::remove(file_, absent);
}

Result<std::optional<OpenRun::Left>> OpenRun::left() const {
    std::error_code unknown;
    if (!std::filesystem::exists(file_, unknown)) return std::nullopt;
    const auto text = WEIR_TRY(read_text(file_, size_max));
    const auto document = WEIR_TRY(json::parse(text, {.size = size_max, .depth = 4}));
    json::Fields fields(document, file_.native());
    Left left;
    left.run = RunNumber{
        static_cast<std::uint32_t>(fields.number("run", std::nullopt, std::numeric_limits<std::uint32_t>::max()))};
    if (const auto* parameters = fields.object("parameters")) {
        json::Fields values(document.get_object().at("parameters"), "parameters of " + file_.native());
        for (const auto& [name, value] : *parameters)
            left.parameters[std::string(name)] = values.text(name, std::nullopt, text_max);
        WEIR_TRY(values.result());
    }
    WEIR_TRY(fields.result());
    return left;
}

}  // namespace weir::control
