// SPDX-License-Identifier: Apache-2.0
#include "manager.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <limits>
#include <memory>

#include <XrdCks/XrdCksCalc.hh>
#include <XrdCks/XrdCksData.hh>

#include "weir/base/clock.hpp"
#include "weir/fixity/pieces.hpp"

namespace weir::xrootd {
namespace {

using fixity::Failure;
using fixity::InputFile;

struct Recycle {
    void operator()(XrdCksCalc* calculator) const { calculator->Recycle(); }
};

/// To the server's log, which has its stderr.
void report(const char* path, const Failure& failure) {
    if (failure.offset)
        std::fputs(fmt::format("weir-xrdcks: cannot sum {} at offset {}: {}; no sum was made\n", path, *failure.offset,
                               failure.text)
                       .c_str(),
                   stderr);
    else
        std::fputs(fmt::format("weir-xrdcks: cannot sum {}: {}; no sum was made\n", path, failure.text).c_str(),
                   stderr);
}

void update(XrdCksCalc& calculator, ConstData data) {
    while (!data.empty()) {
        const auto size = std::min<std::size_t>(data.size(), std::numeric_limits<int>::max());
        calculator.Update(as_text(data.first(size)).data(), static_cast<int>(size));
        data = data.subspan(size);
    }
}

/// The file's modification time when every byte went through the calculator and it was not written to meanwhile.
std::expected<std::int64_t, Failure> sum(const std::string& path, XrdCksCalc& calculator) {
    const fixity::Reading how;
    const auto file = InputFile::open(path, fixity::Origin::listed, how);
    if (!file) return std::unexpected(file.error());
    const auto& before = file->stamp();
    calculator.Init();
    const auto bytes =
        fixity::PieceReader(how).read(*file, 0, before.size, [&](ConstData data) { update(calculator, data); });
    if (!bytes) return std::unexpected(bytes.error());
    const auto after = fixity::stamp_of(file->fd());
    if (!after) return std::unexpected(Failure{*bytes, after.error().os_errno, after.error().message()});
    if (*after != before)
        return std::unexpected(
            Failure{*bytes, EBUSY, "it changed while it was read: " + fixity::difference(before, *after)});
    if (*bytes < before.size)
        return std::unexpected(
            Failure{*bytes, EIO, fmt::format("it has {} bytes, but only {} could be read", before.size, *bytes)});
    return before.mtime_ns / 1'000'000'000;
}

}  // namespace

int Manager::Calc(const char* path, XrdCksData& data, int store) {
    try {
        const char* const kind = *data.Name != '\0' ? data.Name : cksPI.Name();
        const std::unique_ptr<XrdCksCalc, Recycle> calculator(kind != nullptr ? cksPI.Object(kind) : nullptr);
        if (!calculator) return -ENOTSUP;
        const auto made = sum(root_ + path, *calculator);
        if (!made) {
            report(path, made.error());
            return made.error().os_errno != 0 ? -made.error().os_errno : -EIO;
        }
        int size = 0;
        if (*data.Name == '\0' && data.Set(kind) == 0) return -ENAMETOOLONG;
        calculator->Type(size);
        if (data.Set(static_cast<const void*>(calculator->Final()), size) == 0) return -EOVERFLOW;
        data.fmTime = *made;
        const auto now =
            std::chrono::duration_cast<std::chrono::seconds>(SystemClock().wall().time_since_epoch()).count();
        data.csTime = static_cast<int>(std::clamp<std::int64_t>(now - *made, 0, std::numeric_limits<int>::max()));
        // Of the file as it was when it was opened: what is written behind that makes the attribute stale.
        if (store != 0) static_cast<void>(cksPI.Set(path, data, 1));
        return 0;
    } catch (const std::bad_alloc&) {
        return -ENOMEM;
    }
}

int Manager::Ver(const char* path, XrdCksData& data) {
    XrdCksData stored;
    if (const char* const kind = *data.Name != '\0' ? data.Name : cksPI.Name();
        kind == nullptr || stored.Set(kind) == 0)
        return -ENOTSUP;
    if (cksPI.Get(path, stored) <= 0) {
        if (const int failed = Calc(path, stored, 1); failed != 0) return failed;
    }
    return stored.Length == data.Length && std::equal(stored.Value, stored.Value + stored.Length, data.Value) ? 1 : 0;
}

}  // namespace weir::xrootd
