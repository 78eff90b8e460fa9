// SPDX-License-Identifier: Apache-2.0
// The sections of a partition file that all its stations share, and how a station finds its own: every process of a
// partition reads the same file. docs/formats/partition-file.md lists the keys.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"
#include "weir/event/check.hpp"
#include "weir/event/format.hpp"
#include "weir/messaging/message_loop.hpp"
#include "weir/service/configuration.hpp"
#include "weir/service/control_access.hpp"
#include "weir/transport/network.hpp"
#include "weir/transport/tls.hpp"
#include "weir/wire/peer.hpp"

namespace weir::app {

struct PartitionSettings {
    // As written. Sources are "0x7c0000", offsets "0xa80010:1".
    std::string name = "weir";
    std::uint32_t key = 0;
    std::string directory;
    std::string contact;  // whom to call; for the page
    std::chrono::milliseconds deadline{30'000};
    std::chrono::milliseconds stop_deadline{20'000};
    struct Data {
        std::string format = "event-5.0";
        std::uint32_t first_level1_id = 1;
        std::vector<std::string> level1_offset{}, level1_exempt{}, sources{};
    } data;
    struct Network {
        std::string link = "udp";
        Bytes datagram_max{65'507};
        Bytes receive_buffer{16U << 20};
        std::string data, control;  // "10.77.0.0/16"; empty: this machine alone
        bool plain = false;
    } network;
    struct Security {
        std::string tls_certificate, tls_key, tls_ca;
        bool own_authority = false;
        std::string join;
        std::vector<std::string> operators{}, readers{};
    } security;

    /// Declares [partition], [data], [network], [security], and ignores [run] (unless the table has it) and the
    /// sections of all kinds of stations. The table refers to this object.
    void declare(service::Settings& settings);

    /// What no key alone can be wrong in: Errc::usage.
    [[nodiscard]] Result<> check() const;
    // Converted; after check() was good.
    [[nodiscard]] event::Format format() const;
    [[nodiscard]] event::RodRules rules() const;
    [[nodiscard]] std::vector<SourceId> sources() const;  // empty: whatever the readouts serve
    [[nodiscard]] messaging::LinkKind link() const;
    /// Of all TCP connections between stations; no file is named: plain.
    [[nodiscard]] transport::TlsFiles data_tls() const;
    /// In which each machine has an address for the data, or for control; none: all are on this machine.
    [[nodiscard]] std::optional<transport::Network> data_network() const;
    [[nodiscard]] std::optional<transport::Network> control_network() const;
    /// Whether stations may listen there for others. Errc::usage: other machines reach it, and there is neither
    /// [security] nor [network] plain = true.
    [[nodiscard]] Result<> check_reach(const transport::HostPort& listen) const;
    /// Of all control ports, of run control and the stations; none: plain, on addresses of this machine. The files of
    /// the partition's own authority are beside `partition_file`, from which the stations read.
    [[nodiscard]] std::optional<service::ControlAccess> access(const std::filesystem::path& partition_file) const;
    /// Names its files in [security], unless others are named there.
    void use_own_authority(const std::filesystem::path& partition_file);
};

/// The sections that all stations share.
[[nodiscard]] Result<PartitionSettings> read_shared_settings(std::string_view text, std::string_view file_name);

/// Where the partition's own authority and its certificate are in a directory of weir run.
[[nodiscard]] std::filesystem::path authority_folder(const std::filesystem::path& directory);
[[nodiscard]] transport::TlsFiles own_files(const std::filesystem::path& directory);

/// "udp", "tcp": for a station's own key `link`, where empty means the partition's.
[[nodiscard]] std::optional<messaging::LinkKind> parse_link(std::string_view text) noexcept;
/// "0x7c0000" or "8126464".
[[nodiscard]] std::optional<SourceId> parse_source_id(std::string_view text) noexcept;

struct Level1Offset {
    SourceId source{};
    std::int32_t offset = 0;
};
/// "0xa80010:1".
[[nodiscard]] std::optional<Level1Offset> parse_level1_offset(std::string_view text) noexcept;

/// One station as the file lists it.
struct ListedStation {
    StationKind kind = StationKind::readout;
    std::string name;
    wire::StationId id{};  // its place among the stations of the file, from 1 on
    std::size_t line = 0;
    [[nodiscard]] std::string section() const { return std::string(weir::name(kind)) + "." + name; }
};

/// In the order of the file. Error: the same name twice, a kind without a name, no TOML.
[[nodiscard]] Result<std::vector<ListedStation>> list_stations(std::string_view text, std::string_view file_name);

}  // namespace weir::app
