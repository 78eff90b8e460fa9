// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_books.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <future>

#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr auto books_deadline = 10s;
constexpr std::size_t path_max = 4096;
constexpr std::size_t book_text_max = 32U << 20;
constexpr std::size_t book_parameters_max = 10'000;
constexpr json::Limits books_limits{.size = 64_MiB, .depth = 16};

/// Text with line ends, which Fields::text() does not take.
std::string long_text(const json::value& document, const char* name, json::Fields& fields) {
    const auto* value = document.is_object() ? document.get_object().if_contains(name) : nullptr;
    if (value != nullptr && value->is_string() && value->get_string().size() <= book_text_max)
        return std::string(value->get_string());
    fields.fail_with(fmt::format("\"{}\" of the request is no text of 32 MiB or less", name));
    return {};
}

json::array array_of(const std::vector<std::string>& names) {
    json::array array;
    for (const auto& name : names) array.emplace_back(json::safe(name));
    return array;
}

std::vector<std::string> names_of(json::Fields& fields, const char* name) {
    std::vector<std::string> names;
    if (const auto* array = fields.array(name, HandOffAccount::names_max)) {
        for (const auto& value : *array)
            if (value.is_string()) names.emplace_back(value.get_string());
    }
    return names;
}

}  // namespace

Result<boost::json::value> HostBooks::ask(boost::json::object request) const {
    const auto address = address_();
    if (!address) return fail(Errc::io, fmt::format("{} is lost, and the books of the recorder there", machine_));
    request["commander"] = json_of(commander_);
    request["directory"] = json::safe(directory_);
    request["catalogue"] = json::safe(catalogue_);
    const auto promise = std::make_shared<std::promise<Result<service::ControlAnswer>>>();
    auto answered = promise->get_future();
    calls_.post(*address, "/books", json::serialize(request), books_deadline,
                [promise](Result<service::ControlAnswer> answer) { promise->set_value(std::move(answer)); });
    const auto answer = WEIR_TRY(answered.get());
    if (!answer.good()) return fail(Errc::io, fmt::format("{}: {}", *address, answer.error()));
    return json::parse(answer.body, books_limits);
}

Result<RunNumber> HostBooks::next_free_run() {
    const auto answer = WEIR_TRY(ask({{"what", "next_free_run"}}));
    json::Fields fields(answer, "the answer");
    const auto run = RunNumber{static_cast<std::uint32_t>(fields.number("run", std::nullopt, 0xffff'ffff))};
    WEIR_TRY(fields.result());
    return run;
}

Result<> HostBooks::keep(RunNumber run, const std::map<std::string, std::string>& parameters) {
    boost::json::object texts;
    for (const auto& [name, value] : parameters) texts[json::safe(name)] = json::safe(value);
    WEIR_TRY(ask({{"what", "parameters"}, {"run", number(run)}, {"parameters", std::move(texts)}}));
    return {};
}

Result<> HostBooks::keep(const catalogue::RunRecord& record) {
    WEIR_TRY(ask({{"what", "record"}, {"record", json::safe(catalogue::to_text(record))}}));
    return {};
}

Result<HandOffAccount> HostBooks::files(RunNumber run, const std::string& checksum) {
    const auto answer = WEIR_TRY(ask({{"what", "files"}, {"run", number(run)}, {"checksum", checksum}}));
    json::Fields fields(answer, "the answer");
    HandOffAccount account;
    account.closed = fields.number("closed");
    account.handed_over = fields.number("handed_over");
    account.left = fields.number("left");
    account.quarantined = fields.number("quarantined");
    account.without_sum = fields.number("without_sum");
    account.names = names_of(fields, "names");
    account.names_kept = names_of(fields, "names_kept");
    WEIR_TRY(fields.result());
    return account;
}

Result<BooksRequest> parse_books_request(std::string_view text) {
    using enum BooksRequest::What;
    const auto document = WEIR_TRY(json::parse(text, books_limits));
    json::Fields fields(document, "the request");
    BooksRequest request;
    request.commander = read_commander(document, fields);
    request.directory = fields.text("directory", std::nullopt, path_max);
    request.catalogue = fields.text("catalogue", "", path_max);
    const auto what = fields.text("what");
    const auto run = [&] {
        return RunNumber{static_cast<std::uint32_t>(fields.number("run", std::nullopt, 0xffff'ffff))};
    };
    if (what == "next_free_run") {
        request.what = next_free_run;
    } else if (what == "parameters") {
        request.what = parameters;
        request.run = run();
        if (const auto* object = fields.object("parameters");
            object != nullptr && object->size() <= book_parameters_max) {
            for (const auto& [name, value] : *object) {
                if (value.is_string()) request.parameters[std::string(name)] = std::string(value.get_string());
                else fields.fail_with("a parameter of the request is no text");
            }
        } else {
            fields.fail_with("\"parameters\" of the request is no object of 10,000 texts or less");
        }
    } else if (what == "record") {
        request.what = record;
        request.record = long_text(document, "record", fields);
    } else if (what == "files") {
        request.what = files;
        request.run = run();
        request.checksum = fields.text("checksum");
    } else {
        fields.fail_with("\"what\" of the request is not known");
    }
    WEIR_TRY(fields.result());
    return request;
}

Result<std::string> answer_of_books(const BooksRequest& request) {
    using enum BooksRequest::What;
    std::error_code failed;
    const auto directory = std::filesystem::absolute(request.directory, failed);
    if (failed || request.directory.empty())
        return fail(Errc::usage, fmt::format("\"{}\" is no directory here", request.directory));
    LocalBooks books(directory, request.catalogue);
    json::object answer;
    switch (request.what) {
        case next_free_run: answer["run"] = number(WEIR_TRY(books.next_free_run())); break;
        case parameters: {
            WEIR_TRY(books.keep(request.run, request.parameters));
            break;
        }
        case record: {
            const auto parsed = WEIR_TRY(catalogue::parse_run_record(request.record));
            WEIR_TRY(books.keep(parsed));
            break;
        }
        case files: {
            const auto account = WEIR_TRY(books.files(request.run, request.checksum));
            answer = {{"closed", account.closed},
                      {"handed_over", account.handed_over},
                      {"left", account.left},
                      {"quarantined", account.quarantined},
                      {"without_sum", account.without_sum},
                      {"names", array_of(account.names)},
                      {"names_kept", array_of(account.names_kept)}};
            break;
        }
    }
    return json::serialize(answer);
}

}  // namespace weir::control
