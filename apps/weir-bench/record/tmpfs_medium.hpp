// SPDX-License-Identifier: Apache-2.0
// A tmpfs of our own for measurements, with pages that were touched before. On a virtual machine the first
// touch of a page is a fault in the host, dearer than the write itself, and freed pages go back to the
// host within seconds; so pages that are not in use are held by a reserve file, which shrinks while a
// measurement fills other files and grows again after it.
#pragma once

#include <filesystem>
#include <memory>
#include <thread>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

class TmpfsMedium {
public:
    /// Mounts one with huge pages and room for `used` twice; needs root. Unmounted by the destructor.
    [[nodiscard]] static Result<std::unique_ptr<TmpfsMedium>> mount(Bytes used);
    ~TmpfsMedium();
    TmpfsMedium(const TmpfsMedium&) = delete;
    TmpfsMedium& operator=(const TmpfsMedium&) = delete;

    [[nodiscard]] const std::filesystem::path& directory() const noexcept { return directory_; }

    /// While it lives, a thread keeps some free pages ahead of what is being written.
    class [[nodiscard]] Measurement {
    public:
        explicit Measurement(TmpfsMedium& medium);

    private:
        std::jthread thread_;
    };

    /// Takes all free pages into the reserve and touches them. After the files of a measurement are gone.
    [[nodiscard]] Result<> refill();

private:
    TmpfsMedium(std::filesystem::path directory, Bytes size, File reserve)
        : directory_(std::move(directory)), size_(size), reserve_(std::move(reserve)) {}
    [[nodiscard]] std::uint64_t free_bytes() const;
    void give_way();

    const std::filesystem::path directory_;
    const Bytes size_;
    File reserve_;
    std::uint64_t reserved_ = 0;
};

}  // namespace weir::app
