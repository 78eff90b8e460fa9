// SPDX-License-Identifier: Apache-2.0
// The senders of lib/delivery, as weir/sending.py needs them: calls without the GIL, that a signal can end, and
// callbacks.
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bind.hpp"
#include "buffer.hpp"
#include "sender_calls.hpp"
#include "weir/delivery/block_sender.hpp"
#include "weir/delivery/sender.hpp"

namespace nb = nanobind;

namespace weir::python {
namespace {

using delivery::BlockSender;

/// The arguments that all senders have.
struct Connection {
    std::string host, name;
    std::optional<std::uint32_t> run;
    std::uint64_t window_bytes = 0;
    std::optional<double> give_up_after_s;
    std::optional<std::vector<std::string>> tls;  // certificate, key, authority

    [[nodiscard]] delivery::SenderOptions options(const std::shared_ptr<SenderCalls>& calls) const {
        delivery::SenderOptions options;
        options.host = host;
        options.name = name;
        options.run = RunNumber{run.value_or(0)};
        options.join_run = !run;
        options.backoff_last = std::chrono::milliseconds(500);  // a run that begins is joined soon
        if (window_bytes != 0) options.window = weir::Bytes{window_bytes};
        if (give_up_after_s) {
            constexpr double longest = 1e9;
            if (!(*give_up_after_s > 0 && *give_up_after_s < longest))
                throw nb::value_error("give_up_after is a number of seconds above 0, or None: never");
            options.give_up_after =
                std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(*give_up_after_s));
        }
        if (tls) {
            if (tls->size() != 3)
                throw nb::value_error("tls is three PEM files: (certificate, key, certificate of the authority)");
            options.tls = {(*tls)[0], (*tls)[1], (*tls)[2]};
        }
        options.on_state = [calls](delivery::LinkState state, const std::string& why) {
            calls->state_changed(state, why);
        };
        return options;
    }
};

std::unique_ptr<delivery::Sender> open(const Connection& to, const std::shared_ptr<SenderCalls>& calls,
                                       std::uint32_t window_events, const std::string& format) {
    auto options = to.options(calls);
    if (window_events != 0) options.window_events = window_events;
    for (const auto each : {wire::EventFormat::opaque, wire::EventFormat::event_5_0, wire::EventFormat::event_3_0})
        if (format == wire::name(each)) options.format = each;
    if (format != wire::name(options.format))
        throw nb::value_error("the format of events is opaque, event-5.0 or event-3.0");
    options.on_final = [calls](Sequence sequence, std::optional<wire::RejectReason> rejected) {
        calls->ended(number(sequence), number(sequence),
                     rejected ? std::optional<std::string>(wire::name(*rejected)) : std::nullopt);
    };
    auto opened = delivery::Sender::open(std::move(options));
    if (!opened) raise(opened.error());
    return *std::move(opened);
}

template <class Record>
std::unique_ptr<BlockSender<Record>> open_blocks(const Connection& to, const std::shared_ptr<SenderCalls>& calls) {
    delivery::BlockSenderOptions options;
    options.sender = to.options(calls);
    options.on_ended = [calls](const delivery::RecordsEnded& ended) {
        std::optional<std::string> reason;
        if (ended.refused) reason = wire::name(*ended.refused);
        if (ended.rejected) reason = std::string("rejected: ") + wire::name(*ended.rejected);
        calls->ended(ended.first, ended.last, std::move(reason));
    };
    auto opened = BlockSender<Record>::open(std::move(options));
    if (!opened) raise(opened.error());
    return *std::move(opened);
}

/// A sender of C++ with what Python needs around it. Made, called and destroyed with the GIL.
template <class To>
class Core {
public:
    template <class Open>
    Core(nb::object on_ended, nb::object on_state, Open&& open)
        : calls_(std::make_shared<SenderCalls>(std::move(on_ended), std::move(on_state))), to_(open(calls_)) {}

    ~Core() {
        if (calls_->other_process() || calls_->in_callback()) {
            // Its threads are in the other process, or this is one of them: nobody can wait for them here.
            static_cast<void>(to_.release());
            static_cast<void>(new std::shared_ptr<LentBuffers>(lent_));
        } else {
            end();
        }
        calls_->forget();
    }
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;

    /// The number of the record; nothing: the time is over.
    template <class Send>
    std::optional<std::uint64_t> send(std::optional<double> timeout_s, Send&& try_send) {
        calls_->check_caller();
        lent_->release_returned();
        return calls_->until_there(timeout_s, [&]() -> Result<std::optional<std::uint64_t>> {
            const auto sent = try_send(*to_);
            if (!sent) return std::unexpected(sent.error());
            if (!*sent) return std::nullopt;
            return static_cast<std::uint64_t>(**sent);
        });
    }
    bool flush(std::optional<double> timeout_s) {
        calls_->check_caller();
        const bool flushed = calls_
                                 ->until_waited(timeout_s,
                                                [&](std::chrono::milliseconds at_most) -> Result<std::optional<bool>> {
                                                    if (WEIR_TRY(to_->flush(at_most))) return true;
                                                    return std::nullopt;
                                                })
                                 .has_value();
        lent_->release_returned();
        return flushed;
    }
    std::optional<std::uint32_t> run(std::optional<double> timeout_s) {
        calls_->check_caller();
        return calls_->until_waited(timeout_s,
                                    [&](std::chrono::milliseconds at_most) -> Result<std::optional<std::uint32_t>> {
                                        const auto run = WEIR_TRY(to_->run(at_most));
                                        return run ? std::optional(number(*run)) : std::nullopt;
                                    });
    }
    void close() {
        if (calls_->other_process()) return;  // it is not this process's to close
        calls_->check_caller();
        end();
        calls_->forget();
    }

    /// (sent, taken, rejected by reason, open, times without room, reconnects, state, last problem)
    auto stats() const {
        calls_->check_caller();
        const auto [sent, taken, open, sender] = numbers();
        return std::make_tuple(sent, taken, calls_->rejected(), open, calls_->waits(), sender.reconnects,
                               std::string(calls_->state()),
                               nb::bytes(sender.last_problem.data(), sender.last_problem.size()));
    }

    LentBuffers& lent() { return *lent_; }
    [[nodiscard]] bool busy() const {
        calls_->check_caller();
        const nb::gil_scoped_release release;
        return to_->busy();
    }

private:
    struct Numbers {
        std::uint64_t sent = 0, taken = 0, open = 0;
        delivery::SenderStats sender{};
    };
    Numbers numbers() const {
        const nb::gil_scoped_release release;
        const auto now = to_->stats();
        if constexpr (std::is_same_v<To, delivery::Sender>)
            return {now.accepted, now.acknowledged, now.held + now.released, now};
        else return {now.sent, now.taken, now.open, now.sender};
    }
    void end() {
        {
            const nb::gil_scoped_release release;
            to_->close();
        }
        lent_->release_returned();
    }

    std::shared_ptr<SenderCalls> calls_;
    std::shared_ptr<LentBuffers> lent_ = std::make_shared<LentBuffers>();
    std::unique_ptr<To> to_;
};

using EventCore = Core<delivery::Sender>;
template <class Record>
using BlockCore = Core<BlockSender<Record>>;

std::vector<StreamTag> tags_of(const std::vector<std::string>& streams) {
    std::vector<StreamTag> tags;
    for (const auto& stream : streams) {
        auto tag = parse_stream_key(stream);
        if (!tag) raise(tag.error());
        tags.push_back(*std::move(tag));
    }
    return tags;
}

std::optional<std::uint64_t> send_event(EventCore& core, nb::handle payload, std::uint64_t global_id,
                                        const std::vector<std::string>& streams, std::uint32_t level1_id,
                                        std::uint32_t lumi_block, std::optional<bool> copy,
                                        std::optional<double> timeout_s) {
    const delivery::EventDescription event{.global_id = GlobalEventId{global_id},
                                           .level1_id = Level1Id{level1_id},
                                           .lumi_block = LumiBlock{lumi_block},
                                           .tags = tags_of(streams)};
    std::vector<delivery::Piece> pieces;
    if (nb::isinstance<nb::list>(payload) || nb::isinstance<nb::tuple>(payload)) {
        for (const auto piece : payload) pieces.push_back(core.lent().piece_of(piece, copy));
    } else {
        pieces.push_back(core.lent().piece_of(payload, copy));
    }
    return core.send(timeout_s, [&](delivery::Sender& to) { return to.try_send(event, pieces); });
}

std::optional<std::uint64_t> send_fragment(BlockCore<wire::InputFragment>& core, std::uint32_t source,
                                           std::optional<std::uint32_t> level1_id, nb::handle payload,
                                           std::optional<std::int64_t> time_ns, std::vector<std::uint32_t> status_words,
                                           std::uint32_t kind, std::optional<double> timeout_s) {
    const Buffer buffer(payload);
    wire::InputFragment fragment{.source = SourceId{source},
                                 .level1_id = level1_id ? std::optional(Level1Id{*level1_id}) : std::nullopt,
                                 .time_ns = time_ns,
                                 .kind = static_cast<wire::PayloadKind>(kind),
                                 .status_words = std::move(status_words),
                                 .payload = buffer.data()};
    return core.send(timeout_s, [&](auto& to) { return to.try_send(fragment); });
}

std::optional<std::uint64_t> send_trigger(BlockCore<wire::InputTrigger>& core, std::uint32_t level1_id,
                                          std::int64_t time_ns, std::uint32_t type, std::uint32_t bunch_crossing,
                                          std::vector<std::uint32_t> words, std::optional<double> timeout_s) {
    const wire::InputTrigger trigger{.level1_id = Level1Id{level1_id},
                                     .time_ns = time_ns,
                                     .type = type,
                                     .bunch_crossing_id = bunch_crossing,
                                     .words = std::move(words)};
    return core.send(timeout_s, [&](auto& to) { return to.try_send(trigger); });
}

template <class To>
auto bind_core(nb::module_& module, const char* name) {
    using Bound = Core<To>;
    return nb::class_<Bound>(module, name)
        .def("flush", &Bound::flush, nb::arg("timeout").none())
        .def("run", &Bound::run, nb::arg("timeout").none())
        .def("close", &Bound::close)
        .def("stats", &Bound::stats);
}

template <class Record>
auto bind_block_core(nb::module_& module, const char* name) {
    using Bound = BlockCore<Record>;
    return bind_core<BlockSender<Record>>(module, name)
        .def(
            "__init__",
            [](Bound* core, std::string host, std::string name_of, std::optional<std::uint32_t> run,
               std::uint64_t window_bytes, std::optional<double> give_up_after,
               std::optional<std::vector<std::string>> tls, nb::object on_ended, nb::object on_state) {
                const Connection to{std::move(host), std::move(name_of), run,
                                    window_bytes,    give_up_after,      std::move(tls)};
                new (core) Bound(std::move(on_ended), std::move(on_state),
                                 [&](const auto& calls) { return open_blocks<Record>(to, calls); });
            },
            nb::arg("host"), nb::arg("name"), nb::arg("run").none(), nb::arg("window_bytes"),
            nb::arg("give_up_after").none(), nb::arg("tls").none(), nb::arg("on_ended").none(),
            nb::arg("on_state").none())
        .def("busy", &Bound::busy);
}

}  // namespace

void bind_senders(nb::module_& module) {
    nb::exception<SendFailure>(module, "SendError", PyExc_RuntimeError).attr("__doc__") =
        "A sender cannot go on: it is closed, its run has ended, or it gave up its connection.";

    bind_core<delivery::Sender>(module, "_EventCore")
        .def(
            "__init__",
            [](EventCore* core, std::string host, std::string name, std::optional<std::uint32_t> run,
               std::uint64_t window_bytes, std::optional<double> give_up_after,
               std::optional<std::vector<std::string>> tls, nb::object on_ended, nb::object on_state,
               std::uint32_t window_events, const std::string& format) {
                const Connection to{std::move(host), std::move(name), run, window_bytes, give_up_after, std::move(tls)};
                new (core) EventCore(std::move(on_ended), std::move(on_state),
                                     [&](const auto& calls) { return open(to, calls, window_events, format); });
            },
            nb::arg("host"), nb::arg("name"), nb::arg("run").none(), nb::arg("window_bytes"),
            nb::arg("give_up_after").none(), nb::arg("tls").none(), nb::arg("on_ended").none(),
            nb::arg("on_state").none(), nb::arg("window_events"), nb::arg("format"))
        .def("send", &send_event, nb::arg("payload").none(), nb::arg("global_id"), nb::arg("streams"),
             nb::arg("level1_id"), nb::arg("lumi_block"), nb::arg("copy").none(), nb::arg("timeout").none());
    bind_block_core<wire::InputFragment>(module, "_FragmentCore")
        .def("send", &send_fragment, nb::arg("source"), nb::arg("level1_id").none(), nb::arg("payload").none(),
             nb::arg("time_ns").none(), nb::arg("status_words"), nb::arg("kind"), nb::arg("timeout").none());
    bind_block_core<wire::InputTrigger>(module, "_TriggerCore")
        .def("send", &send_trigger, nb::arg("level1_id"), nb::arg("time_ns"), nb::arg("type"),
             nb::arg("bunch_crossing"), nb::arg("words"), nb::arg("timeout").none());
}

}  // namespace weir::python
