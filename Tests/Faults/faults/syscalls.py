"""A kill at every system call of a life that creates, appends, rotates, settles and evicts; and in mid write."""

import collections
import os
import re
import subprocess

from . import folder
from .books import Books, Figures, is_critical
from .control import TEAR, Control
from .host import HostFailure, Life, live

# Small segments, so that a few events fill one: an eighth of 64 KiB. The last step does not fit, and evicts.
CAPACITY = 65_536
FILLER = 300
OPTIONS = ("--direct", "--capacity", CAPACITY, "--filler", FILLER, "--durability", "full", "--batch", 20)
STEPS = ("track 30", "deliver 1", "track 30", "deliver 2", "track 10", "deliver", "track 300", "close")
# The most events in a segment of 8 KiB.
SEGMENT = 40
# The number of the last event before the step that evicts.
BEFORE_EVICTION = 70


def run(machine):
    is_well = killed_before_each_call(machine)
    return torn_in_each_operation(machine) and is_well


# Before each system call


def killed_before_each_call(machine):
    figures = Figures("syscalls/kill")
    machine.need("strace", "strace")
    calls = calls_of_the_store(machine)
    figures.count(calls=len(calls))
    every = 1 if machine.is_full else max(1, len(calls) // machine.trials(full=1, default=60))
    # The seed moves the sample, so that runs with different seeds see different calls.
    for index in range(machine.seed % every, len(calls), every):
        name, occurrence = calls[index]
        inject = f"inject={name}:signal=KILL:when={occurrence}"
        strace = ("strace", "-qqq", "-o", "/dev/null", "-e", f"trace={name}", "-e", "signal=none", "-e", inject)
        trial(machine, figures, index, prefix=strace)
    return report(figures)


def calls_of_the_store(machine):
    """Each system call from the first to the last that names the store's directory: which, and which of its name."""
    directory = machine.directory("syscalls")
    trace = os.path.join(machine.place, "trace")
    words = [str(word) for word in (machine.host, "run", directory, *OPTIONS, *STEPS)]
    subprocess.run(["strace", "-qqq", "-o", trace, "-e", "signal=none", *words], check=True, stdout=subprocess.DEVNULL)
    machine.discard(directory)
    occurrences = collections.Counter()
    calls = []
    ours = []
    with open(trace, encoding="utf-8", errors="replace") as file:
        for line in file:
            call = re.match(r"(\w+)\(", line)
            if not call:
                continue
            name = call[1]
            occurrences[name] += 1
            # The start of the program names the directory too.
            if directory in line and name != "execve":
                ours.append(len(calls))
            calls.append((name, occurrences[name]))
    return calls[ours[0]:ours[-1] + 1]


# In the middle of each write, and before each other operation


def torn_in_each_operation(machine):
    figures = Figures("syscalls/torn")
    control = Control(machine)
    directory = machine.directory("syscalls")
    live(machine, directory, *OPTIONS, *STEPS, control=control)
    machine.discard(directory)
    operations = control["operations"]
    figures.count(operations=operations)
    every = 1 if machine.is_full else max(1, operations // machine.trials(full=1, default=60))
    for operation in range(1 + machine.seed % every, operations + 1, every):
        control.reset()
        control.fail(operation, operation, TEAR)
        trial(machine, figures, operation, control=control)
    return report(figures)


def report(figures):
    # The number of calls depends on time, so on a busy machine more processes end earlier.
    if figures.counts.get("unreached", 0) * 4 > figures.trials:
        figures.fail(0, "too many lives ended before the call that should have killed them")
    return figures.report()


def trial(machine, figures, number, **options):
    directory = machine.directory("syscalls")
    books = Books(FILLER)
    well = False
    try:
        life = Life(machine, directory, *OPTIONS, *STEPS, **options)
        life.finish()
        books.add(life)
        problems = []
        if life.process.returncode == 0:
            # How often the store looks whether its folder is still there depends on time: this life looked less often.
            figures.count(unreached=1)
        elif not life.was_killed:
            problems.append(f"the life was not killed: {life.process.returncode}")
        problems += [problem for problem in folder.check(directory, [life]).problems if " not there" not in problem]
        after = live(machine, directory, "--direct", "--filler", FILLER, "deliver", "close")
        books.add(after)
        if books.disorder():
            problems.append(f"{books.disorder()} events out of order")
        if len(books.received_unacknowledged) > 1:
            problems.append("events delivered that were not acknowledged")
        if after.books["waiting"] or after.books["stored"] or after.books["bytes"]:
            problems.append(f"the books do not close: {after.books}")
        problems += misjudged_evictions(books)
        # A segment that is evicted in the moment of the kill is removed, and nobody is left to report it.
        unreported = SEGMENT if books.accounted or len(life.acknowledged) > BEFORE_EVICTION else 0
        well = figures.trial(books, number, may_lose=books.accounted + unreported, problems=problems)
    except HostFailure as failure:
        figures.fail(number, str(failure))
    machine.discard(directory, failed=not well)


def misjudged_evictions(books):
    """Whatever was evicted must have been normal, and older than all normal events that were not."""
    problems = []
    if any(is_critical(*key) for key in books.lost):
        problems.append("critical events evicted, while there were normal ones")
    after = [key for key in books.order if not is_critical(*key) and key[1] > BEFORE_EVICTION]
    if books.lost and after and max(books.lost) > min(after):
        problems.append("newer events evicted than were kept")
    return problems
