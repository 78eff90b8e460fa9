// SPDX-License-Identifier: Apache-2.0
#include "postgres_cluster.hpp"

#include <gtest/gtest.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <set>

namespace weir::catalogue {
namespace {

namespace fs = std::filesystem;

/// Debian keeps the server's programs of each version beside each other, out of the search path.
fs::path find_programs() {
    std::set<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it("/usr/lib/postgresql", error), end; !error && it != end; it.increment(error)) {
        if (fs::exists(it->path() / "bin/initdb")) found.insert(it->path() / "bin");
    }
    return found.empty() ? fs::path() : *found.rbegin();
}

}  // namespace

bool PostgresCluster::run(const std::string& command) const {
    const std::string as_nobody = ::geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    const auto full = "cd '" + directory_.native() + "' && " + as_nobody + programs_.native() + "/" + command + " >>'" +
                      directory_.native() + "/commands.log' 2>&1 </dev/null";
    return std::system(full.c_str()) == 0;
}

std::unique_ptr<PostgresCluster> PostgresCluster::start(std::string& why) {
    const auto programs = find_programs();
    if (programs.empty()) return why = "no PostgreSQL server is installed (package postgresql)", nullptr;
    std::string pattern = (fs::temp_directory_path() / "weir-postgres-XXXXXX").string();
    std::unique_ptr<PostgresCluster> cluster(new PostgresCluster(programs, ::mkdtemp(pattern.data())));
    if (::geteuid() == 0 && ::chown(pattern.c_str(), 65534, 65534) != 0) return why = "chown " + pattern, nullptr;
    if (!cluster->run("initdb -D data -U weir -A trust -E UTF8 --locale=C --no-sync")) {
        std::ifstream log(cluster->directory_ / "commands.log");
        return why.assign(std::istreambuf_iterator<char>(log), {}), nullptr;
    }
    // Nothing here has to outlive this machine.
    std::ofstream(cluster->directory_ / "data/postgresql.conf", std::ios::app)
        << "listen_addresses = ''\nunix_socket_directories = '" << cluster->directory_.native()
        << "'\nfsync = off\nfull_page_writes = off\nshared_buffers = 16MB\nmax_wal_senders = 0\nwal_level = minimal\n";
    if (!cluster->start_again()) {
        std::ifstream log(cluster->directory_ / "server.log");
        return why.assign(std::istreambuf_iterator<char>(log), {}), nullptr;
    }
    return cluster;
}

PostgresCluster::~PostgresCluster() {
    stop_at_once();
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
}

void PostgresCluster::stop_at_once() { static_cast<void>(run("pg_ctl -D data -m immediate -w stop")); }

bool PostgresCluster::start_again() { return run("pg_ctl -D data -l server.log -t 120 -w start"); }

std::string PostgresCluster::uri(const std::string& schema) const {
    return "postgresql://weir@/postgres?host=" + directory_.native() + "&options=-csearch_path%3D" + schema;
}

bool PostgresCluster::sql(const std::string& statement) const {
    PGconn* connection = PQconnectdb(uri("public").c_str());
    PGresult* result = PQexec(connection, statement.c_str());
    const auto status = PQresultStatus(result);
    const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!good) std::fprintf(stderr, "%s: %s", statement.c_str(), PQerrorMessage(connection));
    PQclear(result);
    PQfinish(connection);
    return good;
}

std::string PostgresCluster::new_schema() {
    const auto name = "test_" + std::to_string(++schemas_);
    EXPECT_TRUE(sql("CREATE SCHEMA " + name));
    return name;
}

namespace {

std::unique_ptr<PostgresCluster> cluster;
bool queued = false;

}  // namespace

bool test_queued() { return queued; }

PostgresCluster& the_cluster() { return *cluster; }

}  // namespace weir::catalogue

/// The tests share one server; each has a schema of its own.
int main(int count, char** arguments) {
    ::testing::InitGoogleTest(&count, arguments);
    weir::catalogue::queued = count == 2 && std::string_view(arguments[1]) == "--queued";
    std::string why;
    weir::catalogue::cluster = weir::catalogue::PostgresCluster::start(why);
    if (weir::catalogue::cluster == nullptr) {
        std::fprintf(stderr, "NOT TESTED: the catalogue in PostgreSQL: %s\n", why.c_str());
        return 77;
    }
    const int result = RUN_ALL_TESTS();
    weir::catalogue::cluster.reset();
    return result;
}
