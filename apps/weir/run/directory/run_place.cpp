// SPDX-License-Identifier: Apache-2.0
#include "run/directory/run_place.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "weir/base/file.hpp"
#include "weir/json/parse.hpp"

namespace weir::app {
namespace {

constexpr const char* file_name = "run-control.json";

}  // namespace

Result<RunPlace> RunPlace::announce(const std::filesystem::path& directory, const std::string& address,
                                    const std::string& partition, const transport::TlsFiles& tls, const More& more) {
    boost::json::object document{
        {"control", address}, {"pid", ::getpid()}, {"partition", json::safe(partition)}, {"wait", more.wait}};
    if (!more.join.empty()) document["join"] = more.join;
    if (tls.any()) {
        for (const auto& [key, path] : {std::pair("tls_certificate", &tls.certificate), std::pair("tls_key", &tls.key),
                                        std::pair("tls_ca", &tls.authority)})
            document[key] = json::safe(std::filesystem::absolute(*path).native());
    }
    const auto text = boost::json::serialize(document) + "\n";
    auto path = directory / file_name;
    WEIR_TRY(replace_text(path, text, Synced::no));
    return RunPlace(std::move(path));
}

RunPlace::~RunPlace() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

Result<RunPlace::Found> RunPlace::find(const std::filesystem::path& directory) {
    const auto path = directory / file_name;
    const auto text = read_text(path, 64_KiB);
    if (!text) {
        return fail(
            Errc::refused,
            fmt::format("no run control works in {}: there is no {}; begin with weir run PARTITION.toml --dir {}",
                        directory.native(), file_name, directory.native()));
    }
    const auto document = WEIR_TRY(json::parse(*text));
    json::Fields fields(document, path.native());
    Found found{fields.text("control"),
                fields.flag("wait", false),
                {fields.text("tls_certificate", ""), fields.text("tls_key", ""), fields.text("tls_ca", "")}};
    WEIR_TRY(fields.result());
    return found;
}

}  // namespace weir::app
