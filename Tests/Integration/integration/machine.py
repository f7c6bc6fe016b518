"""The machine on which the trials run: servers, directories and tools, which are cleaned up afterwards."""

import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

from . import log

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.dirname(os.path.dirname(HERE))


class Impossible(Exception):
    """A trial can't be run here; the message says why."""


class Failed(Exception):
    """A trial has failed; the message says why."""


def same(what, actual, expected):
    if actual != expected:
        raise Failed(f"{what}: {actual!r}, not {expected!r}")


class Machine:
    """Use it in a `with`, which ends the servers and removes the files, unless a trial failed."""

    def __init__(self, log_path, seed, is_full):
        self.seed = seed
        self.is_full = is_full
        self.servers = {}
        self._log_path = log_path
        self._requests = None
        self._program = None
        self._processes = []
        self._ports = set()
        self._is_kept = False

    def __enter__(self):
        self.place = tempfile.mkdtemp(prefix="sluice-integration-")
        return self

    def __exit__(self, *_):
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._is_kept:
            print(f"kept for inspection: {self.place}", file=sys.stderr)
        else:
            shutil.rmtree(self.place)

    def keep(self):
        self._is_kept = True

    def trials(self, full, default):
        """The number of repetitions, in a full run or by default."""
        return full if self.is_full else default

    def random(self, name, number):
        """The random numbers of one trial, by the seed, its name and its number."""
        return random.Random(f"{self.seed} {name} {number}")

    # Events

    @property
    def requests(self):
        """The lines of the access log, as bytes."""
        if self._requests is None:
            if self._log_path:
                with open(self._log_path, "rb") as file:
                    self._requests = file.read().splitlines()
            else:
                print("no --log is given: 10,000 lines are generated", file=sys.stderr, flush=True)
                self._requests = log.made(random.Random(self.seed), 10_000)
        return self._requests

    def folder(self, name):
        """The path of an empty directory."""
        path = os.path.join(self.place, name)
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
        return path

    # Processes

    @property
    def program(self):
        """The path of the AccessLog example."""
        if self._program is None:
            self._program = os.environ.get("SLUICE_ACCESS_LOG") or self._build()
        return self._program

    def _build(self):
        command = ["swift", "build", "--package-path", PACKAGE]
        subprocess.run(command + ["--product", "AccessLog"], check=True, stdout=sys.stderr)
        shown = subprocess.run(command + ["--show-bin-path"], check=True, capture_output=True, text=True)
        return os.path.join(shown.stdout.strip(), "AccessLog")

    def deliver(self, lines, url, wire_format, store, deadline=30, authorities=None, timeout=300):
        """Runs AccessLog with `lines`. Returns its exit status, its counts by name, and its messages."""
        environment = {**os.environ, "no_proxy": "*"}
        environment.pop("SSL_CERT_FILE", None)
        if authorities:
            environment["SSL_CERT_FILE"] = authorities
        command = [self.program, "-", "--to", url, "--format", wire_format, "--store", store]
        try:
            run = subprocess.run(
                command + ["--deadline", str(deadline)], input=b"".join(line + b"\n" for line in lines),
                env=environment, capture_output=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            raise Failed("AccessLog doesn't end")
        said = run.stderr.decode(errors="replace")
        counts = {name: int(count) for count, name in re.findall(r"^(\d+) ([a-z]+)", said, re.MULTILINE)}
        if run.returncode not in (0, 2) or "delivered" not in counts:
            raise Failed(f"AccessLog ended with {run.returncode}: {said}")
        return run.returncode, counts, said

    def start(self, command, port, name, **options):
        """Starts a server, waits until it listens, and returns its process."""
        output = os.path.join(self.place, f"{name}.log")
        with open(output, "ab") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, **options)
        self._processes.append(process)
        for _ in range(600):
            if process.poll() is not None:
                break
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return process
            time.sleep(0.05)
        with open(output, errors="replace") as file:
            raise Impossible(f"{name} does not start: {file.read()[-2_000:]}")

    def free_ports(self, count):
        """Free ports of the loopback interface outside the ephemeral range. Each is returned once."""
        # A port that the system selects could become that of a connection before the server listens.
        with open("/proc/sys/net/ipv4/ip_local_port_range") as file:
            first, last = map(int, file.read().split())
        candidates = set(range(1_024, 65_536)) - set(range(first, last + 1)) - self._ports
        ports = []
        for port in random.sample(sorted(candidates), len(candidates)):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) != 0:
                    ports.append(port)
            if len(ports) == count:
                self._ports.update(ports)
                return ports
        raise Impossible("too few ports are free")

    @staticmethod
    def install(*packages):
        """Installs packages."""
        names = ", ".join(packages)
        print(f"installing {names}", file=sys.stderr, flush=True)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        for arguments in (["update", "-q"], ["install", "-q", "-y", "--no-install-recommends", *packages]):
            if os.geteuid() != 0 or not shutil.which("apt-get"):
                raise Impossible(f"installing {names} needs root and apt-get")
            if subprocess.run(["apt-get", "-o", "DPkg::Lock::Timeout=300", *arguments], env=environment, stdout=sys.stderr).returncode != 0:
                raise Impossible(f"{names} can't be installed")

    @staticmethod
    def need(tool, package):
        """Installs a tool's package if it is missing, and returns the tool's path."""
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
        if not shutil.which(tool, path=path):
            Machine.install(package)
        found = shutil.which(tool, path=path)
        if not found:
            raise Impossible(f"{package} is installed, but {tool} is missing")
        return found
