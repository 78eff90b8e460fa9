// SPDX-License-Identifier: Apache-2.0
// A client's connection to a control port: over TCP or TLS, one request after the other, each with its answer.
#pragma once

#include <openssl/ssl.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "weir/base/bytes.hpp"
#include "weir/service/control_client.hpp"

namespace weir::service {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

using HttpQuestion = http::request<http::string_body>;

/// What became of a request.
struct Exchanged {
    beast::error_code failed{};  // the answer is there, or why it is not
    std::string why{};           // in words
    bool begun = false;          // bytes of an answer came
    ControlAnswer answer{};      // of one that failed behind its header only the status
};

/// The answer, or the error of who asked for `path` at `address`.
[[nodiscard]] Result<ControlAnswer> answer_of(Exchanged exchanged, const std::string& address, const std::string& path,
                                              std::chrono::milliseconds deadline);

/// One thread uses it. What is under way when it ends is abandoned, and its `done` is not called.
class ControlConnection {
public:
    using Done = std::function<void(Exchanged)>;
    virtual ~ControlConnection() = default;
    /// Connects first, if it is not. One request at a time; both steps together have the deadline.
    virtual void ask(HttpQuestion request, std::chrono::milliseconds deadline, Done done) = 0;
    /// The server takes one more request over it.
    [[nodiscard]] virtual bool open() const noexcept = 0;
};

/// Where a control port is, and what is asked for there: "127.0.0.1:41234/stations/ros-1" is the station ros-1 behind
/// the agent of its machine.
struct ControlPlace {
    asio::ip::tcp::endpoint endpoint;
    std::string host;    // "127.0.0.1:41234"
    std::string prefix;  // "/stations/ros-1", or empty
    std::string certified =
        {};  // the name that its certificate must be made out for, on any address; empty: as ControlClient has it
};
[[nodiscard]] Result<ControlPlace> parse_control_place(const std::string& address);

[[nodiscard]] HttpQuestion http_question(const ControlPlace& place, bool post, const std::string& path,
                                         const std::string& body, bool keep);

/// Error: OpenSSL does not take the address. Throws std::system_error when there are no descriptors.
[[nodiscard]] Result<std::shared_ptr<ControlConnection>> control_connection(asio::io_context& io,
                                                                            const ControlPlace& place,
                                                                            const std::optional<ControlTls>& tls,
                                                                            Bytes answer_max);

}  // namespace weir::service
