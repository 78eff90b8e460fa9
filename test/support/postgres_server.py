# SPDX-License-Identifier: Apache-2.0
"""A real PostgreSQL server of Debian, reached through a socket in a folder of the test, run as nobody when the
tests run as root (the server refuses root)."""
import csv
import io
import os
import pathlib
import shutil
import subprocess

NOBODY = 65534


def programs():
    """Debian keeps the server's programs of each version beside each other, out of the search path."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


def absent():
    """What is missing here to run one; empty: nothing."""
    return "" if programs() else "no PostgreSQL server found (package postgresql)"


class PostgresServer:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        for parent in self.folder.parents:  # the server's user has to come through
            if not parent.stat().st_mode & 0o001:
                parent.chmod(parent.stat().st_mode | 0o011)
        if os.geteuid() == 0:
            shutil.chown(self.folder, NOBODY, NOBODY)
        self.uri = f"postgresql://weir@/postgres?host={self.folder}"
        self._run("initdb", "-D", "data", "-U", "weir", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
        with open(self.folder / "data" / "postgresql.conf", "a", encoding="ascii") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{self.folder}'\n"
                           "fsync = off\nshared_buffers = 16MB\nmax_wal_senders = 0\nwal_level = minimal\n")
        self.start()

    def _run(self, program, *arguments):
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        with open(self.folder / "commands.log", "ab") as log:
            subprocess.run([programs() / program, *arguments], cwd=self.folder, check=True, timeout=300,
                           stdin=subprocess.DEVNULL, stdout=log, stderr=log, **user)

    def start(self):
        self._run("pg_ctl", "-D", "data", "-l", "server.log", "-t", "120", "-w", "start")

    def stop(self):
        """At once, as after a crash."""
        self._run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")

    def rows(self, table):
        """All of a table, as sorted tuples of texts; nothing is the empty text."""
        output = subprocess.run([programs() / "psql", "--csv", "-t", "-d", self.uri, "-c", f"SELECT * FROM {table}"],
                              check=True, capture_output=True, text=True, timeout=120)
        return sorted(tuple(row) for row in csv.reader(io.StringIO(output.stdout)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.stop()
        except subprocess.CalledProcessError:
            pass  # the test had stopped it
