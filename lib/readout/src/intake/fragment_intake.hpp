// SPDX-License-Identifier: Apache-2.0
// The only way by which a fragment from outside weir comes into a readout's buffers, whoever brought it: a connection,
// a datagram, a plug-in. It is checked, gets the ROD and ROB that it lacks, and is put under its event, or it is
// refused; either is counted for its source. A fragment whose own level-1 id is not that of the event it was sent for
// is refused: an id that slipped by one must be seen, not shift a source against all others.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/event/check.hpp"
#include "weir/readout/rob_store.hpp"
#include "weir/wire/input_block.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::readout {

enum class IntakeResult : std::uint8_t {
    stored,
    full,     // nothing was counted: its sender waits for room and gives it again, or has it refused
    refused,  // counted by its reason
};

struct IntakeAnswer {
    IntakeResult result = IntakeResult::stored;
    RobReject reason{};  // refused only
};

struct FragmentIntakeOptions {
    event::Format format = event::Format::event_5_0;
    event::RodRules rules{};          // offsets and exemptions of the sources' level-1 ids
    RunNumber run{};                  // of the RODs that are made here
    std::optional<SourceId> first{};  // events begin with a fragment of this source:
    std::function<void(Level1Id, std::optional<std::int64_t> time_ns)> on_first{};  // it is stored; must not wait
    /// Takes what has a time and no level-1 id, and gives it back with take_matched(); null: such a fragment has to
    /// have its id inside.
    std::function<IntakeAnswer(const wire::InputFragment&, SteadyTime now)> by_time{};
};

struct Level1Mismatch {
    SourceId source{};
    Level1Id expected{};  // the ROD's id would have been this
    Level1Id found{};
};

/// What came of one source's fragments.
struct SourceCounts {
    SourceId source{};
    std::uint64_t arrived = 0, bytes = 0;  // that are, or were, in the buffers; bytes as they were sent
    std::array<std::uint64_t, rob_reject_count> refused{};
    std::optional<SteadyTime> last_seen{};
};

/// Any number of threads.
class FragmentIntake {
public:
    /// `mismatched` is called for each fragment whose id is another than the one it should have. The store outlives the
    /// intake.
    FragmentIntake(RobStore& store, FragmentIntakeOptions options,
                   std::function<void(const Level1Mismatch&)> mismatched);
    ~FragmentIntake();

    [[nodiscard]] IntakeAnswer take(const wire::InputFragment& fragment, SteadyTime now);
    /// A fragment that brought a time, of this event.
    [[nodiscard]] IntakeAnswer take_matched(wire::InputFragment fragment, Level1Id event);
    /// It was not taken, or never came whole; counted. `source`: as far as it is known.
    void refuse(std::optional<SourceId> source, RobReject reason, SteadyTime now);
    /// Fragments from `first` to `last`, as their source counts, do not come any more: nobody waits for them. Those for
    /// whose events there is no room yet are kept, and marked by a later mark_lost(). Both by the one thread of the
    /// datagrams.
    void never_came(SourceId source, Level1Id first, Level1Id last);
    /// True: some still wait for room.
    bool mark_lost();

    /// Of each source of the store, in its order.
    [[nodiscard]] std::vector<SourceCounts> counts() const;
    [[nodiscard]] RobStore& store() noexcept { return store_; }

private:
    struct Account;

    [[nodiscard]] Account* account_of(SourceId source) const noexcept;
    [[nodiscard]] event::SourceRule rule_of(SourceId source) const noexcept;
    [[nodiscard]] IntakeAnswer refused(Account* account, RobReject reason);  // for the source
    [[nodiscard]] IntakeAnswer refuse(Account* account, RobReject reason);   // and in the ledger; nullptr: of none
    [[nodiscard]] IntakeAnswer take_known(const wire::InputFragment& fragment, Account&);
    [[nodiscard]] IntakeAnswer take_raw(const wire::InputFragment& fragment, const event::SourceRule& rule, Account&);
    [[nodiscard]] IntakeAnswer take_rod(const wire::InputFragment& fragment, const event::SourceRule& rule, Account&);
    [[nodiscard]] IntakeAnswer take_rob(const wire::InputFragment& fragment, const event::SourceRule& rule, Account&);
    struct Placed {
        Level1Id event{};
        std::optional<RobReject> fault{};
    };
    [[nodiscard]] Placed place(const wire::InputFragment& fragment, const event::SourceRule& rule, ConstData rod,
                               std::size_t offset, bool marked);
    [[nodiscard]] IntakeAnswer put(Level1Id event, const wire::InputFragment& fragment,
                                   std::span<const ConstData> pieces, std::size_t bytes, Account& account);
    struct NeverCame {
        SourceId source{};
        Level1Id first{};  // as the source counts
        std::uint32_t count = 0;
        [[nodiscard]] Level1Id end() const noexcept { return Level1Id{number(first) + count}; }
    };
    static constexpr std::size_t unmarked_max = 1024;  // more: their events wait until a builder gives up
    void mark_lost(NeverCame& lost);

    RobStore& store_;
    const FragmentIntakeOptions options_;
    const std::function<void(const Level1Mismatch&)> mismatched_;
    std::unique_ptr<Account[]> accounts_;                     // in the order of the store's sources
    std::vector<std::pair<SourceId, std::uint32_t>> places_;  // sorted
    std::vector<NeverCame> unmarked_;                         // of events for which there was no room
};

/// The reason as the input protocol names it.
[[nodiscard]] wire::RefuseReason refuse_reason(RobReject reason) noexcept;

}  // namespace weir::readout
