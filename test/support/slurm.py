# SPDX-License-Identifier: Apache-2.0
"""Debian's Slurm over the machines of a test bed: a controller on `ctl`, a daemon on each other machine, unmodified, with a configuration
of the test. There is no munge: who can reach a port is believed, and only these machines can."""
import re
import shutil
import subprocess

from weir_process import wait_until

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "sinfo", "scontrol", "scancel")
CONFIGURATION = """ClusterName=bed
SlurmctldHost=ctl({control})
SlurmUser=root
SlurmdUser=root
AuthType=auth/none
AuthInfo=cred_expire={cred_expire_s}
CredType=cred/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmdTimeout={timeout_s}
ReturnToService=2
SlurmctldPidFile=/run/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
StateSaveLocation={folder}/ctl/slurmctld
SlurmdSpoolDir={folder}/%n/slurmd
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def absent():
    """What is missing here to run one; empty: nothing."""
    missing = [program for program in PROGRAMS if shutil.which(program) is None]
    return f"{', '.join(missing)} not found (package slurm-wlm)" if missing else ""


class Slurm:
    """Starts it on all machines of `hosts`, and waits until they are idle. It ends with their power.

    timeout_s      silence of a machine after which it is down (Slurm's default: 300)
    features       of machines, by name: what a constraint asks for
    cred_expire_s  also how long a job waits before it is started again (Slurm's default: 120)
    """

    def __init__(self, hosts, timeout_s=10, cred_expire_s=5, cpus=8, features=None):
        self.hosts, self.control = hosts, hosts.control
        self.configuration = hosts.shared / "slurm.conf"
        self.machines = [host for host in hosts.all() if host is not hosts.control]
        nodes = "\n".join(f"NodeName={host.name} NodeAddr={host.address} CPUs={cpus} State=UNKNOWN"
                          + (f" Feature={features[host.name]}" if features and host.name in features else "") for host in self.machines)
        self.configuration.write_text(CONFIGURATION.format(control=self.control.address, cred_expire_s=cred_expire_s, timeout_s=timeout_s,
                                                           folder=hosts.folder, nodes=nodes))
        self.environment = {"SLURM_CONF": str(self.configuration), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
        (self.control.directory / "slurmctld").mkdir(exist_ok=True)
        self.controller = None
        self.start_controller()
        for host in self.machines:
            self.start_daemon(host)
        self.until_idle(*self.machines)

    def start_controller(self):
        """Its state, jobs included, is that on the disk of `ctl`."""
        self.controller = self._start(self.control, "slurmctld", "-D", "-f", self.configuration)

    def start_daemon(self, host):
        """Also after a power-on: returns the process."""
        (host.directory / "slurmd").mkdir(exist_ok=True)
        return self._start(host, "slurmd", "-D", "-f", self.configuration)

    def _start(self, host, program, *arguments):
        with open(host.directory / f"{program}.log", "ab") as log:
            return host.start([program, *arguments], env=self.environment, stdout=log, stderr=subprocess.STDOUT)

    def command(self, *arguments, input=None):
        """What a command of Slurm prints, run on `ctl`."""
        ended = self.control.run(arguments, input, env=self.environment)
        if ended.code:
            raise AssertionError(f"{' '.join(map(str, arguments))}: {ended!r}\n{self.logs()}")
        return ended.out

    def submit(self, script, *options):
        """The number of a job that runs a script on one machine; what it prints is in `output` of the machine where it ran."""
        return int(self.command("sbatch", "--parsable", "--nodes=1", f"--chdir={self.hosts.shared}", f"--output={self.hosts.folder}/%N/job-%j.out",
                                *options, input=script))

    def output(self, host, job):
        """As a path outside; it is there once the job has begun."""
        return host.directory / f"job-{job}.out"

    def state(self, job):
        """As Slurm names it: PENDING, RUNNING, COMPLETED, NODE_FAIL..."""
        return re.search(r"JobState=(\w+)", self.command("scontrol", "show", "job", job)).group(1)

    def until_state(self, job, *states):
        return wait_until(lambda: self.state(job) in states, f"job {job} is {' or '.join(states)}", poll=0.1)

    def nodes(self):
        """The state of each machine by its name: idle, allocated, down... None: the controller does not answer yet."""
        answer = self.control.run(["sinfo", "--noheader", "--Node", "--Format=NodeList:20,StateLong:20"], env=self.environment)
        if answer.code:
            assert self.controller.poll() is None, self.logs()
            return None
        return dict(line.split() for line in answer.out.splitlines())

    def until_idle(self, *machines):
        def idle():
            states = self.nodes() or {}
            return all(states.get(host.name) == "idle" for host in machines)
        try:
            wait_until(idle, "all machines are idle", poll=0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None

    def logs(self):
        """The end of what each daemon printed."""
        paths = [host.directory / ("slurmctld.log" if host is self.control else "slurmd.log") for host in self.hosts.all()]
        return "\n".join(f"== {path}\n{path.read_text(errors='replace')[-2000:]}" for path in paths if path.exists())
