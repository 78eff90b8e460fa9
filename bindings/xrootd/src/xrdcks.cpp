// SPDX-License-Identifier: Apache-2.0
// The entry point by which XRootD loads a checksum: XrdCksCalcInit. It is called once for each ckslib line.
#include <memory>
#include <new>

#include "calculator.hpp"
#include "names.hpp"
#include <XrdVersion.hh>

class XrdSysError;

#pragma GCC visibility push(default)
XrdVERSIONINFO(XrdCksCalcInit, weir-xrdcks)  // looked up before the entry point, to see that the versions fit
#pragma GCC visibility pop

// The header documents the name as the second argument; the server and the client of XRootD 5 pass it as the
// third, behind the configuration file. Whichever of them names a checksum is taken.
extern "C" __attribute__((visibility("default"))) XrdCksCalc* XrdCksCalcInit(XrdSysError* /*messages*/,
                                                                             const char* second, const char* third,
                                                                             const char* parameters) {
    using namespace weir::xrootd;
    try {
        for (const char* name : {third, second}) {
            if (name == nullptr) continue;
            if (const auto meaning = meaning_of(name, parameters == nullptr ? "" : parameters))
                return std::make_unique<Calculator>(name, *meaning).release();
        }
    } catch (const std::bad_alloc&) {
    }
    return nullptr;  // the server says that the initialization failed, with the name, and does not start
}
