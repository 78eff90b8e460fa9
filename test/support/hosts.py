# SPDX-License-Identifier: Apache-2.0
"""A test bed of several machines on this one, for tests of what happens when a machine, a disk's machine or a cable is lost.

Each machine is a set of namespaces: an own host name, processes (the first one is its power supply: with it all others end), network
(`eth0`, one cable to a switch, addresses 10.77.0.0/16), System V memory, and mounts. It sees the programs of this machine, read-only, but
its own /tmp, /run, /dev/shm, home of root, machine-id and boot-id, and its own disk, a directory that keeps its place and its content
when the power is off. Of the test's files it sees those in `Hosts.shared`, a file system that all machines share, and in `sees`.

What is real: silence. A machine without power or with its cable out says goodbye to nobody, and its partners find out by
themselves. What is not: all share one kernel, its clock and its page cache, so that after a power-off the disk has all that was
written, not only what was synced (the recorder's simulation takes that away, lib/recorder/test/simulation).

Everything ends with the test, also with one that is killed: the first process of each machine reads from a pipe that only the
test can write to, and the networks have no names. Nothing of the real network is touched.
"""
import errno
import http.client
import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid

import namespaces
import weir_program

SLOW = 120.0  # seconds that a loaded machine may need for anything that should be quick
PREFIX = 16
EVERYTHING = namespaces.MOUNTS | namespaces.UTS | namespaces.IPC | namespaces.PIDS | namespaces.NETWORK
TOOLS = {"ip": "iproute2", "tc": "iproute2", "nft": "nftables", "mount": "mount"}
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
HIDDEN = {"/tmp": "1777", "/run": "755", "/dev/shm": "1777", pwd.getpwuid(0).pw_dir: "700"}  # each machine has its own, of this mode
# What a machine does at first: /proc of its own processes, another boot-id each time. Then it waits for its end. With SIGCHLD ignored the
# kernel takes away what ended and had lost its parent.
FIRST_PROCESS = """set -e
mount -t proc proc /proc
mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
echo powered
exec env --ignore-signal=CHLD cat >/dev/null
"""


class Host:
    """A machine. Made by Hosts; `address` is that of its eth0, `directory` its disk, the same path inside and outside. All threads of
    a test may use it: one may take away the power while another starts something."""

    def __init__(self, hosts, number, name):
        self._hosts, self.name, self.address = hosts, name, f"10.77.0.{number}"
        self._mac = f"02:77:00:00:00:{number:02x}"  # a machine that comes back has the one that its partners know
        self.directory = hosts.folder / name
        self._machine_id = uuid.uuid4().hex
        self._first = None  # its first process
        self._started = []  # all that were started by the test and may still run
        self._power = threading.RLock()  # while it changes nothing is started
        self.plugged, self.bytes_per_second, self.loss = True, None, 0.0

    @property
    def running(self):
        """It has power."""
        first = self._first
        return first is not None and first.poll() is None

    def power_on(self):
        with self._power:
            if not self.running:
                self._power_on()

    def _power_on(self):
        self._first = namespaces.in_thread(self._boot)
        answer = self._first.stdout.readline()
        if answer != b"powered\n":
            said = answer + self._first.stdout.read()
            self._power_off()
            raise OSError(f"machine {self.name} did not start: {said.decode(errors='replace').strip()}")
        state = "up" if self.plugged else "down"
        self._hosts.at_switch(["ip", "-batch", "-"], f"link add {self.name} type veth peer name eth0 address {self._mac} netns {self._first.pid}\n"
                                                     f"link set {self.name} addrgenmode none master bed {state}\n")
        # Without addresses of IPv6 nothing is on the line but what the test sends.
        self._in_network(["ip", "-batch", "-"], f"link set lo up\nlink set eth0 addrgenmode none\naddress add {self.address}/{PREFIX} dev eth0\n"
                                                "link set eth0 up\n")
        if self.bytes_per_second:
            self.slow(self.bytes_per_second)

    def power_off(self):
        """At once, as when the plug is pulled. Its connections are not closed: the network is gone before the processes."""
        with self._power:
            if self._first is not None:
                self._power_off()

    def _power_off(self):
        if self.running:
            self._hosts.at_switch(["ip", "link", "delete", self.name], may_fail=True)  # it has none yet when its start failed
        self._first.kill()
        while self._started:  # the first process ends when those are reaped that it did not start
            self._started.pop().wait(SLOW)
        self._first.wait(SLOW)
        self._first.stdin.close()
        self._first.stdout.close()
        self._first = None

    def unplug(self):
        """The network cable, at the switch: eth0 has no carrier."""
        self.plugged = False
        self._link("down")

    def plug(self):
        self.plugged = True
        self._link("up")

    def _link(self, state):
        if self.running:
            self._hosts.at_switch(["ip", "link", "set", self.name, state])

    def lose(self, share):
        """A share (0 to 1) of the packets of IPv4 that arrive is lost, drawn at random."""
        self.loss = share
        self._hosts.write_rules()

    @property
    def lost(self):
        """Packets that `lose` has taken, since the beginning."""
        counters = json.loads(self._hosts.at_switch(["nft", "-j", "list", "counters", "table", "bridge", "bed"]))["nftables"]
        return next(entry["counter"]["packets"] for entry in counters if entry.get("counter", {}).get("name") == f"lost-{self.name}")

    def slow(self, bytes_per_second):
        """No more goes through its cable, in each direction. None: as fast as it can."""
        self.bytes_per_second = bytes_per_second
        if not self.running:
            return
        for port, run in ((self.name, self._hosts.at_switch), ("eth0", self._in_network)):
            run(["tc", "qdisc", "delete", "dev", port, "root"], may_fail=True)  # there may be none
            if bytes_per_second:
                run(["tc", "qdisc", "add", "dev", port, "root", "tbf", "rate", f"{bytes_per_second}bps", "burst", "16384", "limit", "131072"])

    def call(self, function, *arguments):
        """What a function of the test returns that runs in a thread inside: it sees the machine's files, and sockets that it makes
        are in the machine's network, wherever they are used later. A socket of the test is not closed by a power-off."""
        first = self._needs_power()

        def inside():
            namespaces.enter_process(first.pid, EVERYTHING)
            return function(*arguments)

        return namespaces.in_thread(inside)

    def start(self, arguments, **more):
        """A process inside, as subprocess.Popen. Its working directory is the disk, if `cwd` does not say another."""
        more.setdefault("cwd", self.directory)
        more.setdefault("stdin", subprocess.DEVNULL)
        environment = dict(os.environ if more.get("env") is None else more["env"])
        environment.pop("TMPDIR", None)  # of this machine
        more["env"] = environment
        with self._power:
            process = self.call(lambda: subprocess.Popen([str(argument) for argument in arguments], **more))
            self._started = [other for other in self._started if other.poll() is None] + [process]
        return process

    def run(self, arguments, input=None, timeout=SLOW, **more):
        """A program inside to its end, as subprocess.run with the text of its output (`Ended`)."""
        process = self.start(arguments, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, **more)
        try:
            out, err = process.communicate(input, timeout)
        except BaseException:
            process.kill()
            process.communicate()
            raise
        return weir_program.Ended(process.returncode, out, err)

    def connect(self, address, timeout=SLOW):
        """A TCP connection from inside; `address`: "host:port"."""
        host, port = address.rsplit(":", 1)
        return self.call(socket.create_connection, (host, int(port)), timeout)

    def ask(self, address, path, body=None, context=None, timeout=SLOW):
        """Status and text of the answer to a request over HTTP from inside, over HTTPS with `context`. With a body it is a POST."""
        host, port = address.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=timeout)
        plain = self.connect(address, timeout)
        try:
            connection.sock = context.wrap_socket(plain, server_hostname=host) if context else plain
            connection.request("GET" if body is None else "POST", path, body, {} if body is None else {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()
            plain.close()

    def processes(self):
        """The pids, as the test sees them, of all processes inside, those that ended and are not reaped included."""
        namespace, found = os.readlink(f"/proc/{self._needs_power().pid}/ns/pid"), []
        for path in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "ns" / "pid") == namespace:
                    found.append(int(path.name))
            except OSError:
                pass  # it has ended meanwhile
        return found

    def _needs_power(self):
        """Its first process."""
        first = self._first
        if first is None or first.poll() is not None:
            raise AssertionError(f"machine {self.name} is off")
        return first

    def _in_network(self, arguments, input="", may_fail=False):
        """A program of this machine, with its files, in the network of that one."""
        def inside():
            namespaces.enter_process(self._first.pid, namespaces.NETWORK)
            return run_tool(arguments, input, may_fail)

        return namespaces.in_thread(inside)

    def _boot(self):
        """In a thread of its own, which becomes the machine; returns its first process."""
        namespaces.private_mounts(self._hosts.probe)
        namespaces.unshare(EVERYTHING & ~namespaces.MOUNTS)
        socket.sethostname(self.name)
        self._mount_all()
        return subprocess.Popen(["/bin/sh", "-c", FIRST_PROCESS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/")

    def _mount_all(self):
        hidden = self._hosts.hidden
        kept = {self.directory: 0, self._hosts.shared: 0}
        kept.update({path: namespaces.READ_ONLY for path in self._hosts.sees if any(place in path.parents for place in hidden)})
        opened = {path: os.open(path, os.O_PATH | os.O_DIRECTORY) for path in kept}  # before they are hidden
        try:
            for place, mode in hidden.items():
                namespaces.mount("tmpfs", place, "tmpfs", data=f"mode={mode}")
            for path in sorted(kept):
                path.mkdir(parents=True, exist_ok=True)
                namespaces.mount(f"/proc/self/fd/{opened[path]}", path, flags=namespaces.BIND)
                if kept[path]:
                    namespaces.mount(None, path, flags=namespaces.BIND | namespaces.REMOUNT | kept[path])
        finally:
            for descriptor in opened.values():
                os.close(descriptor)
        try:  # what else is seen is read-only
            namespaces.mount(None, "/", flags=namespaces.BIND | namespaces.REMOUNT | namespaces.READ_ONLY)
        except OSError as error:
            if error.errno != errno.EINVAL:  # in a chroot whose root is no mount it stays as it is
                raise
        names = "".join(f"{host.address} {host.name}\n" for host in self._hosts.all())
        for path, text in (("/etc/hosts", f"127.0.0.1 localhost\n::1 localhost ip6-localhost\n{names}"), ("/etc/hostname", f"{self.name}\n"),
                           ("/etc/machine-id", f"{self._machine_id}\n")):
            own = pathlib.Path("/run") / path.rsplit("/", 1)[1]
            own.write_text(text)
            if os.path.exists(path):
                namespaces.mount(own, path, flags=namespaces.BIND)
        pathlib.Path("/run/boot_id").write_text(f"{uuid.uuid4()}\n")


class Hosts:
    """Machines with these names, and one more, `ctl` (`control`), for what directs them; all with power and connected.

    folder   is made if it is not there, and keeps the disks; the caller removes it
    sees     directories of this machine that all machines see, read-only; in any case this repository, the program, the recorded events
    """

    def __init__(self, folder, names, sees=()):
        assert len(names) < 200 and all(0 < len(name) < 16 and name not in ("ctl", "bed", "lo") for name in names), names
        self.folder = pathlib.Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.shared, self.probe = self.folder / "shared", self.folder / ".probe"
        program = pathlib.Path(shutil.which(weir_program.PROGRAM) or REPOSITORY).resolve()
        # bin/weir starts libexec/weir/*, so the folder above its own is needed, too.
        paths = [REPOSITORY, weir_program.DATA, program.parent, program.parent.parent, sys.prefix, sys.base_prefix, *sees]
        self.sees = sorted({pathlib.Path(path).resolve() for path in paths if pathlib.Path(path).is_dir()})
        places = {tempfile.gettempdir(): "1777", self.folder: "755", **HIDDEN}
        places = {pathlib.Path(place).resolve(): mode for place, mode in places.items() if pathlib.Path(place).is_dir()}
        self.hidden = {place: mode for place, mode in places.items() if not any(other in place.parents for other in places)}
        self._hosts = {name: Host(self, number, name) for number, name in enumerate(["ctl", *names], 10)}
        self.control = self._hosts["ctl"]
        self._apart = []  # sets of names
        for path in (self.shared, self.probe, *(host.directory for host in self.all())):
            path.mkdir(parents=True, exist_ok=True)
        self._switch = namespaces.in_thread(self._make_switch)  # a network lives as long as this descriptor
        try:
            self.at_switch(["ip", "-batch", "-"], "link set lo up\nlink add bed type bridge forward_delay 0 stp_state 0 mcast_snooping 0\n"
                                                  "link set bed addrgenmode none up\n")
            for host in self.all():
                host.power_on()
            self.write_rules()
        except BaseException:
            self.close()
            raise

    @staticmethod
    def _make_switch():
        namespaces.unshare(namespaces.NETWORK)
        return os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)

    def __getitem__(self, name):
        return self._hosts[name]

    def all(self):
        """Every machine, `ctl` first."""
        return list(self._hosts.values())

    def split(self, *sides):
        """The switch takes nothing from one side to another. A side is a set of machines (or names); one that is in none reaches all.
        It replaces an earlier split."""
        self._apart = [sorted(host.name if isinstance(host, Host) else self[host].name for host in side) for side in sides]
        self.write_rules()

    def heal(self):
        """No split."""
        self.split()

    def write_rules(self):
        """What the switch does not forward: rules for all, replaced at once; what they have counted stays."""
        rules = ["add table bridge bed", "add chain bridge bed forward { type filter hook forward priority 0; policy accept; }"]
        rules += [f"add counter bridge bed lost-{host.name}" for host in self.all()]
        rules.append("flush chain bridge bed forward")
        words = lambda names: "{ " + ", ".join(f'"{name}"' for name in names) + " }"
        for side in self._apart:
            others = [name for other in self._apart if other is not side for name in other]
            if side and others:
                rules.append(f"add rule bridge bed forward iifname {words(side)} oifname {words(others)} drop")
        for host in self.all():
            if host.loss >= 1e-6:
                rules.append(f'add rule bridge bed forward oifname "{host.name}" meta protocol ip '
                             f'numgen random mod 1000000 <= {round(host.loss * 1_000_000) - 1} counter name "lost-{host.name}" drop')
        self.at_switch(["nft", "-f", "-"], "\n".join(rules) + "\n")

    def at_switch(self, arguments, input="", may_fail=False):
        """What a program prints that runs in the network of the switch, where each machine's cable has the machine's name."""
        def inside():
            namespaces.enter(self._switch, namespaces.NETWORK)
            return run_tool(arguments, input, may_fail)

        return namespaces.in_thread(inside)

    def close(self):
        for host in self.all():
            host.power_off()
        if self._switch is not None:
            os.close(self._switch)
            self._switch = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def run_tool(arguments, input="", may_fail=False):
    ended = subprocess.run(arguments, input=input, capture_output=True, text=True, timeout=SLOW)
    if ended.returncode and not may_fail:
        raise OSError(f"{' '.join(arguments)} failed: {(ended.stderr or ended.stdout).strip()}")
    return ended.stdout


def why_no_hosts():
    """What is missing here for machines as namespaces; nothing: it works, as one was made, with a slow line that loses."""
    if os.geteuid() != 0:
        return "machines as namespaces take root; run the tests as root"
    for tool, package in TOOLS.items():
        if not shutil.which(tool):
            return f"{tool} is not there; install {package}"
    with tempfile.TemporaryDirectory(prefix="weir-hosts-") as folder:
        try:
            with Hosts(folder, ["h1"]) as hosts:
                hosts["h1"].lose(0.5)
                hosts["h1"].slow(1_000_000)
                hosts.split({"h1"}, {"ctl"})
        except OSError as error:
            return f"machines as namespaces cannot be made here: {error}"
    return None


def main_with_hosts(what):
    """Runs the tests of a file, all of which need machines; where there can be none it reports so."""
    missing = why_no_hosts()
    if missing:
        print(f"NOT TESTED: {what}: {missing}", file=sys.stderr)
        sys.exit(weir_program.SKIPPED)
    weir_program.main()
