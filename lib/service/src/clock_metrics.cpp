// SPDX-License-Identifier: Apache-2.0
#include "weir/service/clock_metrics.hpp"

#include <sys/timex.h>

namespace weir::service {

Metrics::Collection collect_clock(Metrics& metrics) {
    return metrics.collect([](MetricSink& sink) {
        struct ::timex kept{};  // no modes: nothing is changed
        if (::adjtimex(&kept) < 0) return;
        const double offset_unit = (kept.status & STA_NANO) != 0 ? 1e-9 : 1e-6;
        sink.gauge("weir_clock_synchronized", "1: a time server keeps the clock of this machine", {},
                   (kept.status & STA_UNSYNC) == 0 ? 1 : 0);
        sink.gauge("weir_clock_offset_seconds", "true time less that of this machine, as far as is known", {},
                   static_cast<double>(kept.offset) * offset_unit);
        sink.gauge("weir_clock_error_max_seconds", "the clock of this machine is not further off than this", {},
                   static_cast<double>(kept.maxerror) * 1e-6);
    });
}

}  // namespace weir::service
