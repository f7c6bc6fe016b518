"""The machine that the experiments run on: what they need of it, and what they must leave behind as it was."""

import os
import random
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.dirname(os.path.dirname(HERE))


class Impossible(Exception):
    """An experiment cannot be run here; the message says why."""


class Machine:
    """Use it in a `with`: everything that it made or mounted is gone afterwards, unless a trial failed there."""

    def __init__(self, seed, is_full, trials):
        self.seed = seed
        self.is_full = is_full
        self._trials = trials
        self._host = None
        self._shim = None
        self._mounts = []
        self._processes = []
        self._kept = set()

    def __enter__(self):
        # Memory: half a million files are made there, and none of them is to wear out a drive.
        place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.place = tempfile.mkdtemp(prefix="sluice-faults-", dir=place)
        os.chmod(self.place, 0o755)
        self.disk_place = tempfile.mkdtemp(prefix="sluice-faults-")
        return self

    def __exit__(self, *_):
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for mount in list(self._mounts):
            self.unmount(mount)
        if self._kept:
            print(f"left to be looked at: {' '.join(sorted(self._kept))}", file=sys.stderr)
        else:
            shutil.rmtree(self.place)
            shutil.rmtree(self.disk_place)

    def watch(self, process):
        """Sees to it that a process does not outlive this script."""
        self._processes = [old for old in self._processes if old.poll() is None] + [process]

    def trials(self, full, default):
        """How often to try: so many times in a full run, and so many otherwise."""
        return self._trials or (full if self.is_full else default)

    def seeds(self, count):
        """The seeds of an experiment's trials."""
        return range(self.seed, self.seed + count)

    def random(self, name, seed):
        """The randomness of one trial, which follows from its name and its seed alone."""
        return random.Random(f"{name} {seed}")

    # Directories

    def directory(self, name, on_disk=False):
        """The path of a directory that is not there yet."""
        path = os.path.join(self.disk_place if on_disk else self.place, name)
        shutil.rmtree(path, ignore_errors=True)
        return path

    def discard(self, path, failed=False):
        if failed and len(self._kept) < 3:
            kept = f"{path}-failed-{len(self._kept)}"
            os.rename(path, kept)
            self._kept.add(kept)
        else:
            shutil.rmtree(path, ignore_errors=True)

    # What is built

    @property
    def host(self):
        """The path of FaultHost."""
        if self._host is None:
            self._host = os.environ.get("SLUICE_FAULT_HOST") or self._build_host()
        return self._host

    def _build_host(self):
        scratch = os.environ.get("SLUICE_FAULTS_SCRATCH", os.path.join(PACKAGE, ".build"))
        command = ["swift", "build", "-c", "release", "--package-path", PACKAGE, "--scratch-path", scratch]
        subprocess.run(command + ["--product", "FaultHost"], check=True, stdout=sys.stderr)
        return os.path.join(scratch, "release", "FaultHost")

    @property
    def shim(self):
        """The path of the shared library that is made from shim.c."""
        if self._shim is None:
            if not sys.platform.startswith("linux"):
                raise Impossible("LD_PRELOAD is Linux's")
            self.need("cc", "gcc")
            path = os.path.join(self.place, "shim.so")
            source = os.path.join(HERE, "shim.c")
            flags = ["-Wall", "-Wextra", "-Werror", "-O2", "-shared", "-fPIC"]
            subprocess.run(["cc", *flags, "-o", path, source, "-ldl"], check=True)
            self._shim = path
        return self._shim

    def need(self, tool, package):
        """Makes sure that a tool is there, and installs its package if it is not."""
        if shutil.which(tool):
            return
        self.need_root(f"to install {package}")
        print(f"installing {package} for {tool}", file=sys.stderr, flush=True)
        apt = ["apt-get", "-o", "DPkg::Lock::Timeout=300"]
        for command in (["update", "-q"], ["install", "-q", "-y", package]):
            if not shutil.which("apt-get") or subprocess.run(apt + command, stdout=sys.stderr).returncode != 0:
                raise Impossible(f"{tool} is not there, and {package} cannot be installed")

    # What only root may do

    @staticmethod
    def need_root(what):
        if os.geteuid() != 0:
            raise Impossible(f"it takes root {what}")

    def mount(self, path, *arguments):
        """Mounts a file system at `path`, which is made."""
        self.need_root("to mount")
        os.makedirs(path, exist_ok=True)
        mount = subprocess.run(["mount", *arguments, path], capture_output=True, text=True)
        if mount.returncode != 0:
            raise Impossible(f"mount {' '.join(arguments)}: {mount.stderr.strip()}")
        self._mounts.append(path)

    def unmount(self, path):
        self._mounts.remove(path)
        subprocess.run(["umount", path], check=True)
