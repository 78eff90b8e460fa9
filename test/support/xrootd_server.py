# SPDX-License-Identifier: Apache-2.0
"""A real XRootD server of Debian on a free port of this machine, for tests that hand files to it."""
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import time

from free_port import free_port

PROGRAMS = ("xrootd", "xrdfs", "xrdcp")

# Quick answers: a missing server is a failure at once.
QUICK = {"XRD_CONNECTIONWINDOW": "3", "XRD_CONNECTIONRETRY": "1", "XRD_REQUESTTIMEOUT": "30", "XRD_STREAMTIMEOUT": "30"}


def absent():
    """What is missing here to run one; empty: nothing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"{', '.join(missing)} not found (packages xrootd-server, xrootd-client)" if missing else ""


class XrootdServer:
    """Serves `folder`/data. `checksum` is the line of xrootd.chksum behind the word, or None; `lines` are added."""

    def __init__(self, folder, checksum="max 4 adler32 crc32c", lines=(), data=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.data = pathlib.Path(data or self.folder / "data")
        self.port, self.checksum, self.lines = free_port(), checksum, list(lines)
        self.process = None
        for path in (self.folder, self.folder / "admin", self.data):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
            if os.geteuid() == 0:  # the server refuses to run as root
                nobody = pwd.getpwnam("nobody")
                os.chown(path, nobody.pw_uid, nobody.pw_gid)
        for above in self.folder.parents:  # the server's user walks through
            if str(above).startswith("/tmp/"):
                above.chmod(above.stat().st_mode | 0o055)
        self.start()

    def configuration(self):
        export = [line for line in self.lines if line.startswith("all.export")] or ["all.export /"]
        rest = [line for line in self.lines if not line.startswith("all.export")]
        chksum = [f"xrootd.chksum {self.checksum}"] if self.checksum else []
        return "\n".join([f"xrd.port {self.port}", "xrd.network nodnr", "xrd.protocol xroot *", f"all.adminpath {self.folder}/admin",
                          f"all.pidpath {self.folder}/admin", f"oss.localroot {self.data}", *export, *chksum, *rest, ""])

    def start(self):
        for _ in range(3):  # another program may have taken the port meanwhile
            if self.try_start():
                return
            self.port = free_port()
        raise AssertionError("xrootd did not start:\n" + self.newest_log())

    def try_start(self):
        (self.folder / "a.cfg").write_text(self.configuration())
        command = ["xrootd", "-c", str(self.folder / "a.cfg"), "-l", str(self.folder / f"log-{time.monotonic_ns()}")]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", *command]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self.process.poll() is None:
            if f":{self.port} initialization completed" in self.newest_log():
                return True
            time.sleep(0.05)
        self.stop()
        return False

    def newest_log(self):
        logs = sorted(self.folder.glob("**/log-*"), key=lambda path: path.name)
        return logs[-1].read_text(errors="replace") if logs else ""

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait(timeout=60)

    def url(self, path=""):
        return f"root://127.0.0.1:{self.port}//{path}"

    def xrdfs(self, *command):
        return subprocess.run(["xrdfs", f"127.0.0.1:{self.port}", *command], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, env={**os.environ, **QUICK})

    def query(self, path):
        """The server's sum of the stored bytes: its adler32, without what it may have kept."""
        return self.xrdfs("query", "checksum", f"/{path}?cks.type=adler32").stdout.split()[1]

    def names(self):
        """Of all files that it has."""
        return sorted(str(path.relative_to(self.data)) for path in self.data.rglob("*") if path.is_file())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
