// SPDX-License-Identifier: Apache-2.0
// Blocks of fragments and of triggers, as programs and boards outside send them to a readout or a supervisor: the
// payload of an EVENT of the delivery protocol whose session has the format `fragments` or `triggers`. Bytes only;
// docs/formats/input-protocol.md describes every field.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::wire {

inline constexpr std::size_t input_record_header_size = 32;
inline constexpr std::size_t input_status_words_max = 64;
inline constexpr std::size_t input_trigger_words_max = 256;
inline constexpr std::size_t block_records_max = 4096;
inline constexpr std::size_t block_size_usual = 64 * 1024;  // a sender's: larger only for one large fragment

/// The form of a fragment's payload.
enum class PayloadKind : std::uint8_t {
    raw,  // any bytes: becomes the data of a ROD
    rod,  // a whole ROD fragment
    rob,  // a whole ROB fragment
};

/// One source's data for one trigger.
struct InputFragment {
    SourceId source{};
    std::optional<Level1Id> level1_id{};    // as its source counts
    std::optional<std::int64_t> time_ns{};  // of the trigger, by the board's own clock
    PayloadKind kind = PayloadKind::raw;
    std::vector<std::uint32_t> status_words{};  // of its source; raw payloads only
    ConstData payload{};                        // a view into the block

    bool operator==(const InputFragment& other) const;
};

struct InputTrigger {
    Level1Id level1_id{};
    std::int64_t time_ns = 0;  // since 1970, or of the trigger unit's clock
    std::uint32_t type = 0;
    std::uint32_t bunch_crossing_id = 0;
    std::vector<std::uint32_t> words{};

    bool operator==(const InputTrigger&) const = default;
};

/// What a record costs in its block.
[[nodiscard]] std::size_t encoded_size(const InputFragment& fragment) noexcept;
[[nodiscard]] std::size_t encoded_size(const InputTrigger& trigger) noexcept;

/// Appends a record. Lists are within the limits above, the payload below 1 GiB.
void encode(const InputFragment& fragment, std::vector<std::byte>& block);
void encode(const InputTrigger& trigger, std::vector<std::byte>& block);
/// The same without the bytes of the payload and their padding, which follow from elsewhere.
void encode_head(const InputFragment& fragment, std::vector<std::byte>& block);

/// Reads the records of a block one after the other; they are views into it. A record whose own fields contradict each
/// other is `bad` and passed over, since its length still leads to the next; where the length is wrong too the block is
/// `broken`, and nothing behind it can be read.
template <class Record>
class BlockReader {
public:
    enum class Next : std::uint8_t { record, bad, end, broken };

    explicit BlockReader(ConstData block) noexcept : rest_(block) {}

    /// `record`: it is in record() until the next call. `bad`: why() names the fault.
    [[nodiscard]] Next next();
    [[nodiscard]] const Record& record() const noexcept { return record_; }
    [[nodiscard]] const char* why() const noexcept { return why_; }
    /// Of the record that next() gave last, from 0 on.
    [[nodiscard]] std::uint32_t index() const noexcept { return count_ - 1; }

private:
    [[nodiscard]] Next fail(Next next, const char* why) noexcept {
        why_ = why;
        return next;
    }

    ConstData rest_;
    Record record_;
    std::uint32_t count_ = 0;
    const char* why_ = "";
};

extern template class BlockReader<InputFragment>;
extern template class BlockReader<InputTrigger>;

}  // namespace weir::wire
