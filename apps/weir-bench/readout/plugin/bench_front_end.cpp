// SPDX-License-Identifier: Apache-2.0
#include "readout/plugin/bench_front_end.hpp"

WEIR_FRONT_END(weir::app::BenchFrontEnd)
