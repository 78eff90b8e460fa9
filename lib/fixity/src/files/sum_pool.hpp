// SPDX-License-Identifier: Apache-2.0
// The threads behind sum_many. One lock for the queue; it is held for moments, once a file or range. A thread takes a
// file alone, or a range of one that is split, or several whose sums share the lanes (file_batch.hpp). A thread that
// the system refuses is done without; where it refuses all, the adding thread does the work.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "files/file_batch.hpp"
#include "files/split_file.hpp"
#include "reading/device_limits.hpp"
#include "weir/fixity/sum_many.hpp"

namespace weir::fixity {

class SumPool {
public:
    SumPool(const Reading& how, const Parallel& parallel, const Clock& clock);
    ~SumPool();

    /// Queues a file; its outcome comes in this order.
    void add(Job job);
    /// The next outcome in order; nothing while it is not there yet. Waits up to `at_most`.
    [[nodiscard]] std::optional<FileSum> next(std::chrono::milliseconds at_most);
    /// Files that were added and not returned.
    [[nodiscard]] std::size_t size() const noexcept { return order_.size(); }

private:
    struct Slot {
        std::optional<Job> job;
        std::optional<FileWork> begun;  // instead of the job: it is open already
        std::uint64_t number = 0;       // in the order of add()
        std::uint64_t device = 0;
        unsigned limit = 1;
        std::vector<digest::Algorithm>
            lanes;                      // it shares a batch with others that have the same; none: it is read alone
        std::optional<FileSum> result;  // set under the mutex
    };
    struct Split {
        std::shared_ptr<SplitFile> file;
        Slot* slot;
        unsigned helpers_left;
    };
    struct Device {
        unsigned readers = 0;     // files that are read alone or split, and batches
        std::size_t waiting = 0;  // files for batches
        std::size_t batched = 0;  // files in batches
    };
    /// The state of one thread.
    struct Tools {
        PieceReader reader;
        std::optional<FileBatch> batch;
    };
    /// The common properties of the files of a batch.
    struct Kind {
        std::uint64_t device;
        unsigned limit;
        std::vector<digest::Algorithm> lanes;
    };

    void run();
    [[nodiscard]] bool step(std::unique_lock<std::mutex>& lock, Tools& tools);
    void add_thread();
    [[nodiscard]] bool has_room(const Slot& slot) { return devices_[slot.device].readers < slot.limit; }
    [[nodiscard]] Slot* take_slot();
    [[nodiscard]] Slot* take_another(const Kind& kind, std::size_t size);
    [[nodiscard]] std::optional<Split> take_split();
    Slot* take(std::deque<Slot*>::iterator at);
    void work_on(Slot& slot, PieceReader& reader);
    void work_on_batch(Slot& first, std::optional<FileBatch>& batch);
    [[nodiscard]] bool add_to_batch(Slot& slot, FileBatch& batch, std::vector<Slot*>& slots);
    void help(const Split& split, PieceReader& reader);
    void done(Slot& slot, FileSum result);
    void release(std::uint64_t device);

    const Reading& how_;
    const Parallel parallel_;
    const Clock& clock_;
    const std::size_t files_open_max_;         // in all batches of a device
    DeviceLimits limits_;                      // the adding thread's
    std::deque<std::unique_ptr<Slot>> order_;  // the adding thread's
    std::uint64_t added_ = 0;                  // the adding thread's
    Tools tools_;                              // the adding thread's, where there is no other

    std::mutex mutex_;  // of all that follows
    std::condition_variable work_, finished_;
    std::deque<Slot*> waiting_;
    std::map<std::uint64_t, Device> devices_;
    std::vector<Split> splits_;
    const Slot* awaited_ = nullptr;  // the one whose end wakes the adding thread
    unsigned idle_ = 0;
    bool closing_ = false;
    std::exception_ptr failure_;  // why a thread had to end; next() throws it
    std::vector<std::thread> threads_;
};

}  // namespace weir::fixity
