// SPDX-License-Identifier: Apache-2.0
#include "weir/page/further_pages.hpp"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <fstream>

namespace weir::page {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;

class FurtherPagesTest : public testing::Test {
protected:
    FurtherPagesTest() {
        std::string pattern = (fs::temp_directory_path() / "weir-pages-XXXXXX").native();
        top = ::mkdtemp(pattern.data());
        pages = top / "pages";
        fs::create_directories(pages / "sub");
        write(pages / "beam.html", "<h1>beam</h1>");
        write(pages / "sub" / "beam.js", "1");
        write(pages / ".hidden.html", "no");
        write(top / "secret.html", "no");
        fs::create_symlink(top / "secret.html", pages / "link.html");
        fs::create_symlink(pages / "beam.html", pages / "inside.html");
        fs::create_symlink(top, pages / "up");
    }
    ~FurtherPagesTest() override { fs::remove_all(top); }
    static void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
    service::HttpResponse ask(const std::string& path) const {
        service::HttpResponse response;
        const auto route = further_pages_route(pages);
        EXPECT_TRUE(route);
        service::HttpRequest request;
        request.path = path;
        route->handle(request, [&](service::HttpResponse given) { response = std::move(given); });
        return response;
    }

    fs::path top, pages;
};

TEST_F(FurtherPagesTest, AFileOfTheDirectoryIsServedWithItsType) {
    const auto page = ask("/pages/beam.html");
    EXPECT_EQ(page.status, 200U);
    EXPECT_EQ(page.body, "<h1>beam</h1>");
    EXPECT_EQ(page.content_type, "text/html; charset=utf-8");
    EXPECT_THAT(page.headers, testing::Contains(testing::Pair("X-Content-Type-Options", "nosniff")));
    EXPECT_EQ(ask("/pages/sub/beam.js").content_type, "text/javascript; charset=utf-8");
    EXPECT_EQ(ask("/pages/inside.html").status, 200U);
}

TEST_F(FurtherPagesTest, NothingOutsideOfTheDirectoryIsReached) {
    for (const auto* path : {"/pages/../secret.html", "/pages/sub/../../secret.html", "/pages/%2e%2e/secret.html",
                             "/pages/..%2fsecret.html", "/pages//etc/passwd", "/pages/link.html",
                             "/pages/up/secret.html", "/pages/.hidden.html", "/pages/", "/pages/sub", "/pages/sub/",
                             "/pages/./beam.html", "/pages/beam.html/", "/pages/beam.html\\..\\..\\secret.html"})
        EXPECT_EQ(ask(path).status, 404U) << path;
    EXPECT_EQ(ask(std::string("/pages/beam.html\0", 17)).status, 404U);
}

TEST_F(FurtherPagesTest, PagesAreListedByName) {
    EXPECT_THAT(further_page_names(pages), ElementsAre("beam.html", "inside.html", "link.html"));
    EXPECT_THAT(further_page_names(top / "none"), ElementsAre());
    EXPECT_FALSE(further_pages_route(top / "none"));
}

}  // namespace
}  // namespace weir::page
