// SPDX-License-Identifier: Apache-2.0
// Watches what an operator must know in time, while the recorder goes on: disks that will be full, files that wait to
// be closed, memory that slow senders hold, a certificate that ends. Each is reported once, and again when it had been
// better in between.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>

#include "reports/operator_reports.hpp"
#include "reports/space_forecast.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"

namespace weir::recorder {

struct RecordingWatchOptions {
    std::filesystem::path certificate;  // its file
    std::chrono::seconds full_warning{1800};
};

/// step() belongs to one thread at a time, and waits for nothing.
class RecordingWatch {
public:
    struct MemoryWait {
        std::uint64_t events = 0;  // that wait for memory of events of which not all bytes have come
        std::chrono::nanoseconds longest{0};
    };
    /// What is looked at, by step().
    struct Sources {
        std::function<std::optional<WallTime>()> certificate_ends;       // nothing: no TLS
        std::function<std::optional<WallTime>()> certificate_ends_soon;  // from when on; with certificate_ends
        std::function<std::optional<std::size_t>()> closing_waits;  // files, when so many wait that no new ones begin
        std::function<MemoryWait()> memory_wait;
        std::function<std::uint64_t()> bytes_stored;  // since the beginning
        std::function<Bytes()> usable_space;
    };

    RecordingWatch(RecordingWatchOptions options, Sources sources, const OperatorReports& reports, const Clock& clock);

    void step(SteadyTime now);

    /// At the rate of the last minutes; nothing: nothing is written. Any thread.
    [[nodiscard]] std::optional<std::chrono::seconds> until_full() const;

private:
    void check_certificate();
    void check_closing(SteadyTime now);
    void check_memory();
    void check_space(SteadyTime now);

    const RecordingWatchOptions options_;
    const Sources sources_;
    const OperatorReports& reports_;
    const Clock& clock_;  // wall time, for the certificate

    enum class CertificateState { good, ends_soon, ended };
    CertificateState certificate_ = CertificateState::good;  // as reported
    std::optional<SteadyTime> waits_for_closing_since_;
    bool closing_reported_ = false;
    bool memory_reported_ = false;
    bool space_reported_ = false;
    SpaceForecast forecast_;

    mutable std::mutex mutex_;
    std::optional<std::chrono::seconds> until_full_;
};

}  // namespace weir::recorder
