// SPDX-License-Identifier: Apache-2.0
// The entry points by which XRootD loads a checksum (XrdCksCalcInit, once for each `ofs.ckslib KIND` line) and a
// checksum manager above its own (XrdCksAdd2, for `ofs.ckslib ++`).
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <sstream>
#include <string_view>

#include <XrdVersion.hh>
#include "calculator.hpp"
#include "manager.hpp"
#include "names.hpp"

class XrdOucEnv;
class XrdSysError;

#pragma GCC visibility push(default)
XrdVERSIONINFO(XrdCksCalcInit, weir - xrdcks)  // looked up before the entry point, to see that the versions fit
    XrdVERSIONINFO(XrdCksAdd2, weir - xrdcks)
#pragma GCC visibility pop

    // The header documents the name as the second argument; the server and the client of XRootD 5 pass it as the
    // third, behind the configuration file. Whichever of them names a checksum is taken.
    extern "C"
    __attribute__((visibility("default"))) XrdCksCalc* XrdCksCalcInit(XrdSysError* /*messages*/, const char* second,
                                                                      const char* third, const char* parameters) {
    using namespace weir::xrootd;
    try {
        for (const char* name : {third, second}) {
            if (name == nullptr) continue;
            if (const auto meaning = meaning_of(name, parameters == nullptr ? "" : parameters))
                return std::make_unique<Calculator>(name, *meaning).release();
        }
    } catch (const std::bad_alloc&) {
    }
    return nullptr;  // the server reports that the initialization failed, with the name, and does not start
}

namespace {

/// What is in front of the names that the server hands to its checksum manager, which are those of clients: the
/// configuration's oss.localroot. Nothing, after a line in the log, when the configuration does not set it in one way.
std::optional<std::string> local_root(const char* configuration) {
    std::ifstream file(configuration == nullptr ? "" : configuration);
    std::optional<std::string> root;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key, value;
        words >> key >> value;
        if (key == "oss.namelib") {
            std::fputs(
                "weir-xrdcks: oss.namelib maps names in a way that it does not know; take `ofs.ckslib KIND` lines "
                "without ++\n",
                stderr);
            return std::nullopt;
        }
        if (key != "oss.localroot") continue;
        if (root && *root != value) {
            std::fputs(
                "weir-xrdcks: the configuration has several oss.localroot; name one: ofs.ckslib ++ FILE "
                "localroot=PATH\n",
                stderr);
            return std::nullopt;
        }
        root = value;
    }
    return root.value_or("");
}

}  // namespace

// `parameters`: what stands behind the path in the line: nothing, or localroot=PATH in place of the configuration's.
extern "C" __attribute__((visibility("default"))) XrdCks* XrdCksAdd2(XrdCks& below, XrdSysError* messages,
                                                                     const char* configuration, const char* parameters,
                                                                     XrdOucEnv* /*environment*/) {
    try {
        std::string_view text = parameters == nullptr ? "" : parameters;
        while (!text.empty() && (text.back() == ' ' || text.back() == '\n')) text.remove_suffix(1);
        std::optional<std::string> root;
        if (constexpr std::string_view key = "localroot="; text.starts_with(key)) {
            root = text.substr(key.size());
        } else if (text.empty()) {
            root = local_root(configuration);
        } else {
            std::fputs(fmt::format("weir-xrdcks: \"{}\" is not localroot=PATH\n", text).c_str(), stderr);
        }
        if (!root) return nullptr;  // the server does not start
        while (root->ends_with('/')) root->pop_back();
        return std::make_unique<weir::xrootd::Manager>(below, messages, std::move(*root)).release();
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}
