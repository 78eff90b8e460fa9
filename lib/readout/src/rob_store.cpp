// SPDX-License-Identifier: Apache-2.0
#include "weir/readout/rob_store.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>

#include "rob_memory.hpp"
#include "rob_slot.hpp"
#include "weir/base/assert.hpp"

namespace weir::readout {
namespace {

/// So many ids may be between the oldest that is not cleared and the newest, for each event that may be held: one event
/// that stays long does not stop the others.
constexpr std::uint32_t ring_per_event = 4;
constexpr std::uint32_t ring_max = 1U << 24;
constexpr std::uint64_t always_masked = std::uint64_t{1} << 33;
/// Sources outside leave a quarter of the memory to the next events and to those that others have begun, and half of
/// that to the oldest.
constexpr std::int32_t near_events = 16;
/// Small ROBs share buffers. If each event that may be held kept one for itself, they would take a part of the memory.
constexpr std::size_t shared_part = 4, shared_size_max = 64 << 10;
/// So many slots ahead are fetched into the cache: they were last written by another thread.
constexpr std::uint32_t slots_ahead = 4;

/// An event takes memory for so many of its sources at once.
constexpr std::size_t sources_a_piece = 16;
constexpr std::size_t pieces_of(std::size_t sources) noexcept {
    return std::max<std::size_t>((sources + sources_a_piece - 1) / sources_a_piece, 1);
}

std::size_t size_of(const event::RobData& rob) noexcept { return rob.bytes.size(); }
std::size_t size_of(const RobPieces& rob) noexcept {
    std::size_t size = 0;
    for (const auto piece : rob.pieces) size += piece.size();
    return size;
}

void copy(const event::RobData& rob, std::byte* to) noexcept { std::memcpy(to, rob.bytes.data(), rob.bytes.size()); }
void copy(const RobPieces& rob, std::byte* to) noexcept {
    for (const auto piece : rob.pieces) {
        if (!piece.empty()) std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
    }
}

}  // namespace

/// What a call has emptied, for the others to notice once.
struct RobStore::Emptied {
    explicit Emptied(RobMemory& of) : memory(of) {}
    std::size_t robs = 0;
    std::uint32_t events = 0;
    RobMemory::Released memory;
};

RobStore::RobStore(const RobStoreOptions& options)
    : sources_(options.sources),
      events_max_(std::clamp<std::uint32_t>(options.events_max, 1, ring_max / ring_per_event)),
      lost_after_(options.lost_after),
      ring_size_(std::bit_ceil(events_max_ * ring_per_event)),
      memory_(std::make_unique<RobMemory>(options.bytes_max,
                                          std::min<std::size_t>(options.bytes_max.count() / shared_part / events_max_ /
                                                                    pieces_of(options.sources.size()),
                                                                shared_size_max))),
      largest_(memory_->largest()),
      ring_(std::make_unique<Slot[]>(ring_size_)),
      masked_(std::make_unique<std::atomic<std::uint64_t>[]>(sources_.size())),
      newest_(std::make_unique<std::atomic<std::uint64_t>[]>(sources_.size())),
      oldest_(number(options.first)),
      placed_(options.placed) {
    places_.reserve(sources_.size());
    for (std::uint32_t i = 0; i < sources_.size(); ++i) places_.emplace_back(sources_[i], i);
    std::ranges::sort(places_);
    WEIR_ASSERT(std::ranges::adjacent_find(places_, {}, &std::pair<SourceId, std::uint32_t>::first) == places_.end());
}

RobStore::~RobStore() {
    Emptied all(*memory_);
    for (std::uint32_t i = 0; i < ring_size_; ++i)
        if (ring_[i].use == SlotUse::held) empty(ring_[i], all);
}

RobStore::Held RobStore::held() const noexcept {
    return {static_cast<double>(events_held()) / static_cast<double>(events_max_),
            static_cast<double>(memory_->taken()) / static_cast<double>(memory_->bytes_max())};
}

Bytes RobStore::bytes_held() const { return memory_->in_use(); }

std::size_t RobStore::place_of(SourceId source) const noexcept {
    if (places_.size() == 1) return places_.front().first == source ? 0 : 1;
    const auto found = std::ranges::lower_bound(places_, source, {}, &std::pair<SourceId, std::uint32_t>::first);
    return found == places_.end() || found->first != source ? sources_.size() : found->second;
}

RobStore::Slot& RobStore::slot_of(Level1Id event) const noexcept { return ring_[number(event) & (ring_size_ - 1)]; }

std::int32_t RobStore::ahead(Level1Id event) const noexcept { return wire::level1_distance(event, oldest()); }

bool RobStore::within_window(Level1Id event) const noexcept {
    const auto distance = ahead(event);
    return distance >= 0 && static_cast<std::uint32_t>(distance) < ring_size_;
}

void RobStore::changed(Slot& slot, std::unique_lock<std::mutex>& lock) const {
    // Written under the lock only; pairs with changes().
    slot.changes.store(slot.changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    const bool wake = slot.waiters > 0;
    lock.unlock();
    if (wake) slot.arrived.notify_all();
}

// Filling.

RobStore::Outcome RobStore::refuse(RobReject reason, std::size_t robs) const {
    ledger_.refuse(reason, robs);
    return {PutResult::refused, reason};
}

bool RobStore::take_slot(Slot& slot, Level1Id event, bool reserved) {
    if (events_held_.fetch_add(1, std::memory_order_relaxed) >= events_max_ && !reserved) {
        events_held_.fetch_sub(1, std::memory_order_relaxed);
        return false;
    }
    slot.event = event;
    slot.use = SlotUse::held;
    slot.whole = false;
    slot.one = {};
    if (sources_.size() > 1) {
        if (!slot.many) slot.many = std::make_unique<KeptRob[]>(sources_.size());
        std::fill_n(slot.many.get(), sources_.size(), KeptRob{});
    }
    return true;
}

/// `left`: what of the memory is to stay free for others.
MutableData RobStore::room_in(Slot& slot, std::size_t size, bool whole, std::size_t left) {
    if (slot.room.size() < size) {
        // The first ROB of an event takes memory for the others, which are often as large.
        const auto others = whole ? 1 : std::min<std::size_t>(sources_.size() - slot.here, sources_a_piece);
        const auto wanted = std::min(size * std::max<std::size_t>(others, 1), std::max(size, largest_));
        auto piece = memory_->try_take(wanted, left);
        if (!piece && others > 1) piece = memory_->try_take(size, left);
        if (!piece) return {};
        slot.room = piece->data;
        if (piece->shared != nullptr && slot.shared == nullptr) {
            slot.shared = piece->shared;
        } else {
            if (!slot.more) slot.more = std::make_unique<std::vector<Slot::Memory>>();
            slot.more->push_back({piece->shared, std::move(piece->own)});
        }
    }
    const auto room = slot.room.first(size);
    slot.room = slot.room.subspan(size);
    return room;
}

/// A slot whose event was cleared, and which the window has passed since. `oldest`: by which its caller has found its
/// own event in the window; a later one could make that event's own slot free.
void RobStore::free_if_passed(Slot& slot, Level1Id oldest) noexcept {
    if (slot.use == SlotUse::cleared && wire::level1_distance(slot.event, oldest) < 0) slot.use = SlotUse::free;
}

/// An id so far beyond the window is a counter that jumped, unless its source counts on from there.
bool RobStore::jumped(std::size_t place, Level1Id event, std::int32_t distance) const noexcept {
    if (static_cast<std::uint32_t>(distance) < ring_size_ || !placed_.load(std::memory_order_relaxed)) return false;
    const auto newest = newest_[place].load(std::memory_order_relaxed);
    const auto from = newest == 0 ? oldest() : Level1Id{static_cast<std::uint32_t>(newest)};
    const auto step = wire::level1_distance(event, from);
    return step < 0 || static_cast<std::uint32_t>(step) >= ring_size_;
}

/// What a source outside leaves of the memory: nothing for the oldest event, and least where others have begun it.
std::size_t RobStore::left_for_others(const Slot& slot, std::int32_t distance) const noexcept {
    if (distance == 0) return 0;
    return memory_->bytes_max() / (slot.here > 0 || distance < near_events ? 8 : 4);
}

template <class Rob>
RobStore::Outcome RobStore::put_robs(Level1Id event, std::span<const Rob> robs, bool whole) {
    constexpr bool outside = std::is_same_v<Rob, RobPieces>;
    std::size_t size = 0;
    for (const auto& rob : robs) {
        if (!knows(rob.source)) return refuse(RobReject::unknown_source, robs.size());
        size += size_of(rob);
    }
    if (size > largest_) return refuse(RobReject::too_large, robs.size());
    auto& slot = slot_of(event);
    __builtin_prefetch(&slot_of(Level1Id{number(event) + slots_ahead}), 1);
    std::unique_lock lock(slot.mutex);
    const auto oldest = this->oldest();
    const auto distance = wire::level1_distance(event, oldest);
    if (distance < 0) return refuse(RobReject::late, robs.size());
    free_if_passed(slot, oldest);
    if constexpr (outside) {
        if (jumped(place_of(robs.front().source), event, distance)) return refuse(RobReject::too_far_ahead, 1);
    }
    if (static_cast<std::uint32_t>(distance) >= ring_size_) return {PutResult::full};
    if (slot.use != SlotUse::free && slot.event != event) return {PutResult::full};  // being emptied at this moment
    if (slot.use == SlotUse::cleared) return refuse(RobReject::cleared, robs.size());
    const bool taken = slot.use == SlotUse::free;
    if (!taken) {
        for (const auto& rob : robs)
            if (slot.whole || slot.rob(place_of(rob.source)).data != nullptr)
                return refuse(RobReject::duplicate, robs.size());
    } else if (!take_slot(slot, event, outside && static_cast<std::uint32_t>(distance) < events_max_)) {
        return {PutResult::full};
    }
    MutableData room;
    if (size > 0) {
        room = room_in(slot, size, whole, outside ? left_for_others(slot, distance) : 0);
        if (room.empty()) {
            if (taken) {
                slot.use = SlotUse::free;
                events_held_.fetch_sub(1, std::memory_order_relaxed);
            }
            return {PutResult::full};
        }
    }
    std::size_t here = 0;
    for (const auto& rob : robs) {
        const auto place = place_of(rob.source);
        auto& kept = slot.rob(place);
        const auto bytes = size_of(rob);
        if (kept.data != nullptr || bytes == 0) continue;  // named twice, or nothing
        copy(rob, room.data());
        note_newest(place, event);
        kept = {room.data(), static_cast<std::uint32_t>(bytes), false};
        room = room.subspan(bytes);
        ++here;
    }
    slot.here += here;
    slot.whole = slot.whole || whole;
    ledger_.arrive(here);
    if (here < robs.size()) ledger_.refuse(RobReject::duplicate, robs.size() - here);
    changed(slot, lock);
    return {PutResult::stored};
}

PutResult RobStore::put(Level1Id event, const event::RobData& rob) {
    return put_robs(event, std::span(&rob, 1), false).result;
}

PutResult RobStore::put(Level1Id event, const RobPieces& rob, RobReject& why) {
    const auto outcome = put_robs(event, std::span(&rob, 1), false);
    why = outcome.why;
    return outcome.result;
}

PutResult RobStore::put_event(Level1Id event, std::span<const event::RobData> robs) {
    return put_robs(event, robs, true).result;
}

void RobStore::note_newest(std::size_t place, Level1Id event) noexcept {
    auto& newest = newest_[place];
    auto known = newest.load(std::memory_order_relaxed);
    while (known == 0 || wire::level1_distance(event, Level1Id{static_cast<std::uint32_t>(known)}) > 0)
        if (newest.compare_exchange_weak(known, number(event) | std::uint64_t{1} << 32, std::memory_order_relaxed))
            return;
}

bool RobStore::mark_lost(Level1Id event, SourceId source) {
    const auto place = place_of(source);
    if (place == sources_.size()) return true;
    auto& slot = slot_of(event);
    std::unique_lock lock(slot.mutex);
    const auto oldest = this->oldest();
    const auto distance = wire::level1_distance(event, oldest);
    if (distance < 0) return true;
    if (static_cast<std::uint32_t>(distance) >= ring_size_) return false;
    free_if_passed(slot, oldest);
    if (slot.use == SlotUse::cleared) return true;
    const bool near = static_cast<std::uint32_t>(distance) < events_max_;  // these always find a place
    if (slot.use == SlotUse::held ? slot.event != event : !take_slot(slot, event, near)) return false;
    slot.rob(place).lost = true;
    changed(slot, lock);
    return true;
}

// Asking.

wire::RobState RobStore::state_of(const Slot& slot, Level1Id event, std::size_t place) const noexcept {
    using wire::RobState;
    if (place == sources_.size()) return RobState::unknown;
    const bool mine = slot.use != SlotUse::free && slot.event == event;
    if (ahead(event) < 0 || (mine && slot.use == SlotUse::cleared)) return RobState::cleared;
    if (mine) {
        const auto& rob = slot.rob(place);
        if (rob.data != nullptr) return RobState::here;
        if (rob.lost || slot.whole) return RobState::lost;
    }
    if (const auto from = masked_[place].load(std::memory_order_relaxed);
        from == always_masked ||
        (from != 0 && wire::level1_distance(event, Level1Id{static_cast<std::uint32_t>(from)}) >= 0))
        return RobState::lost;
    if (lost_after_ > 0) {
        const auto newest = newest_[place].load(std::memory_order_relaxed);
        if (newest != 0 && wire::level1_distance(Level1Id{static_cast<std::uint32_t>(newest)}, event) >=
                               static_cast<std::int32_t>(lost_after_))
            return RobState::lost;
    }
    return RobState::not_yet;
}

RobStore::Answer RobStore::read(Level1Id event, std::span<const SourceId> robs, std::vector<wire::RobPart>& parts,
                                std::vector<std::byte>& data, std::size_t data_max) const {
    Answer answer;
    const auto& slot = slot_of(event);
    const std::scoped_lock lock(slot.mutex);
    const auto add = [&](SourceId source, std::size_t place) {
        auto state = state_of(slot, event, place);
        if (state == wire::RobState::here && slot.rob(place).size > data_max - data.size())
            state = wire::RobState::not_yet;
        parts.push_back({source, state, 0});
        if (state == wire::RobState::not_yet) ++answer.not_yet;
        if (state != wire::RobState::here) return;
        const auto& rob = slot.rob(place);
        parts.back().size = rob.size;
        data.insert(data.end(), rob.data, rob.data + rob.size);
        ++answer.here;
    };
    if (robs.empty()) {
        for (std::size_t place = 0; place < sources_.size(); ++place) add(sources_[place], place);
    } else {
        for (const auto source : robs) add(source, place_of(source));
    }
    return answer;
}

bool RobStore::ready_locked(const Slot& slot, Level1Id event, std::span<const SourceId> robs) const noexcept {
    const auto pending = [&](std::size_t place) { return state_of(slot, event, place) == wire::RobState::not_yet; };
    if (!robs.empty()) return std::ranges::none_of(robs, pending, [&](SourceId source) { return place_of(source); });
    for (std::size_t place = 0; place < sources_.size(); ++place)
        if (pending(place)) return false;
    return true;
}

bool RobStore::ready(Level1Id event, std::span<const SourceId> robs) const {
    const auto& slot = slot_of(event);
    const std::scoped_lock lock(slot.mutex);
    return ready_locked(slot, event, robs);
}

std::uint32_t RobStore::changes(Level1Id event) const noexcept {
    return slot_of(event).changes.load(std::memory_order_acquire);
}

bool RobStore::wait_until_ready(Level1Id event, std::span<const SourceId> robs, SteadyTime deadline) const {
    auto& slot = slot_of(event);
    std::unique_lock lock(slot.mutex);
    ++slot.waiters;
    slot.arrived.wait_until(
        lock, deadline, [&] { return stopping_.load(std::memory_order_relaxed) || ready_locked(slot, event, robs); });
    --slot.waiters;
    return ready_locked(slot, event, robs);
}

// Clearing.

void RobStore::empty(Slot& slot, Emptied& all) {
    all.robs += slot.here;
    ++all.events;
    if (slot.shared != nullptr) all.memory.add(*std::exchange(slot.shared, nullptr));
    if (slot.more && !slot.more->empty()) {
        for (auto& piece : *slot.more) {
            if (piece.shared != nullptr) all.memory.add(*piece.shared);
            if (piece.own) all.memory.add(std::move(piece.own));
        }
        slot.more->clear();
    }
    slot.room = {};
    slot.here = 0;
}

void RobStore::emptied(Emptied& all) {
    all.memory.done();
    if (all.events > 0 && events_held_.fetch_sub(all.events, std::memory_order_relaxed) == all.events) memory_->idle();
    if (all.robs > 0) ledger_.clear(all.robs);
    room_was_made();
}

void RobStore::clear(std::span<const Level1Id> events) {
    Emptied all(*memory_);
    {
        const std::scoped_lock window(window_mutex_);
        const auto oldest = this->oldest();
        auto next = oldest;  // that is not cleared, as far as is known here
        for (std::size_t i = 0; i < events.size(); ++i) {
            const auto event = events[i];
            if (i + slots_ahead < events.size()) __builtin_prefetch(&slot_of(events[i + slots_ahead]), 1);
            auto& slot = slot_of(event);
            std::unique_lock lock(slot.mutex);
            const auto distance = wire::level1_distance(event, oldest);
            if (distance < 0) continue;  // again
            if (static_cast<std::uint32_t>(distance) >= ring_size_) {
                clears_beyond_.fetch_add(1, std::memory_order_relaxed);
                continue;
            }
            free_if_passed(slot, oldest);
            if (slot.use == SlotUse::cleared) continue;
            WEIR_ASSERT(slot.use == SlotUse::free || slot.event == event);
            if (slot.use == SlotUse::held) empty(slot, all);
            slot.use = SlotUse::cleared;
            slot.event = event;
            changed(slot, lock);
            if (event == next) next = Level1Id{number(next) + 1};
        }
        if (next != oldest) advance(next);
    }
    emptied(all);
}

/// The window begins at `from`, or behind what follows it and was cleared before. Under window_mutex_.
void RobStore::advance(Level1Id from) {
    while (true) {
        const auto& slot = slot_of(from);
        const std::scoped_lock lock(slot.mutex);
        if (slot.use != SlotUse::cleared || slot.event != from) break;
        from = Level1Id{number(from) + 1};
    }
    oldest_.store(number(from), std::memory_order_release);
}

void RobStore::clear_older(Level1Id oldest) {
    Emptied all(*memory_);
    {
        const std::scoped_lock window(window_mutex_);
        const auto from = oldest_.load(std::memory_order_acquire);
        const bool older = wire::level1_distance(oldest, Level1Id{from}) > 0;
        if (older) oldest_.store(number(oldest), std::memory_order_release);
        placed_.store(true, std::memory_order_release);  // who sees it sees the place
        if (!older) return;
        const auto ids = std::min(number(oldest) - from, ring_size_);
        for (std::uint32_t i = 0; i < ids; ++i) {
            auto& slot = slot_of(Level1Id{from + i});
            std::unique_lock lock(slot.mutex);
            if (slot.use != SlotUse::free && wire::level1_distance(slot.event, oldest) >= 0) continue;  // newer already
            if (slot.use == SlotUse::held) empty(slot, all);
            slot.use = SlotUse::free;
            changed(slot, lock);
        }
        advance(oldest);
    }
    emptied(all);
}

void RobStore::room_was_made() {
    room_changes_.fetch_add(1, std::memory_order_seq_cst);
    if (room_waiters_.load(std::memory_order_seq_cst) == 0) return;
    {
        const std::scoped_lock lock(room_mutex_);
    }
    room_.notify_all();
}

void RobStore::wait_for_room(std::uint64_t seen, SteadyTime deadline) {
    std::unique_lock lock(room_mutex_);
    room_waiters_.fetch_add(1, std::memory_order_seq_cst);
    room_.wait_until(lock, deadline,
                     [&] { return room_changes() != seen || stopping_.load(std::memory_order_relaxed); });
    room_waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void RobStore::set_masks(const std::vector<service::SourceMask>& masks) {
    std::vector<std::uint64_t> now(sources_.size(), 0);
    for (const auto& mask : masks) {
        const auto place = place_of(mask.source);
        if (place == sources_.size()) continue;
        now[place] = !mask.masked ? 0 : mask.from ? number(*mask.from) | std::uint64_t{1} << 32 : always_masked;
    }
    for (std::size_t place = 0; place < now.size(); ++place)
        masked_[place].store(now[place], std::memory_order_relaxed);
    mask_changes_.store(masks.size(), std::memory_order_relaxed);
}

void RobStore::settle_masks() noexcept {
    const auto event = oldest();
    for (std::size_t place = 0; place < sources_.size(); ++place) {
        auto from = masked_[place].load(std::memory_order_relaxed);
        if (from != 0 && from != always_masked &&
            wire::level1_distance(event, Level1Id{static_cast<std::uint32_t>(from)}) > 0)
            masked_[place].compare_exchange_strong(from, always_masked, std::memory_order_relaxed);
    }
}

void RobStore::stop_waiting() {
    stopping_.store(true, std::memory_order_relaxed);  // the locks below order it
    for (std::uint32_t i = 0; i < ring_size_; ++i) {
        std::unique_lock lock(ring_[i].mutex);
        changed(ring_[i], lock);
    }
    {
        const std::scoped_lock lock(room_mutex_);
    }
    room_.notify_all();
}

void RobStore::reset(Level1Id first) {
    Emptied all(*memory_);
    std::int32_t cleared = -1;  // the newest, as ahead() counts
    for (std::uint32_t i = 0; i < ring_size_; ++i) {
        const std::scoped_lock lock(ring_[i].mutex);
        if (ring_[i].use == SlotUse::cleared) cleared = std::max(cleared, ahead(ring_[i].event));
    }
    for (std::uint32_t i = 0; i < ring_size_; ++i) {
        const std::scoped_lock lock(ring_[i].mutex);
        const auto reason = ahead(ring_[i].event) < cleared ? RobReject::not_cleared : RobReject::made_ahead;
        if (ring_[i].use == SlotUse::held) {
            ledger_.reject(reason, ring_[i].here);
            empty(ring_[i], all);
        }
        ring_[i].use = SlotUse::free;
    }
    for (std::size_t i = 0; i < sources_.size(); ++i) newest_[i].store(0, std::memory_order_relaxed);
    oldest_.store(number(first), std::memory_order_release);
    stopping_.store(false, std::memory_order_relaxed);
    all.robs = 0;  // counted by their reason
    emptied(all);
}

std::uint64_t RobStore::count_robs() const {
    std::uint64_t robs = 0;
    for (std::uint32_t i = 0; i < ring_size_; ++i) {
        const std::scoped_lock lock(ring_[i].mutex);
        if (ring_[i].use != SlotUse::held) continue;
        for (std::size_t place = 0; place < sources_.size(); ++place)
            if (ring_[i].rob(place).data != nullptr) ++robs;
    }
    return robs;
}

}  // namespace weir::readout
