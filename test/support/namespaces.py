# SPDX-License-Identifier: Apache-2.0
"""Linux namespaces from inside a test: a thread of the test makes or enters them, does something there, and ends. What it starts
or opens there stays there: a process is a child of the test like any other, with the pid that the test sees; a socket belongs to
the network in which it was made and can be used by every thread.

Everything is a thread's own, so the rest of the test does not notice. No program is needed for it (`nsenter` would stand between
the test and the process that it started, and `ip netns exec` mounts a /sys without control groups). It takes root.
"""
import ctypes
import errno
import os
import threading

FILE_SYSTEM, MOUNTS, UTS, IPC, PIDS, NETWORK = 0x200, 0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000  # sched.h: CLONE_*
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 1, 32, 4096, 16384, 1 << 18  # sys/mount.h: MS_*

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, *what):
    if result:
        number = ctypes.get_errno()
        raise OSError(number, f"{' '.join(map(str, what))}: {os.strerror(number)}")


def unshare(flags):
    """Only in a thread of `in_thread`. Of PIDS: its next child is the first process of the new namespace."""
    _check(_libc.unshare(flags), "unshare", hex(flags))


def enter(descriptor, flags):
    """Only in a thread of `in_thread`. `descriptor`: of a file of /proc/PID/ns, or of a process (pidfd)."""
    if flags & MOUNTS:
        unshare(FILE_SYSTEM)  # root and working directory: shared by all threads else, and then it is refused
    _check(_libc.setns(descriptor, flags), "setns", hex(flags))


def enter_process(pid, flags):
    """As `enter`, and the root of a process with its mounts: where all of this runs in a chroot, that is another than theirs."""
    descriptor = os.pidfd_open(pid)
    try:
        root = os.open(f"/proc/{pid}/root", os.O_PATH | os.O_DIRECTORY) if flags & MOUNTS else None
        try:
            enter(descriptor, flags)
            if root is not None:
                os.fchdir(root)
                os.chroot(".")
        finally:
            if root is not None:
                os.close(root)
    finally:
        os.close(descriptor)


def in_thread(function, *arguments):
    """What `function` returns or raises, called in a thread of its own."""
    returned, raised = [], []

    def call():
        try:
            returned.append(function(*arguments))
        except BaseException as error:  # whatever it is, it belongs to the caller
            raised.append(error)

    thread = threading.Thread(target=call, daemon=True)  # a test that is interrupted meanwhile ends
    thread.start()
    thread.join()
    if raised:
        raise raised[0]
    return returned[0]


def mount(source, target, kind=None, flags=0, data=None):
    encoded = [None if text is None else os.fsencode(text) for text in (source, target, kind, data)]
    _check(_libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3]), "mount", source or kind or "", target)


def private_mounts(probe):
    """Only in a thread of `in_thread`: mounts of its own, which nobody outside sees. `probe`: an empty directory."""
    unshare(MOUNTS)
    try:
        mount(None, "/", flags=RECURSIVE | PRIVATE)
        return
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
    # A chroot whose root is no mount: whether what is mounted here is seen outside depends on what is not visible from here.
    mount("tmpfs", probe, "tmpfs")
    with open("/proc/self/mountinfo", encoding="utf-8") as outside:  # of the first thread, whose mounts are the old ones
        seen = f" {os.path.realpath(probe)} " in outside.read()
    _check(_libc.umount2(os.fsencode(probe), 0), "umount", probe)
    if seen:
        raise OSError(errno.EINVAL, "mounts in this chroot are seen outside; make its root a private mount "
                                    "(mount --bind ROOT ROOT; mount --make-private ROOT)")
