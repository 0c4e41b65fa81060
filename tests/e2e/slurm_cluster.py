# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm with one node, this machine, for as long as a test takes: munged, slurmctld and slurmd of our own
in a folder of their own, on free ports of the loopback. slurmd starts tasks for users, so all of them need root."""
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from free_ports import free_ports  # noqa: E402

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun")
PATIENCE_S = 25

CONFIGURATION = """
ClusterName=synctrace
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
MailProg=/bin/true
SchedulerType=sched/builtin
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES State=UP
"""


def why_not():
    """Why there can be no cluster here; empty where there can."""
    missing = [name for name in PROGRAMS if find(name) is None]
    if missing:
        return "no " + ", ".join(missing) + " here (Debian: slurmctld slurmd slurm-client munge)"
    return "" if os.geteuid() == 0 else "a cluster of Slurm is started by root"


def find(name):
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


class SlurmCluster:
    """Raises TimeoutError where the node is not ready in time."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="synctrace-slurm-"))
        self.daemons = []
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self):
        self.folder.chmod(0o755)
        host = socket.gethostname().split(".")[0]
        text = CONFIGURATION.format(host=host, ports=free_ports(2), folder=self.folder)
        (self.folder / "slurm.conf").write_text(text, encoding="ascii")
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        files = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log",
                 "seed-file": "munged.seed"}
        self._daemon("munged", "--foreground", "--force",
                     *[f"--{option}={self.folder / name}" for option, name in files.items()])
        self._wait_for(lambda: (self.folder / "munge.socket").exists())
        self._daemon("slurmctld", "-D", "-c")
        self._daemon("slurmd", "-D")
        self._wait_for(lambda: "idle" in self._say("sinfo", "--noheader", "--format=%T"))

    def _daemon(self, name, *options):
        self.daemons.append(subprocess.Popen([find(name), *options], env={**os.environ, **self.environment},
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    def _say(self, *command):
        return subprocess.run(command, env={**os.environ, **self.environment}, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL, timeout=PATIENCE_S, check=False).stdout

    def _wait_for(self, is_ready):
        deadline = time.monotonic() + PATIENCE_S
        while not is_ready():
            if time.monotonic() > deadline or any(one.poll() is not None for one in self.daemons):
                raise TimeoutError("Slurm did not come up")
            time.sleep(0.1)

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
