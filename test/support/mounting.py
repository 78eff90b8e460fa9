# SPDX-License-Identifier: Apache-2.0
"""Whether this machine lets us mount: found out by mounting, because root in a container often may not."""
import os
import pathlib
import shutil
import subprocess
import tempfile


def why_no_own_mounts():
    """What is missing for a program that mounts what nobody else sees; nothing: it works."""
    if why := why_no_mount():
        return why
    tried = subprocess.run(["unshare", "-m", "true"], capture_output=True, text=True)
    return f"mounts of a program's own cannot be made here ({tried.stderr.strip()}); run the tests where / is a mount" if tried.returncode else None


def why_no_mount(image=False):
    """What is missing to mount a tmpfs, and with `image` an ext4 image through a loop device; nothing: it works."""
    if os.geteuid() != 0:
        return "mounting takes root; run the tests as root"
    if image and not shutil.which("mkfs.ext4"):
        return "mkfs.ext4 is not there; install e2fsprogs"
    with tempfile.TemporaryDirectory(prefix="weir-mount-") as folder:
        place, what = pathlib.Path(folder) / "place", ["-t", "tmpfs", "-o", "size=1m", "tmpfs"]
        place.mkdir()
        if image:
            file = pathlib.Path(folder) / "image"
            with open(file, "wb") as empty:
                empty.truncate(8 << 20)
            subprocess.run(["mkfs.ext4", "-q", "-F", file], check=True)
            what = ["-o", "loop", file]
        mounted = subprocess.run(["mount", *what, place], capture_output=True, text=True)
        if mounted.returncode:
            return f"{'an image' if image else 'a tmpfs'} cannot be mounted here: {mounted.stderr.strip()}; run the tests where root may mount"
        subprocess.run(["umount", place], check=True)
    return None
