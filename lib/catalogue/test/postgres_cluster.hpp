// SPDX-License-Identifier: Apache-2.0
// A real PostgreSQL server of the tests' own: made in a temporary directory, reached through a socket there,
// run as nobody when the tests run as root (the server refuses root), gone with the object.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace weir::catalogue {

class PostgresCluster {
public:
    /// Nothing when no server is installed, or it does not start; `why` has the reason.
    static std::unique_ptr<PostgresCluster> start(std::string& why);
    ~PostgresCluster();

    /// An empty schema; each is given out once.
    std::string new_schema();
    std::string uri(const std::string& schema) const;

    void stop_at_once();  // as after a crash
    bool start_again();
    /// Runs one statement as the owner of the server.
    bool sql(const std::string& statement) const;

private:
    PostgresCluster(std::filesystem::path programs, std::filesystem::path directory)
        : programs_(std::move(programs)), directory_(std::move(directory)) {}
    bool run(const std::string& command) const;

    std::filesystem::path programs_;
    std::filesystem::path directory_;
    int schemas_ = 0;
};

/// The one of this test program.
PostgresCluster& the_cluster();

/// The program was started with --queued: the tests that any catalogue must pass use one that is carried over.
bool test_queued();

}  // namespace weir::catalogue
