// SPDX-License-Identifier: Apache-2.0
#include "weir/service/control_calls.hpp"

#include <fmt/format.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <map>
#include <system_error>
#include <vector>

#include "control/control_connection.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::service {
namespace {

constexpr std::chrono::seconds kept_for{3};  // a connection that was not used; our servers end theirs after 5 s
constexpr std::size_t kept_max = 4;          // of one address

struct Call {
    std::string address;
    ControlPlace place{};
    bool post = false;
    std::string path, body;
    std::chrono::milliseconds deadline;
    ControlCalls::Done done;
};

}  // namespace

class ControlCalls::Thread {
public:
    Thread(std::optional<ControlTls> tls, Bytes answer_max) : tls_(std::move(tls)), answer_max_(answer_max) {
        thread_ = NamedThread("control-calls", [this] {
            while (!io_.stopped()) {
                const ScopedWait wait(WaitCause::peer);
                io_.run_one();
            }
        });
    }
    ~Thread() { io_.stop(); }  // thread-safe; then the thread is joined, and what is under way ends with io_
    Thread(const Thread&) = delete;
    Thread& operator=(const Thread&) = delete;

    void add(Call call) {
        asio::post(io_, [this, call = std::make_shared<Call>(std::move(call))]() mutable { begin(std::move(call)); });
    }

private:
    struct Kept {
        std::shared_ptr<ControlConnection> connection;
        SteadyTime since;
    };

    void begin(std::shared_ptr<Call> call) {
        drop_old();
        auto place = parse_control_place(call->address);
        if (!place) return call->done(std::unexpected(place.error()));
        call->place = std::move(*place);
        auto& idle = kept_[call->place.host];
        if (idle.empty()) return connect(std::move(call));
        const auto connection = std::move(idle.back().connection);
        idle.pop_back();
        ask(connection, std::move(call), true);
    }

    void connect(std::shared_ptr<Call> call) {
        try {
            auto connection = control_connection(io_, call->place, tls_, answer_max_);
            if (!connection) return call->done(std::unexpected(connection.error()));
            ask(*connection, std::move(call), false);
        } catch (const std::system_error& error) {  // Asio's constructors, when there are no descriptors
            call->done(fail_errno(error.code().value(), fmt::format("cannot ask {}", call->address)));
        }
    }

    void ask(const std::shared_ptr<ControlConnection>& connection, std::shared_ptr<Call> call, bool used_before) {
        auto question = http_question(call->place, call->post, call->path, call->body, true);
        const auto deadline = call->deadline;
        // A connection is kept by what is under way on it; by its own callback it would be for ever.
        connection->ask(
            std::move(question), deadline,
            [this, weak = std::weak_ptr(connection), call = std::move(call), used_before](Exchanged exchanged) mutable {
                take(weak.lock(), std::move(call), used_before, std::move(exchanged));
            });
    }

    void take(const std::shared_ptr<ControlConnection>& connection, std::shared_ptr<Call> call, bool used_before,
              Exchanged exchanged) {
        // The server may end a connection while a request is on its way: a question is asked again, what commands is
        // not.
        const bool ended_before = exchanged.failed && exchanged.failed != beast::error::timeout && !exchanged.begun;
        if (ended_before && used_before && !call->post) return connect(std::move(call));
        if (connection && connection->open()) {
            auto& idle = kept_[call->place.host];
            if (idle.size() < kept_max) idle.push_back({connection, system_clock().now()});
        }
        call->done(answer_of(std::move(exchanged), call->address, call->path, call->deadline));
    }

    void drop_old() {
        const auto now = system_clock().now();
        if (now - dropped_ < kept_for / 3) return;
        dropped_ = now;
        for (auto& [host, idle] : kept_)
            std::erase_if(idle, [&](const Kept& kept) { return now - kept.since >= kept_for; });
        std::erase_if(kept_, [](const auto& of_host) { return of_host.second.empty(); });
    }

    const std::optional<ControlTls> tls_;
    const Bytes answer_max_;
    asio::io_context io_{1};
    asio::executor_work_guard<asio::io_context::executor_type> works_ = asio::make_work_guard(io_);
    std::map<std::string, std::vector<Kept>> kept_;  // by host; ends before io_ does
    SteadyTime dropped_{};
    NamedThread thread_;  // the last member: it ends before what it uses is gone
};

ControlCalls::ControlCalls(std::unique_ptr<Thread> thread) : thread_(std::move(thread)) {}
ControlCalls::~ControlCalls() = default;

Result<std::unique_ptr<ControlCalls>> ControlCalls::start(std::optional<ControlTls> tls, Bytes answer_max) {
    try {
        return std::unique_ptr<ControlCalls>(new ControlCalls(std::make_unique<Thread>(std::move(tls), answer_max)));
    } catch (const std::system_error& error) {
        return fail_errno(error.code().value(), "cannot ask control ports");
    }
}

void ControlCalls::get(const std::string& address, const std::string& path, std::chrono::milliseconds deadline,
                       Done done) {
    thread_->add({address, {}, false, path, {}, deadline, std::move(done)});
}

void ControlCalls::post(const std::string& address, const std::string& path, const std::string& json,
                        std::chrono::milliseconds deadline, Done done) {
    thread_->add({address, {}, true, path, json, deadline, std::move(done)});
}

}  // namespace weir::service
