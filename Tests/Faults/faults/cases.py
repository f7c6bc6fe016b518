"""Two events with one id, a drive that is slower than the events, and a disk that hangs."""

import os
import signal
import subprocess
import threading
import time

from .books import Books, Figures
from .control import FOREVER, HANG, Control
from .host import PATIENCE, HostFailure, Life


def double_ids(machine):
    """An event is rejected, a corrected one has its id, and the process is killed."""
    figures = Figures("ids")
    for seed in machine.seeds(machine.trials(full=500, default=10)):
        directory = machine.directory("ids")
        problems = double_id_trial(machine, figures, directory, machine.random("ids", seed))
        figures.trial(Books(), seed, problems=problems)
        machine.discard(directory, failed=bool(problems))
    return figures.report()


def double_id_trial(machine, figures, directory, random):
    records = []
    for first in (1, 1_000_001):
        host = Host(machine, "ids", directory, "track", first)
        host.wait_for("a", random.choice((1, 40, 200)))
        time.sleep(random.uniform(0, 0.03))
        host.process.send_signal(signal.SIGKILL)
        records += host.finish()
    host = Host(machine, "ids", directory, "drain")
    last = host.finish()
    records += last
    tracked = [rest for kind, rest in records if kind == "a"]
    delivered = {rest for kind, rest in records if kind == "g"}
    letters = [rest for kind, rest in records if kind == "l"]
    figures.count(pairs=len(tracked), accepted=len(delivered), letters=len(letters))
    problems = []
    if host.process.returncode != 0 or ("=", "true") not in last:
        problems.append(f"the last process ended with {host.process.returncode}, {last[-1:]}: {host.errors[-300:]}")
    if set(tracked) - delivered:
        problems.append(f"corrected events are lost: {sorted(set(tracked) - delivered)[:5]}")
    if set(tracked) - set(letters):
        problems.append(f"rejected events are lost: {sorted(set(tracked) - set(letters))[:5]}")
    if len(letters) != len(set(letters)):
        problems.append(f"{len(letters) - len(set(letters))} dead letters twice")
    return problems


# The closed files, the open ones, and the directories that one synchronization can have.
MOST_FILES = 17 + 3 + 8


def slow_drive(machine):
    """9,000 events a second in segments of 20, with 5 ms for each synchronization. Every second trial: 15,000, 50 and 10 ms."""
    figures = Figures("interval")
    control = Control(machine)
    for trial, seed in enumerate(machine.seeds(machine.trials(full=10, default=2))):
        # Microseconds for each synchronization, and after each event.
        delay, pause, batch = (5_000, 50, 20) if trial % 2 == 0 else (10_000, 10, 50)
        control.reset()
        directory = machine.directory("interval")
        books = Books()
        problems = []
        try:
            life = Life(
                machine, directory, "--durability", "interval:100", "--capacity", 1 << 30, "--batch", batch,
                control=control, interactive=True)
            life.ask("track 10")
            life.ask("deliver")
            control["delay"] = delay
            life.ask(f"track {120_000 if machine.is_full else 40_000} {pause}")
            life.ask("synchronize")
            oldest = control["age"] / 1e6
            control["delay"] = 0
            life.ask("deliver")
            life.ask("close")
            life.finish()
            books.add(life)
            figures.highest(oldest_ms=round(oldest * 1000))
            bound = 0.1 + 2 * MOST_FILES * delay / 1e6 + 0.3
            if not 0 < oldest < bound:
                problems.append(f"an event was unsynchronized for {oldest:.2f} s, of at most {bound:.2f} s")
        except HostFailure as failure:
            problems.append(str(failure))
        well = figures.trial(books, seed, problems=problems)
        machine.discard(directory, failed=not well)
    return figures.report()


def hanging_disk(machine):
    """Each operation of the disk hangs for more than a second, while 64 tasks flush and read."""
    figures = Figures("hang")
    control = Control(machine)
    for seed in machine.seeds(machine.trials(full=10, default=1)):
        control.reset()
        directory = machine.directory("hang")
        host = Host(machine, "hang", directory, control=control)
        host.wait_for("=", 1)
        control.fail(1, FOREVER, HANG)
        host.tell("go")
        time.sleep(1.5)
        ticks = host.count("t")
        control.end()
        records = host.finish()
        problems = []
        # Every 10 ms, on a machine that has more to do.
        if ticks < 30:
            problems.append(f"another task ran {ticks} times in 1.5 s")
        if ("=", "done") not in records or host.process.returncode != 0:
            problems.append(f"the host ended with {host.process.returncode}: {host.errors[-300:]}")
        figures.count(ticks=ticks)
        figures.trial(Books(), seed, problems=problems)
        machine.discard(directory, failed=bool(problems))
    return figures.report()


class Host:
    """A process of FaultHost that writes records of its own."""

    def __init__(self, machine, *words, control=None):
        environment = None
        if control is not None:
            environment = os.environ | control.environment(words[1])
        self._records = []
        self._changed = threading.Condition()
        self._has_ended = False
        self.errors = ""
        self.process = subprocess.Popen(
            [machine.host, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=environment)
        machine.watch(self.process)
        self._readers = [threading.Thread(target=target, daemon=True) for target in (self._read, self._read_errors)]
        for reader in self._readers:
            reader.start()

    def _read(self):
        for line in self.process.stdout:
            kind, _, rest = line.decode().rstrip("\n").partition(" ")
            with self._changed:
                # A record without its newline was never made.
                if line.endswith(b"\n"):
                    self._records.append((kind, rest))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _read_errors(self):
        self.errors = self.process.stderr.read().decode()

    def count(self, kind):
        with self._changed:
            return sum(record[0] == kind for record in self._records)

    def wait_for(self, kind, count):
        with self._changed:
            self._changed.wait_for(
                lambda: self._has_ended or sum(record[0] == kind for record in self._records) >= count, PATIENCE)

    def tell(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def finish(self):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for reader in self._readers:
            reader.join()
        return self._records
