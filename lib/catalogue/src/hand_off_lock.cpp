// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/hand_off_lock.hpp"

#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <string>

#include "weir/catalogue/catalogue_place.hpp"

namespace weir::catalogue {

Result<HandOffLock> HandOffLock::take(const std::filesystem::path& catalogue) {
    const auto directory = catalogue.parent_path();
    const auto path = catalogue == catalogue_path(directory)
                          ? directory / "weir-handoff.lock"
                          : std::filesystem::path(catalogue.native() + ".handoff-lock");
    auto file = WEIR_TRY(File::open(path, File::Mode::open_or_create));
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
        const auto owner = read_text(path, 256_B);
        return fail(Errc::refused,
                    fmt::format("files of {} are handed over or moved by another process ({}) already; stop it first",
                                catalogue.native(), owner ? *owner : "unknown"));
    }
    const auto owner = std::to_string(::getpid());
    WEIR_TRY(file.truncate(0));
    WEIR_TRY(file.write_at(0, as_data(owner)));
    return HandOffLock(std::move(file));
}

}  // namespace weir::catalogue
