"""A life of FaultHost: its start, its end, and the records that it leaves."""

import json
import os
import signal
import subprocess
import threading

# Nothing that a life is told to do takes longer, unless it hangs; and that is a failure.
PATIENCE = 120


class Life:
    """One process. Its records are read as they come, so that the pipe is never full, and kept when it is dead."""

    def __init__(self, machine, directory, *words, control=None, prefix=(), interactive=False, user=None):
        environment = dict(os.environ)
        if control is not None:
            environment |= control.environment(directory)
        command = [*prefix, machine.host, "run", directory, *[str(word) for word in words]]
        if interactive:
            command.append("--interactive")
        self.acknowledged = {}  # number: when, in seconds of the monotonic clock
        self.refused = {}  # number: why
        self.received = []  # (batch, the event's line)
        self.settled = set()
        self.unsettled = set()  # batches that the store could not forget
        self.dropped = {}  # why: how many events that had been accepted
        self.books = {}  # of the last command that has ended
        self.answers = []  # all of them
        self.stderr = b""
        self._changed = threading.Condition()
        self._batch = None
        self._has_ended = False
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE if interactive else subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env=environment, user=user)
        machine.watch(self.process)
        self._readers = [
            threading.Thread(target=target, daemon=True) for target in (self._read_records, self._read_notes)]
        for reader in self._readers:
            reader.start()

    # Records

    def _read_records(self):
        for line in self.process.stdout:
            # A record without its newline was being written when the process died: it was never made.
            if line.endswith(b"\n"):
                with self._changed:
                    self._take(line[:-1])
                    self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def _read_notes(self):
        self.stderr = self.process.stderr.read()

    def _take(self, line):
        kind, _, rest = line.partition(b" ")
        if line.startswith(b"{"):
            self.received.append((self._batch, line))
        elif kind == b"a":
            number, micros = rest.split()
            self.acknowledged[int(number)] = int(micros) / 1e6
        elif kind == b"r":
            number, reason = rest.split(maxsplit=1)
            self.refused[int(number)] = reason.decode()
        elif kind == b"b":
            self._batch = int(rest)
        elif kind == b"s":
            self.settled.add(int(rest))
        elif kind == b"u":
            self.unsettled.add(int(rest))
        elif kind == b"d":
            count, reason = rest.decode().split()
            self.dropped[reason] = self.dropped.get(reason, 0) + int(count)
        elif kind == b"=":
            name, _, books = rest.partition(b" ")
            self.books = json.loads(books)
            self.answers.append((name.decode(), self.books))
        else:
            raise ValueError(f"no record: {line[:80]}")

    # Commands

    def ask(self, command):
        """Has a command obeyed, and returns the books after it."""
        before = len(self.answers)
        self.tell(command)
        self.wait_until(lambda: len(self.answers) > before)
        if len(self.answers) == before:
            raise HostFailure(f"{command}: the host ended with {self.process.wait()}: {self.stderr[-400:]}")
        return self.books

    def tell(self, command):
        """Has a command obeyed, sooner or later."""
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()

    def wait_until(self, condition, timeout=PATIENCE):
        """Waits for a condition on the records, or the end of the process."""
        with self._changed:
            if not self._changed.wait_for(lambda: condition() or self._has_ended, timeout):
                self.process.kill()
                raise HostFailure(self._hanging())

    def wait_for_acknowledged(self, count):
        self.wait_until(lambda: len(self.acknowledged) + len(self.refused) >= count)

    # Ends

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self.finish()

    def finish(self):
        """Waits for the end, and returns the exit status: negative for the signal that it died of."""
        if self.process.stdin:
            self.process.stdin.close()
        try:
            status = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise HostFailure(self._hanging()) from None
        for reader in self._readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return status

    def _hanging(self):
        words = " ".join(self.process.args)
        return f"the host hangs, {len(self.acknowledged)} acknowledged, after {self.answers[-1:]}: {words}"

    @property
    def was_killed(self):
        return self.process.returncode == -signal.SIGKILL


class HostFailure(Exception):
    """A life that was to go on crashed or hung."""


def live(machine, directory, *words, **options):
    """A life that does what it is told and ends."""
    life = Life(machine, directory, *words, **options)
    status = life.finish()
    if status != 0:
        raise HostFailure(f"the host ended with {status}: {life.stderr[-400:].decode(errors='replace')}")
    return life
