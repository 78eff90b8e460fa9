// SPDX-License-Identifier: Apache-2.0
// Boost.JSON is compiled here, once: Debian 12 has its headers at version 1.81, but the library that goes with them is
// not needed by other code.
#include <boost/json/src.hpp>
