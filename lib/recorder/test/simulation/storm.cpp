// SPDX-License-Identifier: Apache-2.0
#include "simulation/storm.hpp"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <thread>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/raw_file_reader.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/datafile/testing/journal_damage.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/verification.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;
using ::testing::AssertionFailure;
using ::testing::AssertionResult;
using ::testing::AssertionSuccess;

constexpr auto patience = 60s;  // for what takes milliseconds, on a machine that is busy

/// Memory that looks like a disk where there is one: thousands of catalogues are made and synced here.
std::filesystem::path somewhere() {
    const std::filesystem::path memory = "/dev/shm";
    return ::access(memory.c_str(), W_OK | X_OK) == 0 ? memory : std::filesystem::temp_directory_path();
}

/// An address that only this process listens at: ports are taken again and again.
std::string own_address() {
    const auto pid = static_cast<unsigned>(::getpid());
    return fmt::format("127.{}.{}.{}", 1 + (pid >> 15 & 127), pid >> 7 & 255, 1 + (pid & 127));
}

}  // namespace

std::vector<std::byte> storm_payload(std::uint64_t id, std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::uint64_t word = id;
    for (std::size_t at = 0; at < size; at += sizeof word) {
        std::memcpy(bytes.data() + at, &word, std::min(sizeof word, size - at));
        word = word * 6364136223846793005ULL + 1442695040888963407ULL;
    }
    return bytes;
}

void StormSender::open(std::uint16_t port, const std::string& host, RunNumber run) {
    {
        const std::scoped_lock lock(mutex_);
        while (final_.contains(first_)) ++first_;
    }
    delivery::SenderOptions options;
    options.host = fmt::format("{}:{}", host, port);
    options.name = name_;
    options.run = run;
    options.incarnation = incarnation_;
    options.first_sequence = Sequence{first_};
    options.replays = true;
    options.backoff_first = options.backoff_last = 1ms;
    options.on_final = [this](Sequence sequence, std::optional<wire::RejectReason> reason) {
        const std::scoped_lock lock(mutex_);
        final_.emplace(number(sequence), reason);
    };
    sender_ = delivery::Sender::open(std::move(options)).value();
}

void StormSender::send(const StormEvent& event) {
    events_.push_back(event);
    const auto sent =
        sender_->send({GlobalEventId{event.id}, {}, LumiBlock{1}, event.tags}, storm_payload(event.id, event.size));
    if (!sent) ADD_FAILURE() << sent.error().message();
    else EXPECT_EQ(number(*sent), events_.size());
}

void StormSender::replay() {
    for (auto n = first_; n <= events_.size(); ++n) {
        const auto& event = events_[n - 1];
        const auto sent =
            sender_->send({GlobalEventId{event.id}, {}, LumiBlock{1}, event.tags}, storm_payload(event.id, event.size));
        if (!sent) ADD_FAILURE() << sent.error().message();
        else EXPECT_EQ(number(*sent), n);
    }
}

bool StormSender::flush(std::chrono::milliseconds timeout) {
    const auto done = sender_->flush(timeout);
    if (!done) ADD_FAILURE() << done.error().message();
    return done.value_or(true);
}

StormSender::Answers StormSender::answers() const {
    const std::scoped_lock lock(mutex_);
    Answers answers;
    for (std::size_t i = 0; i < events_.size(); ++i) {
        const auto answer = final_.find(i + 1);
        const bool twice = answer != final_.end() && answer->second == wire::RejectReason::duplicate;
        auto& to = answer == final_.end() ? answers.unanswered
                   : !answer->second      ? answers.acknowledged
                   : twice                ? answers.duplicate
                                          : answers.rejected;
        to.emplace(events_[i].id, events_[i]);
    }
    return answers;
}

Storm::Storm() {
    std::string pattern = (somewhere() / "weir-storm-XXXXXX").string();
    directory_ = ::mkdtemp(pattern.data());
    disk.on_power_failure([this] { keep_catalogue(); });
    faults.on_failed_sync([this](int fd) { disk.lose_unsynced(fd); });
    options.directories = {directory_};
    options.create_directories = true;
    options.run = RunNumber{17};
    options.receiver.listen = {own_address(), 0};
    options.receiver.threads = 1;
    options.receiver.event_size_max = 64_KiB;
    options.receiver.farewell = 1ms;
    options.memory = 1_MiB;
    options.segment = 4_KiB;
    options.streams_max = 8;
    options.sync_interval = 1ms;
    options.direct = DirectIo::off;
    options.write_threads = 1;
    options.queue_depth = 4;
    options.disk_reserve = 64_KiB;
    options.disk_headroom = 1_B;  // so that the disk gets full while it is written, not before
    options.disk_retry = 1ms;
}

Storm::~Storm() {
    for (auto& sender : senders) sender->kill();
    recorder.reset();
    std::filesystem::remove_all(directory_);
}

void Storm::use_volumes(std::size_t count) {
    while (options.directories.size() < count) {
        options.directories.push_back(directory_ / fmt::format("volume-{}", options.directories.size() + 1));
        std::filesystem::create_directory(options.directories.back());
    }
}

/// Of all volumes.
std::vector<std::filesystem::path> Storm::journals() const {
    std::vector<std::filesystem::path> all;
    for (const auto& volume : options.directories) {
        auto journals = datafile::JournalWriter::find(volume).value();
        std::ranges::move(journals, std::back_inserter(all));
    }
    return all;
}

Result<> Storm::start_recorder() {
    auto opened = Recorder::open(
        options,
        [this](const Report& report) {
            const std::scoped_lock lock(reports_mutex);
            reports.push_back(text_of(report));
        },
        clock_, faults);
    if (!opened) return std::unexpected(opened.error());
    recorder = std::move(*opened);
    options.receiver.listen.port = recorder->port();
    ++recorders;
    recorder->start();
    return {};
}

AssertionResult Storm::restart_recorder() {
    if (recorder) crash_recorder(kept, seed);
    for (int tries = 0;; ++tries) {
        const auto started = start_recorder();
        if (started) return AssertionSuccess();
        const auto why = started.error().message();
        if (tries == 2) return AssertionFailure() << "no recorder starts: " << why;
        // It may be refused once, while the disk fails.
        if (disk.crashed()) crash_recorder(kept, seed);
        else if (!faults.fired()) return AssertionFailure() << "no recorder starts on a good disk: " << why;
        faults.clear();
    }
}

void Storm::open(StormSender& sender) {
    const auto& listen = options.receiver.listen;
    sender.open(network ? network->port() : listen.port, listen.host, *options.run);
}

std::string Storm::what_is_there() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_))
        text += entry.path().filename().native() + "; ";
    const auto catalogue = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(directory_));
    const auto rows =
        catalogue ? (*catalogue)->files() : Result<std::vector<catalogue::FileRow>>(std::unexpected(catalogue.error()));
    if (!rows) return text + rows.error().message();
    for (const auto& row : *rows)
        text += fmt::format("{} {} {} {} events; ", row.name, name(row.file_state), name(row.file_health), row.events);
    return text;
}

AssertionResult Storm::stop_recorder() {
    for (int tries = 0;; ++tries) {
        const auto stopped = recorder->stop(patience);
        if (stopped) {
            crash_recorder(kept, seed);
            // Then all of it is on the disk. Else the power had failed before, and what came after that never happened.
            if (run_is_closed()) return AssertionSuccess();
        }
        if (tries == 2)
            return AssertionFailure() << "it does not stop: "
                                      << (stopped ? "the power fails" : stopped.error().message());
        faults.clear();
        if (auto restarted = restart_recorder(); !restarted) return restarted;
    }
}

bool Storm::run_is_closed() const {
    const auto catalogue = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(directory_));
    const auto runs = catalogue ? (*catalogue)->runs(options.run) : Result<std::vector<catalogue::RunRow>>();
    return runs && !runs->empty() && runs->front().state == catalogue::OpenState::closed;
}

void Storm::crash_recorder(testing::Kept what, std::uint64_t how) {
    if (disk.crashed()) ++power_failures;
    disk.crash();
    recorder.reset();
    disk.restore(what, how);
    restore_catalogue();
}

void Storm::keep_catalogue() {
    const auto content = [this](const char* ending) {
        std::ifstream file(catalogue::catalogue_path(directory_).native() + ending, std::ios::binary);
        return std::string(std::istreambuf_iterator<char>(file), {});
    };
    constexpr std::size_t header =
        32;  // of the log, with another salt each time that it begins anew (sqlite.org/fileformat2)
    std::string before;
    do {  // the log must not begin anew between the two
        before = content("-wal").substr(0, header);
        kept_catalogue_[""] = content("");
        kept_catalogue_["-wal"] = content("-wal");
    } while (kept_catalogue_["-wal"].substr(0, header) != before);
}

void Storm::restore_catalogue() {
    const auto path = catalogue::catalogue_path(directory_).native();
    for (const char* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path + ending);
    for (const auto& [ending, content] : kept_catalogue_) {
        if (!content.empty()) std::ofstream(path + ending, std::ios::binary) << content;
    }
}

std::string Storm::damage_journal(std::mt19937_64& random) {
    const auto found = journals();
    if (found.empty()) return "";
    const auto& journal = found[random() % found.size()];
    const auto older = older_journals_.find(journal);
    return fmt::format(
        "{}: {}", journal.filename().native(),
        testing::damage_journal(journal, older == older_journals_.end() ? ConstData{} : older->second, random, disk));
}

void Storm::copy_journals() {
    for (const auto& journal : journals()) {
        if (auto bytes = datafile::read_records(journal)) older_journals_[journal] = std::move(*bytes);
    }
}

StormSender& Storm::add_sender() {
    const auto n = senders.size() + 1;
    return *senders.emplace_back(std::make_unique<StormSender>(fmt::format("sender-{}", n), n));
}

AssertionResult Storm::settle() {
    const auto deadline = clock_.now() + patience;
    const auto all_final = [this] {
        return std::ranges::all_of(senders, [this](const auto& sender) {
            return !sender->running() ||
                   (sender->flush(faults.fired() ? 3ms : 20ms) && sender->answers().unanswered.empty());
        });
    };
    // Also when no sender waits any more: what a dead sender has sent is in hand, and the last answer arrives a moment
    // before it is counted.
    const auto in_hand = [this] {
        const auto summary = recorder->summary();
        return summary.copies_in_hand != 0 || summary.receiver.in_hand != 0;
    };
    while (!all_final() || disk.crashed() || recorder->failure() || in_hand()) {
        std::this_thread::sleep_for(200us);
        if (faults.fired()) faults.clear();
        if (disk.crashed() || recorder->failure()) {
            if (auto restarted = restart_recorder(); !restarted) return restarted;
        }
        if (clock_.now() < deadline) continue;
        for (const auto& sender : senders) {
            if (sender->running() && sender->stats().held > 0)
                return AssertionFailure()
                       << sender->stats().held << " events have no answer; " << sender->stats().last_problem;
        }
        return AssertionFailure() << recorder->summary().copies_in_hand
                                  << " copies are in hand, or an answer was not received";
    }
    return AssertionSuccess();
}

AssertionResult Storm::balanced() const {
    const auto summary = recorder->summary();
    for (const auto& stream : summary.streams) {
        if (stream.copies.received != stream.copies.stored + stream.copies.rejected_total())
            return AssertionFailure() << stream.name << ": " << stream.copies.received << " received";
    }
    const auto& r = summary.receiver;
    std::uint64_t rejected = 0, rejected_here = 0;
    for (const auto n : r.rejected_by_sink) rejected += n;
    for (const auto n : r.rejected_here) rejected_here += n;
    // In good weather the ledger has every copy that came; else some events came in parts, or twice.
    if (!recorder->continued() && !faults.fired() && r.duplicates + rejected_here + r.returned == 0 &&
        summary.copies_received != r.copies)
        return AssertionFailure() << r.copies << " copies came, the ledger has " << summary.copies_received;
    if (r.in_hand == 0 && r.passed_on == r.acknowledged + rejected + r.returned) return AssertionSuccess();
    return AssertionFailure() << r.passed_on << " events passed on, " << r.acknowledged << " acknowledged, " << rejected
                              << " rejected, " << r.returned << " returned, " << r.in_hand << " in hand";
}

AssertionResult Storm::nothing_lost() const {
    auto catalogue = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(directory_));
    if (!catalogue) return AssertionFailure() << catalogue.error().message();
    const auto rows = (*catalogue)->files();
    if (!rows) return AssertionFailure() << rows.error().message();

    std::vector<recovery::FileToVerify> files;
    std::map<std::string, std::map<std::uint64_t, int>> stored;  // stream, id: copies
    std::map<std::string, std::uint64_t> copies;
    std::set<std::string> names;
    std::string places;  // of all copies, for a failure's message
    for (const auto& row : *rows) {
        if (row.file_state != catalogue::FileState::closed)
            return AssertionFailure() << row.name << " is not closed in the catalogue";
        const auto path = std::filesystem::path(row.volume) / row.name;
        // With a damaged journal nothing proves that a file which is gone held nothing. This one does: `stored`,
        // below.
        if (row.file_health == catalogue::FileHealth::quarantined && row.bytes == 0 && !std::filesystem::exists(path))
            continue;
        files.push_back({path, row});
        names.insert(row.name);
        auto reader = datafile::RawFileReader::open(path);
        if (!reader) return AssertionFailure() << reader.error().message();
        std::vector<std::byte> bytes;
        while (true) {
            const auto next = reader->next(bytes);
            if (!next) return AssertionFailure() << next.error().message();
            if (!*next) break;
            std::uint64_t id = 0;
            std::memcpy(&id, bytes.data(), std::min(sizeof id, bytes.size()));
            places += fmt::format("{} in {} ({}); ", id, row.name.substr(19), name(row.file_health));
            if (bytes != storm_payload(id, bytes.size()))
                return AssertionFailure() << path << ": event " << id << " is not what was sent";
            const auto stream = row.stream_type + "_" + row.stream_name;
            ++copies[stream];
            ++stored[stream][id];
        }
    }
    const auto verified = recovery::verify_files(files, {});
    if (!verified.good()) {
        const auto& damage = verified.damages.front();
        return AssertionFailure() << damage.path << " offset " << damage.offset << ": " << damage.reason;
    }
    for (const auto& entry : std::filesystem::recursive_directory_iterator(directory_)) {
        const auto name = entry.path().filename().native();
        if (name.ends_with(".index.writing"))
            continue;  // could not be removed; the next start does, and nothing needs it
        if (name.ends_with(".writing") || (name.ends_with(".data") && !names.contains(name)))
            return AssertionFailure() << name << " is left over";
    }

    std::vector<StormSender::Answers> all_answers;
    for (const auto& sender : senders) all_answers.push_back(sender->answers());
    for (const auto& answers : all_answers) {
        for (const auto& [id, event] : answers.duplicate) {
            for (const auto& tag : event.tags) {
                if (const auto n = stored[stream_key(tag)][id]; n != 1)
                    return AssertionFailure() << "event " << id << ", a duplicate, is stored " << n << " times in "
                                              << stream_key(tag) << "; " << places;
            }
        }
    }
    for (const auto& answers : all_answers) {
        for (const auto& [id, event] : answers.acknowledged) {
            for (const auto& tag : event.tags) {
                const auto n = stored[stream_key(tag)][id];
                if (n != 1)
                    return AssertionFailure() << "acknowledged event " << id << " is stored " << n << " times in "
                                              << stream_key(tag) << "; " << places;
                stored[stream_key(tag)].erase(id);
            }
        }
    }
    for (const auto& answers : all_answers) {
        for (const auto& [id, event] : answers.unanswered) {
            for (const auto& tag : event.tags) {
                if (const auto n = stored[stream_key(tag)][id]; n > 1)
                    return AssertionFailure()
                           << "event " << id << " is stored " << n << " times in " << stream_key(tag);
                stored[stream_key(tag)].erase(id);
            }
        }
    }
    for (const auto& answers : all_answers) {
        for (const auto& [id, event] : answers.rejected) {
            for (const auto& tag : event.tags) {
                if (stored[stream_key(tag)].contains(id))
                    return AssertionFailure() << "rejected event " << id << " is stored";
            }
        }
    }
    // Recovery may have kept an event that was never acknowledged: then all who send it get the answer "duplicate".
    for (const auto& answers : all_answers) {
        for (const auto& [id, event] : answers.duplicate) {
            for (const auto& tag : event.tags) stored[stream_key(tag)].erase(id);
        }
    }
    for (const auto& [stream, left] : stored) {
        for (const auto& [id, n] : left) {
            if (n > 0) return AssertionFailure() << "event " << id << " in " << stream << " was never sent to it";
        }
    }

    const auto ledgers = (*catalogue)->ledgers(*options.run);
    if (!ledgers) return AssertionFailure() << ledgers.error().message();
    for (const auto& row : *ledgers) {
        std::uint64_t rejected = 0;
        for (const auto& [reason, n] : row.rejected) rejected += n;
        const auto stream = row.stream_type + "_" + row.stream_name;
        if (row.received != row.stored + rejected || row.stored != copies[stream])
            return AssertionFailure() << "the ledger of " << stream << " has " << row.received << " received, "
                                      << row.stored << " stored, " << rejected << " rejected; its files hold "
                                      << copies[stream];
        copies.erase(stream);
    }
    for (const auto& [stream, n] : copies) {
        if (n > 0) return AssertionFailure() << "no ledger for " << stream;
    }
    return AssertionSuccess();
}

}  // namespace weir::recorder
