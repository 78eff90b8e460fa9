// SPDX-License-Identifier: Apache-2.0
#include "transfer/transfer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/source.hpp"

namespace weir::handoff {
namespace {

constexpr std::chrono::milliseconds tidy_patience{3'000};  // for removing what a stop leaves: a stop must end
constexpr std::uint32_t attempts_cleaned_first = 32;       // the latest; each is one question

/// The answer of a server, fit for the catalogue and a log: printable, and not too long.
std::string plain_text(std::string text) {
    std::ranges::replace_if(text, [](unsigned char c) { return c < ' ' || c > '~'; }, '?');
    return text.substr(0, 1000);
}

}  // namespace

/// One attempt: what its steps share.
class Transfer::Attempt {
public:
    Attempt(Transfer& transfer, const catalogue::FileRow& file, const std::string& place, catalogue::TransferRow& row,
            const std::stop_token& stop)
        : t_(transfer), file_(file), place_(place), row_(row), patience_{stop, transfer.options_.answer} {}

    TransferResult run() {
        const auto known = known_sum(file_, t_.options_.algorithm);
        if (!known) return failed(Trouble::source, known.error().message());
        wanted_ = *known;

        const auto there = t_.destination_.size_of(place_, patience_);
        if (!there) return failed(Trouble::destination, there.error().message());
        if (*there) return take_what_is_there(**there);
        if (row_.state == catalogue::CopyState::unverified) {  // its bytes are there; what is missing is a sum
            const auto temporary = temporary_place(place_, row_.guid, row_.attempts);
            const auto size = t_.destination_.size_of(temporary, patience_);
            if (!size) return unverified(size.error().message());
            if (*size == file_.bytes) return verify(temporary);
        }
        return copy();
    }

private:
    TransferResult copy() {
        // What earlier attempts left takes room. A failure is no reason to wait: this attempt has a name of its own.
        const auto last = row_.attempts;
        const auto first = last > attempts_cleaned_first ? last - attempts_cleaned_first + 1 : 1;
        cleaned_ = t_.remove_attempts(place_, row_.guid, first, last, patience_.stop).has_value() && first == 1;
        row_.attempts += 1;
        row_.state = catalogue::CopyState::copying;
        row_.next_try.reset();
        row_.algorithm.clear();
        row_.checksum.clear();
        row_.bytes = 0;
        if (auto saved = save(); !saved) return failed_without_row(saved.error().message());

        const auto temporary = temporary_place(place_, row_.guid, row_.attempts);
        begun_ = temporary;
        const auto sent = send(temporary);
        if (!sent) {
            remove(temporary);
            return failed(sent.error().of_source ? Trouble::source : Trouble::destination,
                          sent.error().error.message());
        }
        bytes_sent_ = sent->bytes;
        if (sent->bytes != file_.bytes || sent->sum != *wanted_) return damaged_source(*sent, temporary);
        return verify(temporary);
    }

    std::expected<SourceSum, ReadFailure> send(const std::string& temporary) {
        auto upload = t_.destination_.begin(temporary, file_.bytes, patience_);
        if (!upload) return std::unexpected(ReadFailure{upload.error(), false});
        const auto read = WEIR_TRY(read_source(path_of(file_), upload->get(), t_.options_, patience_.stop));
        if (auto finished = (*upload)->finish(); !finished)
            return std::unexpected(ReadFailure{finished.error(), false});
        return read;
    }

    /// The copy has other bytes than the catalogue promises, and it was made of what the disk gave.
    TransferResult damaged_source(const SourceSum& sent, const std::string& temporary) {
        remove(temporary);
        const auto again = read_source(path_of(file_), nullptr, t_.options_, patience_.stop);
        if (patience_.stop.stop_requested()) return stopped();
        if (!again) return failed(Trouble::source, again.error().error.message());
        if (again->bytes == file_.bytes && again->sum == *wanted_)
            return failed(Trouble::source,
                          fmt::format("{} was read with {} {}, and then as it should be, {}; suspect the memory or "
                                      "the disk of this machine",
                                      path_of(file_).native(), digest::name(t_.options_.algorithm), sent.sum.hex(),
                                      wanted_->hex()));
        const auto why = fmt::format(
            "{} is damaged: it has {} bytes and {} {}, the catalogue has {} bytes and {}; `weir verify` "
            "names the event",
            path_of(file_).native(), again->bytes, digest::name(t_.options_.algorithm), again->sum.hex(), file_.bytes,
            wanted_->hex());
        if (auto entered = t_.catalogue_.set_file_health(file_.guid, catalogue::FileHealth::quarantined); !entered)
            return failed(Trouble::catalogue, entered.error().message());
        auto result = failed(Trouble::source, why);
        result.outcome = Outcome::quarantined;
        return result;
    }

    TransferResult verify(const std::string& temporary) {
        if (auto wrong = compare_size(temporary)) return std::move(*wrong);
        if (t_.options_.verification != Verification::read) {
            const auto sum = t_.destination_.stored_sum(temporary, t_.options_.algorithm, patience_);
            if (!sum) return unverified(sum.error().message());
            if (!*sum)
                return unverified(fmt::format("{} has no {} to offer; configure it there, or let the copy be read back",
                                              t_.destination_.name(), digest::name(t_.options_.algorithm)));
            if (auto wrong = compare(**sum, temporary, "is stored with")) return std::move(*wrong);
        }
        if (t_.options_.verification != Verification::sum) {
            const auto read = t_.destination_.read_back(temporary, t_.options_.algorithm, patience_);
            if (!read) return unverified(read.error().message());
            if (auto wrong = compare(*read, temporary, "is read back with")) return std::move(*wrong);
        }
        if (auto wrong = compare_size(temporary)) return std::move(*wrong);  // a sum may be older than what is there
        if (auto left = something_left(row_.attempts - 1)) return std::move(*left);
        if (auto renamed = t_.destination_.rename_new(temporary, place_, patience_); !renamed) {
            // The answer may have been lost after the deed: the next attempt looks.
            if (renamed.error().code == Errc::refused && !patience_.stop.stop_requested())
                return remove(temporary), failed(Trouble::name_taken, renamed.error().message());
            return unverified(renamed.error().message());
        }
        return transferred();
    }

    std::optional<TransferResult> compare_size(const std::string& place) {
        const auto size = t_.destination_.size_of(place, patience_);
        if (!size) return unverified(size.error().message());
        row_.bytes = size->value_or(0);
        if (*size && **size == file_.bytes) return std::nullopt;
        remove(place);
        return failed(Trouble::wrong_bytes,
                      fmt::format("{} {} after {} bytes were sent and accepted", t_.destination_.url(place),
                                  *size ? fmt::format("has {} bytes", **size) : "is gone", file_.bytes));
    }

    std::optional<TransferResult> compare(const digest::Digest& sum, const std::string& place, std::string_view does) {
        row_.algorithm = digest::name(sum.algorithm());
        row_.checksum = sum.hex();
        if (sum == *wanted_) return std::nullopt;
        remove(place);
        return failed(Trouble::wrong_bytes, fmt::format("{} {} {} {}, but {} was sent", t_.destination_.url(place),
                                                        does, row_.algorithm, row_.checksum, wanted_->hex()));
    }

    /// Under the final name. Its sum may be an old one of the destination's, so its bytes are read.
    TransferResult take_what_is_there(std::uint64_t size) {
        row_.bytes = size;
        const auto taken = [&](std::string_view how) {
            return failed(Trouble::name_taken,
                          fmt::format("{} is there already with other {}; find out whose it is, and move it away",
                                      t_.destination_.url(place_), how));
        };
        if (size != file_.bytes) return taken(fmt::format("content ({} bytes, not {})", size, file_.bytes));
        const auto read = t_.destination_.read_back(place_, t_.options_.algorithm, patience_);
        if (!read) return failed(Trouble::destination, read.error().message());
        row_.algorithm = digest::name(read->algorithm());
        row_.checksum = read->hex();
        if (*read != *wanted_)
            return taken(fmt::format("content ({} {}, not {})", row_.algorithm, row_.checksum, wanted_->hex()));
        if (auto left = something_left(row_.attempts)) return std::move(*left);
        return transferred();
    }

    /// Of attempts up to `last`. Once the row has TRANSFERRED no attempt looks for it again, so it goes before.
    std::optional<TransferResult> something_left(std::uint32_t last) {
        if (cleaned_) return std::nullopt;
        const auto cleaned = t_.remove_attempts(place_, row_.guid, 1, last, patience_.stop);
        if (cleaned) return std::nullopt;
        return unverified("what an earlier attempt left is still there: " + cleaned.error().message());
    }

    TransferResult transferred() {
        row_.state = catalogue::CopyState::transferred;
        row_.next_try.reset();
        row_.error.clear();
        row_.url = t_.destination_.url(place_);
        row_.bytes = file_.bytes;
        row_.verified = t_.clock_.wall();
        if (auto saved = save(); !saved) return failed_without_row(saved.error().message());
        return {Outcome::transferred, Trouble::none, {}, bytes_sent_};
    }

    TransferResult unverified(std::string why) {
        if (patience_.stop.stop_requested()) return stopped();
        row_.url = t_.destination_.url(temporary_place(place_, row_.guid, row_.attempts));
        return later(catalogue::CopyState::unverified, Outcome::unverified, Trouble::destination, std::move(why));
    }

    TransferResult failed(Trouble trouble, std::string why) {
        if (patience_.stop.stop_requested()) return stopped();
        return later(catalogue::CopyState::failed, Outcome::failed, trouble, std::move(why));
    }

    TransferResult later(catalogue::CopyState state, Outcome outcome, Trouble trouble, std::string why) {
        row_.state = state;
        why = plain_text(std::move(why));
        row_.error = why;
        row_.next_try = t_.clock_.wall() + t_.backoff_.after(std::max(1U, row_.attempts));
        if (auto saved = save(); !saved) return failed_without_row(saved.error().message());
        return {outcome, trouble, std::move(why), bytes_sent_};
    }

    TransferResult failed_without_row(std::string why) const {
        return {Outcome::failed, Trouble::catalogue, std::move(why), bytes_sent_};
    }

    /// The row stays as it is, and the next attempt sends everything again. So what this one has sent goes, also when
    /// nothing but the answer to a question was missing; what waited for its sum before stays.
    TransferResult stopped() {
        if (!begun_.empty()) remove(begun_);
        return {Outcome::stopped, Trouble::none, "stopped", bytes_sent_};
    }

    /// As well as it goes, also after a stop was asked for; what stays is removed before the next attempt.
    void remove(const std::string& temporary) {
        static_cast<void>(t_.destination_.remove(temporary, {{}, std::min(t_.options_.answer, tidy_patience)}));
        begun_.clear();
    }

    Result<> save() {
        row_.changed = t_.clock_.wall();
        if (row_.first_try == WallTime{}) row_.first_try = row_.changed;
        if (row_.url.empty()) row_.url = t_.destination_.url(place_);
        return t_.catalogue_.set_transfer(row_);
    }

    Transfer& t_;
    const catalogue::FileRow& file_;
    const std::string& place_;
    catalogue::TransferRow& row_;
    const Patience patience_;
    std::optional<digest::Digest> wanted_;
    std::string begun_;  // the temporary name of what this attempt has sent, until it is removed
    std::uint64_t bytes_sent_ = 0;
    bool cleaned_ = false;  // nothing of earlier attempts is at the destination
};

TransferResult Transfer::run(const catalogue::FileRow& file, const std::string& place, catalogue::TransferRow& row,
                             const std::stop_token& stop) {
    // The row that was planned may be old: another process, or a person, may have changed it.
    const auto now = catalogue_.file(file.guid);
    if (!now) return {Outcome::failed, Trouble::catalogue, now.error().message(), 0};
    if (!*now || (*now)->file_state != catalogue::FileState::closed ||
        (*now)->file_health == catalogue::FileHealth::quarantined)
        return {Outcome::gone, Trouble::none, "it is no longer to be handed over", 0};
    // A file that is TRANSFERRED goes too: to a destination that is new.
    const auto done = catalogue_.transfers(
        {.guid = file.guid, .destination = row.destination, .state = catalogue::CopyState::transferred});
    if (!done) return {Outcome::failed, Trouble::catalogue, done.error().message(), 0};
    if (!done->empty()) return {Outcome::gone, Trouble::none, "it is there already", 0};
    return Attempt(*this, **now, place, row, stop).run();
}

Result<> Transfer::clean(const std::string& place, const catalogue::TransferRow& row, const std::stop_token& stop) {
    return remove_attempts(place, row.guid, 1, row.attempts, stop);
}

Result<> Transfer::remove_attempts(const std::string& place, const Guid& guid, std::uint32_t first, std::uint32_t last,
                                   const std::stop_token& stop) {
    for (auto attempt = first; attempt <= last; ++attempt) {
        WEIR_TRY(destination_.remove(temporary_place(place, guid, attempt), {stop, options_.answer}));
    }
    return {};
}

}  // namespace weir::handoff
