// SPDX-License-Identifier: Apache-2.0
#include "weir/control/files_route.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <stdlib.h>

#include <atomic>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// A directory of a recorder with a catalogue, and the control port that it answers at.
class FilesRouteTest : public testing::Test {
protected:
    struct Recorder {
        Recorder(const std::filesystem::path& directory, const Clock& clock)
            : books(catalogue::open_own_catalogue(directory, "").value()),
              files({.here = {.catalogues = {catalogue::catalogue_path(directory)}}}, clock),
              server(service::HttpServer::start({}, {files.route()}).value()) {}

        void closed(std::uint32_t run, const std::string& name, std::uint64_t bytes) {
            EXPECT_TRUE(books->open_run(
                {.run = RunNumber{run}, .recorder = "rec", .mode = "receipt", .relaxations = "", .at = {}}));
            catalogue::FileRow file;
            file.guid = Guid::random();
            file.volume = "/data";
            file.name = name;
            file.run = RunNumber{run};
            file.recorder = "rec";
            file.stream_type = "physics";
            file.stream_name = "Main";
            file.format = "raw-6";
            EXPECT_TRUE(books->file_opened(file));
            catalogue::FileClose close;
            close.guid = file.guid;
            close.volume = file.volume;
            close.name = name;
            close.events = 10;
            close.bytes = bytes;
            EXPECT_TRUE(books->file_closed(close));
        }
        std::unique_ptr<catalogue::Catalogue> books;
        FilesRoute files;
        service::HttpServer server;
    };

    FilesRouteTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-files-route-XXXXXX").native();
        directory = ::mkdtemp(pattern.data());
    }
    ~FilesRouteTest() override { std::filesystem::remove_all(directory); }

    std::unique_ptr<Recorder> recorder(const std::string& name) {
        std::filesystem::create_directories(directory / name);
        return std::make_unique<Recorder>(directory / name, clock);
    }
    static json::value get(const service::HttpServer& server, const std::string& path) {
        const auto answer = service::ControlClient(server.address()).get(path, 60s);
        EXPECT_TRUE(answer && answer->good()) << (answer ? answer->body : answer.error().message());
        return json::parse(answer ? answer->body : "").value_or(json::value());
    }

    ManualClock clock;
    std::filesystem::path directory;
};

TEST_F(FilesRouteTest, RunControlShowsTheFilesOfRecordersThatItAsks) {
    const auto one = recorder("one"), two = recorder("two");
    one->closed(4, "old", 1);
    one->closed(5, "a", 1000);
    two->closed(5, "b", 500);
    FilesRoute files({.recorders =
                          [&] {
                              return std::vector<RecorderPlace>{{"rec-1", "h1", one->server.address()},
                                                                {"rec-2", "h2", two->server.address()},
                                                                {"rec-3", "h3", ""}};
                          }},
                     clock);
    const auto server = service::HttpServer::start({}, {files.route()}).value();
    const auto shown = get(server, "/files");
    EXPECT_EQ(shown.at("run").to_number<int>(), 5);
    ASSERT_EQ(shown.at("files").as_array().size(), 2U);
    EXPECT_EQ(shown.at("streams").at(0).at("bytes").to_number<int>(), 1500);
    EXPECT_EQ(shown.at("silent"), (json::array{"rec-3"}));
    EXPECT_THAT(std::string(shown.at("troubles").at(0).as_string()), HasSubstr("rec-3 on h3"));
    const auto old = get(server, "/files?run=4");
    ASSERT_EQ(old.at("files").as_array().size(), 1U);
    EXPECT_EQ(old.at("files").at(0).at("host").as_string(), "h1");
}

TEST_F(FilesRouteTest, ManyThatAskWithinASecondAreAnsweredByOneQuestion) {
    std::atomic<int> asked = 0;
    const auto station = service::HttpServer::start({}, {{service::HttpRoute::Method::get, "/files",
                                                          [&](const auto&, const auto& answer) {
                                                              ++asked;
                                                              answer({.body = "{}"});
                                                          }}})
                             .value();
    FilesRoute files({.recorders = [&] { return std::vector<RecorderPlace>{{"rec-1", "h1", station.address()}}; }},
                     clock);
    const auto server = service::HttpServer::start({}, {files.route()}).value();
    for (int i = 0; i < 10; ++i) EXPECT_EQ(get(server, "/files").at("silent"), (json::array{"rec-1"}));
    EXPECT_EQ(asked.load(), 1);
    clock.advance(1s);
    static_cast<void>(get(server, "/files"));
    EXPECT_EQ(asked.load(), 2);
}

TEST_F(FilesRouteTest, ARecorderThatIsGoneOrAnswersWithoutEndIsNamedAndTheOthersAreShown) {
    const auto one = recorder("one");
    one->closed(5, "a", 1000);
    const auto endless =
        service::HttpServer::start(
            {}, {{service::HttpRoute::Method::get, "/files",
                  [](const auto&, const auto& answer) { answer({.body = std::string(20U << 20U, ' ')}); }}})
            .value();
    const auto refusing = service::HttpServer::start({}, {}).value();
    std::string gone;
    {
        const auto ended = service::HttpServer::start({}, {}).value();
        gone = ended.address();
    }
    FilesRoute files({.recorders =
                          [&] {
                              return std::vector<RecorderPlace>{{"rec-1", "h1", one->server.address()},
                                                                {"rec-2", "h2", gone},
                                                                {"rec-3", "h3", endless.address()},
                                                                {"rec-4", "h4", refusing.address()}};
                          },
                      .run = [] { return RunNumber{5}; }},
                     clock);
    const auto server = service::HttpServer::start({}, {files.route()}).value();
    const auto shown = get(server, "/files");
    EXPECT_EQ(shown.at("files").as_array().size(), 1U);
    EXPECT_EQ(shown.at("silent"), (json::array{"rec-2", "rec-3", "rec-4"}));
    EXPECT_EQ(shown.at("troubles").as_array().size(), 3U);
}

TEST_F(FilesRouteTest, MoreRecordersThanAreAskedAtOnceAreAllAsked) {
    const auto one = recorder("one");
    one->closed(5, "a", 1000);
    FilesRoute files(
        {.recorders =
             [&] {
                 std::vector<RecorderPlace> all;
                 for (int i = 0; i < 30; ++i)
                     all.push_back({fmt::format("rec-{}", i), fmt::format("h{}", i), one->server.address()});
                 return all;
             }},
        clock);
    const auto server = service::HttpServer::start({}, {files.route()}).value();
    EXPECT_EQ(get(server, "/files").at("streams").at(0).at("files").to_number<int>(), 30);
}

}  // namespace
}  // namespace weir::control
