# SPDX-License-Identifier: Apache-2.0
"""Fills a disk while others write to it."""
import errno
import os

from weir_process import wait_until


def fill(disk, filler, leave):
    """The file `filler` takes all but `leave` bytes of `disk`."""
    def filled():  # others may take space between the two calls
        free = os.statvfs(disk)
        size = free.f_bavail * free.f_frsize - leave
        with open(filler, "wb") as file:
            try:
                if size > 0:
                    os.posix_fallocate(file.fileno(), 0, size)
            except OSError as problem:
                if problem.errno != errno.ENOSPC:
                    raise
                return False
        return True
    wait_until(filled, f"{disk} is filled")
