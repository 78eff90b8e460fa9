// SPDX-License-Identifier: Apache-2.0
#include "streams/stream_set.hpp"

#include <utility>

namespace weir::recorder {
namespace {

constexpr std::size_t stream_queue_max = 64;     // events; their memory is the pool's in any case
constexpr std::size_t earlier_lists_max = 4096;  // beyond, each event has its own

}  // namespace

StreamSet::StreamSet(const RecorderOptions& options, FileKeeper& keeper, LumiBlocks& blocks, const Clock& clock)
    : options_(options), keeper_(keeper), blocks_(blocks), clock_(clock) {}

std::expected<StreamSet::Entry*, wire::RejectReason> StreamSet::find_or_make(const StreamTag& tag,
                                                                             event::Format format) {
    using Found = std::expected<Entry*, wire::RejectReason>;
    const auto key = stream_key(tag);
    const auto of_this_format = [format](Entry& entry) {
        return entry.stream->format() == format ? Found(&entry) : std::unexpected(wire::RejectReason::format_mismatch);
    };
    {
        const std::shared_lock lock(mutex_);
        if (const auto found = streams_.find(key); found != streams_.end()) return of_this_format(found->second);
    }
    const std::unique_lock lock(mutex_);
    if (const auto found = streams_.find(key); found != streams_.end()) return of_this_format(found->second);
    if (streams_.size() >= options_.streams_max) return std::unexpected(wire::RejectReason::streams_exceeded);
    StreamTag identity;
    identity.type = tag.type;
    identity.name = tag.name;
    identity.obeys_lumi_block = tag.obeys_lumi_block;
    Entry entry;
    entry.stream = std::make_unique<Stream>(std::move(identity), format, options_, keeper_, blocks_, clock_);
    if (options_.mode == Mode::original || options_.mode == Mode::parallel)
        entry.thread = std::make_unique<StreamThread>(stream_queue_max);
    return &streams_.emplace(key, std::move(entry)).first->second;
}

std::vector<Ledger*> StreamSet::ledgers_of(std::span<const StreamTag> tags, Ledger& otherwise) {
    std::vector<Ledger*> ledgers;
    const std::shared_lock lock(mutex_);
    for (const auto& tag : tags) {
        const auto found = streams_.find(stream_key(tag));
        ledgers.push_back(found == streams_.end() ? &otherwise : &found->second.stream->ledger());
    }
    return ledgers;
}

std::vector<const Ledger*> StreamSet::ledgers() const {
    std::vector<const Ledger*> ledgers;
    const std::shared_lock lock(mutex_);
    for (const auto& [key, entry] : streams_) ledgers.push_back(&entry.stream->ledger());
    return ledgers;
}

datafile::EarlierStreams StreamSet::earlier(std::span<Entry* const> streams, std::uint64_t stored, std::uint16_t copy) {
    std::vector<const Stream*> before;
    for (std::uint16_t earlier = 0; earlier < copy; ++earlier) {
        if ((stored >> earlier & 1) != 0) before.push_back(streams[earlier]->stream.get());
    }
    if (before.empty()) return {};
    const std::scoped_lock lock(earlier_mutex_);
    if (const auto known = earlier_.find(before); known != earlier_.end()) return known->second;
    std::vector<std::string> keys;
    for (const auto* stream : before) keys.push_back(stream_key(stream->tag()));
    datafile::EarlierStreams list{std::make_shared<const std::vector<std::string>>(std::move(keys))};
    if (earlier_.size() < earlier_lists_max) earlier_.emplace(std::move(before), list);
    return list;
}

std::vector<StreamSummary> StreamSet::summary() const {
    std::vector<StreamSummary> all;
    const std::shared_lock lock(mutex_);
    for (const auto& [key, entry] : streams_)
        all.push_back({key, entry.stream->ledger().counts(), entry.stream->files_opened(), entry.stream->files_open()});
    return all;
}

void StreamSet::close_due() {
    const std::shared_lock lock(mutex_);
    for (auto& [key, entry] : streams_) entry.stream->close_due();
}

void StreamSet::end_threads() {
    const std::shared_lock lock(mutex_);
    for (auto& [key, entry] : streams_) entry.thread.reset();
}

void StreamSet::close_all(bool run_ends) {
    const std::shared_lock lock(mutex_);
    for (auto& [key, entry] : streams_) entry.stream->close_all(run_ends);
}

}  // namespace weir::recorder
