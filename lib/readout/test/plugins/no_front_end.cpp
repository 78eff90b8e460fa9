// SPDX-License-Identifier: Apache-2.0
// A library that is no front-end.
extern "C" int nothing_to_read_out() { return 0; }
