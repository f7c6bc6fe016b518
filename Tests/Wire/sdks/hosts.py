"""Hosts in processes of their own, which take commands as lines: see Tests/Wire/Requests/PeerHost.swift.

This module is also the program of the hosts of the SDKs: `hosts.py VENDOR WAY URL [ROOM]`. The clock of its process runs
fast, so hours of waiting take seconds, and the SDK isn't changed.
"""

import json
import logging
import os
import subprocess
import sys
import threading
import time

SPEED = int(os.environ.get("SLUICE_SDK_SPEED", 200))  # Seconds of an SDK's clock in a second.


class Host:
    """Sends commands to a process, and returns its reports."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, **(environment or {})})

    def __call__(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.process.args}: ended at {words}")
        return json.loads(line)

    def leave(self, limit=60):
        """The program ends, as after its last statement. Returns whether its process ended by itself."""
        try:
            self.process.stdin.write("exit\n")
            self.process.stdin.close()
            self.process.wait(limit)
            return True
        except subprocess.TimeoutExpired:
            return False
        finally:
            self.process.kill()
            self.process.wait()


def hurry():
    """Makes the clock of this process run fast."""
    sleep, monotonic, wall, wait = time.sleep, time.monotonic, time.time, threading.Condition.wait
    start, start_wall = monotonic(), wall()
    time.sleep = lambda seconds: sleep(seconds / SPEED)
    time.monotonic = lambda: start + (monotonic() - start) * SPEED
    time.time = lambda: start_wall + (monotonic() - start) * SPEED
    # All waits of threads, events, queues and timers.
    threading.Condition.wait = lambda self, timeout=None: wait(self, timeout and timeout / SPEED)
    import queue

    queue.time = time.monotonic
    threading._time = time.monotonic
    return sleep


def main(vendor, way, url, room=None):
    output = sys.stdout
    sys.stdout = sys.stderr
    sleep = hurry()
    from sdks.adapters import VENDORS

    told = []

    class Log(logging.Handler):
        def emit(self, record):
            told.append("log")

    # Python prints warnings and errors of any logger, if the host has no handler of its own.
    logging.getLogger().addHandler(Log(logging.WARNING))
    threading.excepthook = lambda arguments: told.append("its thread dies")
    adapter = VENDORS[vendor][3][way](url, told.append, int(room) if room else None)
    flushes = []

    def attempt(name, action, *arguments):
        try:
            action(*arguments)
        except Exception:
            told.append(f"`{name}` raises")

    for line in sys.stdin:
        words = line.split()
        match words:
            case ["track", count, word]:
                for number in range(int(count)):
                    attempt("track", adapter.track, f"{word}-{number}")
            case ["flush"]:
                thread = threading.Thread(target=attempt, args=("flush", adapter.flush), daemon=True)
                thread.start()
                flushes.append(thread)
            case ["pass", seconds]:
                sleep(int(seconds) / SPEED)
            case ["exit"]:
                return
        report = {"told": sorted(set(told)), "hanging": sum(thread.is_alive() for thread in flushes)}
        told.clear()
        output.write(json.dumps(report) + "\n")
        output.flush()


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    main(*sys.argv[1:])
