# SPDX-License-Identifier: Apache-2.0
"""Debian's sshd on the machines of a test bed, and the system's ssh on `ctl`, with a key made for the test and the keys of the machines
known beforehand. Nothing of the user's own configuration is read."""
import os
import shutil
import subprocess

from weir_process import wait_until

SERVER = """ListenAddress {host.address}
HostKey {host.directory}/ssh_host_key
PidFile none
AuthorizedKeysFile {host.directory}/authorized_keys
PermitRootLogin prohibit-password
AuthenticationMethods publickey
# What is above the test's folder may be writable for all (/tmp).
StrictModes no
UsePAM no
PrintLastLog no
"""
CLIENT = """User root
IdentityFile {key}
IdentitiesOnly yes
BatchMode yes
UserKnownHostsFile {known}
GlobalKnownHostsFile none
StrictHostKeyChecking yes
"""


def absent():
    """What is missing here to run it; empty: nothing."""
    missing = [f"{program} (package {package})" for program, package in
               (("sshd", "openssh-server"), ("ssh", "openssh-client"), ("ssh-keygen", "openssh-client")) if shutil.which(program) is None]
    return f"not found: {', '.join(missing)}" if missing else ""


def make_key(path):
    """Returns the public half as one line."""
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", path.name, "-f", path], check=True, stdin=subprocess.DEVNULL, timeout=120)
    return path.with_name(f"{path.name}.pub").read_text()


class Ssh:
    """A server on each machine of `hosts` but `ctl`, once it listens. `client`: the words to begin a command on `ctl` with:
    [*client, "h1", "hostname"]."""

    def __init__(self, hosts):
        self.hosts, folder = hosts, hosts.control.directory
        self.machines = [host for host in hosts.all() if host is not hosts.control]
        self.key, self.known, configuration = (folder / name for name in ("ssh_key", "known_hosts", "ssh_config"))
        public = make_key(self.key)
        known = []
        for host in self.machines:
            (host.directory / "authorized_keys").write_text(public)
            (host.directory / "sshd_config").write_text(SERVER.format(host=host))
            known.append(f"{host.name},{host.address} {make_key(host.directory / 'ssh_host_key')}")
        self.known.write_text("".join(known))
        configuration.write_text(CLIENT.format(key=self.key, known=self.known))
        self.client = ["ssh", "-F", str(configuration)]
        for host in self.machines:
            self.start_server(host)

    def start_server(self, host):
        """Also after a power-on: returns the process once it listens."""
        host.call(os.makedirs, "/run/sshd", 0o755, True)
        log = host.directory / "sshd.log"
        with open(log, "wb") as output:
            process = host.start([shutil.which("sshd"), "-D", "-e", "-f", host.directory / "sshd_config"], stdout=output, stderr=output)

        def listens():
            assert process.poll() is None, log.read_text()
            return "Server listening on" in log.read_text()

        wait_until(listens, f"sshd listens on {host.name}")
        return process

    def run(self, host, *command, input=None, options=()):
        """A command on a machine from `ctl`; its words are joined and split by a shell there."""
        return self.hosts.control.run([*self.client, *options, host.name, *command], input)
