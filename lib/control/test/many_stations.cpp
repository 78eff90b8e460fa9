// SPDX-License-Identifier: Apache-2.0
// many_stations HOSTS STATIONS FOLDER: the agents of so many machines, a process each, and the control ports of the
// stations that run control starts there, all in one. Of a station only the port is real: it answers how it is, and
// takes every transition; its process is a shell script that announces that port. Writes FOLDER/partition.toml, prints
// "ready", and ends when its stdin does. For measuring what run control itself costs: test/hosts/many_stations.py.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "weir/base/descriptor.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/control/host_agent.hpp"
#include "weir/control/partition.hpp"
#include "weir/service/control_calls.hpp"
#include "weir/service/control_messages.hpp"
#include "weir/service/event_ids.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {
namespace {

using service::HttpAnswer;
using service::HttpRequest;
using service::HttpRoute;
using service::StationState;

/// All requests of a station come on one thread.
class SimulatedStation {
public:
    SimulatedStation(const std::string& name, StationKind kind, std::uint16_t id) {
        report_.station = name;
        report_.kind = kind;
        report_.id = wire::StationId{id};
        report_.self =
            Peer{name, kind, wire::StationId{id}, fmt::format("127.1.{}.{}:7000", id / 256, id % 256), "", {}};
        if (kind == StationKind::readout) report_.self->sources = {SourceId{0x420000U + id}};
        server_.emplace(std::move(*service::HttpServer::start(
            {}, {{HttpRoute::Method::get, "/status",
                  [this](const HttpRequest&, const HttpAnswer& answer) { answer({.status = 200, .body = status()}); }},
                 {HttpRoute::Method::get, "/events",
                  [](const HttpRequest&, const HttpAnswer& answer) {
                      answer({.status = 200, .body = to_text(service::StationEvents{})});
                  }},
                 {HttpRoute::Method::post, "/transition",
                  [this](const HttpRequest& request, const HttpAnswer& answer) { transition(request, answer); }}})));
    }
    [[nodiscard]] std::string address() const { return server_->address(); }

private:
    [[nodiscard]] std::string state() const { return fmt::format(R"({{"state":"{}"}})", service::name(report_.state)); }
    [[nodiscard]] std::string status() {
        if (report_.state == StationState::running) {
            report_.status.ledger.received += 1000;
            report_.status.ledger.stored += 1000;
        }
        return to_json(report_);
    }
    void transition(const HttpRequest& request, const HttpAnswer& answer) {
        const auto asked = service::parse_station_request(request.body);
        if (!asked) return answer(service::http_error(400, asked.error().message()));
        if (asked->kind != service::StationRequestKind::transition) return answer({.status = 200, .body = state()});
        switch (asked->transition) {
            case service::Transition::configure:
            case service::Transition::disconnect: report_.state = StationState::configured; break;
            case service::Transition::connect:
            case service::Transition::stop: report_.state = StationState::connected; break;
            case service::Transition::start:
            case service::Transition::resume: report_.state = StationState::running; break;
            case service::Transition::pause: report_.state = StationState::paused; break;
            case service::Transition::unconfigure: report_.state = StationState::initial; break;
        }
        if (asked->run) report_.run = asked->run;
        answer({.status = 200, .body = state()});
    }

    service::StationReport report_;
    std::optional<service::HttpServer> server_;
};

/// One supervisor, DFM, recorder and filter; some readouts; builders.
std::vector<StationEntry> stations_of(std::size_t count) {
    std::vector<StationEntry> all;
    const auto add = [&](StationKind kind, const std::string& name) {
        all.push_back({.kind = kind, .name = name, .id = wire::StationId{static_cast<std::uint16_t>(all.size() + 1)}});
    };
    add(StationKind::supervise, "l2sv");
    add(StationKind::assign, "dfm");
    add(StationKind::record, "rec-1");
    add(StationKind::filter, "ef-1");
    for (std::size_t i = 0; i < count / 20; ++i) add(StationKind::readout, fmt::format("ros-{}", i));
    for (std::size_t i = 0; all.size() < count; ++i) add(StationKind::build, fmt::format("sfi-{}", i));
    return all;
}

/// The agent of a machine, in a process of its own, which ends when `end` has no writer any more. Prints where it is.
int serve_host(const std::string& name, const std::filesystem::path& folder, Descriptor end, Descriptor address) {
    auto agent = HostAgent::start(
        {.name = name, .directory = folder / name, .program = folder / "station"},
        std::move(*service::ControlCalls::start()), [](const Report&) {}, system_clock());
    if (!agent) return fmt::print(stderr, "many_stations: {}\n", agent.error().message()), 1;
    const auto server = service::HttpServer::start({}, (*agent)->routes());
    if (!server) return fmt::print(stderr, "many_stations: {}\n", server.error().message()), 1;
    const auto line = server->address();
    if (::write(address.get(), line.data(), line.size()) < 0) return 1;
    address.close();
    char byte = 0;
    while (::read(end.get(), &byte, 1) > 0) {
    }
    return 0;
}

struct SimulatedHost {
    pid_t pid = 0;
    std::string address;
};

/// Before there are threads: each is a copy of this process.
SimulatedHost start_host(const std::string& name, const std::filesystem::path& folder, int end_reader, int end_writer) {
    int ends[2];
    if (::pipe(ends) != 0) return {};
    Descriptor reader(ends[0]), writer(ends[1]);
    SimulatedHost host{::fork(), {}};
    if (host.pid == 0) {
        ::close(end_writer);
        reader.close();
        std::_Exit(serve_host(name, folder, Descriptor(end_reader), std::move(writer)));
    }
    writer.close();
    host.address.resize(64);
    const auto got = ::read(reader.get(), host.address.data(), host.address.size());
    host.address.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return host;
}

std::string partition_text(const std::vector<SimulatedHost>& hosts, const std::vector<StationEntry>& stations) {
    std::string text = "[partition]\nname = \"many\"\n[run]\npoll = \"500ms\"\nstop_when_finished = false\n";
    for (std::size_t i = 0; i < hosts.size(); ++i)
        text += fmt::format("[hosts.h{}]\naddress = \"{}\"\n", i, hosts[i].address);
    for (const auto& station : stations) text += fmt::format("[{}.{}]\n", weir::name(station.kind), station.name);
    return text;
}

void write_program(const std::filesystem::path& folder) {
    const auto program = folder / "station";
    std::ofstream(program) << "#!/bin/sh\nread line <" << (folder / "ports").native()
                           << "/$4\necho \"$line\"\nexec sleep 100000\n";
    ::chmod(program.c_str(), 0755);
}

int simulate(std::size_t host_count, std::size_t station_count, const std::filesystem::path& folder) {
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    std::filesystem::create_directories(folder / "ports");
    write_program(folder);
    int ends[2];
    if (::pipe(ends) != 0) return 1;
    std::vector<SimulatedHost> hosts;
    for (std::size_t i = 0; i < host_count; ++i) {
        hosts.push_back(start_host(fmt::format("h{}", i), folder, ends[0], ends[1]));
        if (hosts.back().address.empty()) return 1;
    }
    const auto entries = stations_of(station_count);
    std::deque<SimulatedStation> stations;
    for (const auto& entry : entries) {
        const auto& station =
            stations.emplace_back(entry.name, entry.kind, static_cast<std::uint16_t>(number(entry.id)));
        std::ofstream(folder / "ports" / entry.name)
            << fmt::format(R"({{"station":"{}","kind":"{}","control":"{}"}})", entry.name, weir::name(entry.kind),
                           station.address())
            << '\n';
    }
    std::ofstream(folder / "partition.toml") << partition_text(hosts, entries);
    fmt::print("ready\n");
    std::fflush(stdout);
    while (std::getchar() != EOF) {
    }
    ::close(ends[1]);
    for (const auto& host : hosts) ::waitpid(host.pid, nullptr, 0);
    return 0;
}

}  // namespace
}  // namespace weir::control

int main(int count, char** words) {
    std::size_t hosts = 0, stations = 0;
    const auto number = [](std::string_view text, std::size_t& to) {
        return std::from_chars(text.data(), text.data() + text.size(), to).ec == std::errc{};
    };
    if (count != 4 || !number(words[1], hosts) || !number(words[2], stations) || hosts == 0 || stations < 10) {
        fmt::print(stderr, "many_stations HOSTS STATIONS FOLDER\n");
        return 2;
    }
    return weir::control::simulate(hosts, stations, words[3]);
}
