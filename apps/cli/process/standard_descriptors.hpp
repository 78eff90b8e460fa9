// SPDX-License-Identifier: Apache-2.0
// Descriptors 0 to 2 belong to stdin, stdout and stderr, also where the program was started without them (`<&-`): else
// the next file that is opened would be taken for one of them.
#pragma once

namespace weir::app {

/// Before anything else is opened. What is closed stays unusable: reading stdin and writing stdout or stderr fails with
/// EBADF.
void open_standard_descriptors() noexcept;

}  // namespace weir::app
