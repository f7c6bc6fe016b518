"""File operations that fail: each one, once and for good, with five errors; and many at random, short writes too."""

import errno

from .books import Books, Figures
from .control import FOREVER, Control
from .host import HostFailure, Life, live

ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT)
FILLER = 300
OPTIONS = ("--filler", FILLER, "--capacity", 1 << 20, "--batch", 20)
DURING = ("track 30", "deliver 1", "track 30", "deliver", "track 10", "synchronize")
AFTER = 50


def run(machine):
    is_well = fail_each_operation(machine)
    return fail_at_random(machine) and is_well


def fail_each_operation(machine):
    """Operation number N fails, or N and all after it, until the fault ends."""
    figures = Figures("errors/each")
    control = Control(machine)
    operations = count_operations(machine, control)
    figures.count(operations=operations)
    variants = [
        (operation, error, is_for_good)
        for operation in range(1, operations + 1) for error in ERRORS for is_for_good in (False, True)]
    every = 1 if machine.is_full else max(1, len(variants) // machine.trials(full=1, default=200))
    for index in range(machine.seed % every, len(variants), every):
        operation, error, is_for_good = variants[index]
        control.reset()
        control.fail(operation, FOREVER if is_for_good else operation, error)
        seed = f"{operation} {errno.errorcode[error]} {is_for_good=}"
        trial(machine, figures, control, seed, "--direct", is_single=not is_for_good)
    return figures.report()


def count_operations(machine, control):
    directory = machine.directory("errors")
    live(machine, directory, "--direct", "--durability", "full", *OPTIONS, *DURING, "close", control=control)
    machine.discard(directory)
    return control["operations"]


def fail_at_random(machine):
    """Many operations fail, a sixth of them with EINTR, and more writes are short; in whole pipelines too."""
    figures = Figures("errors/random")
    control = Control(machine)
    for seed in machine.seeds(machine.trials(full=500, default=60)):
        random = machine.random(figures.name, seed)
        control.reset()
        probability = random.choice((5, 20, 100, 500))
        level = random.choice(("process", "interval:5", "full"))
        kind = random.choice((["--direct"], [], ["--delivers"]))
        # An error while the store is opened is mostly the end of the trial.
        if random.random() < 0.2:
            control.fail_at_random(probability, seed)
            probability = 0
        trial(machine, figures, control, seed, *kind, level=level, probability=probability)
    return figures.report()


def trial(machine, figures, control, seed, *options, level="full", probability=0, is_single=False):
    """A life during which the fault is, and goes; what it leaves is for the next one.

    A probability is that of each operation's failure, once the store is open; otherwise the fault is set already.
    """
    directory = machine.directory("errors")
    books = Books(FILLER)
    well = False
    try:
        options = (*options, "--durability", level, *OPTIONS)
        life = Life(machine, directory, *options, control=control, interactive=True)
        life.wait_until(lambda: life.answers)
        problems = []
        first_after = 1
        if probability:
            control.fail_at_random(probability, seed)
        if life.answers[0][0] == "open":
            problems += suffer_and_recover(life, control, "--direct" in options)
            first_after = max(life.acknowledged | life.refused) + 1
        figures.count(injected=control["injected"])
        control.end()
        status = life.finish()
        if status != 0:
            problems.append(f"the life ended with {status}: {life.stderr[-300:]}")
        books.add(life)
        after = live(machine, directory, *options, "--first", first_after, "track 5", "deliver", "close")
        if after.refused:
            problems.append(f"the next life cannot store: {after.refused}")
        books.add(after)
        if after.books["waiting"] or after.books["bytes"]:
            problems.append(f"the books of the next life do not close: {after.books}")
        figures.count(refused=len(books.refused))
        # What was written, and could neither be synchronised nor cut off again, comes to light in the next life. One
        # failure alone leaves nothing of the kind.
        if is_single and after.dropped:
            problems.append(f"torn lines left behind: {after.dropped}")
        well = figures.trial(books, seed, may_revive=not is_single, problems=problems)
    except HostFailure as failure:
        figures.fail(seed, str(failure))
    machine.discard(directory, failed=not well)


def suffer_and_recover(life, control, is_direct):
    """Returns what is wrong."""
    for command in DURING:
        life.ask(command if is_direct else command.replace("deliver 1", "deliver"))
    during = life.books
    control.end()
    refused = len(life.refused)
    life.ask(f"track {AFTER}")
    problems = []
    if len(life.refused) > refused:
        problems.append(f"{len(life.refused) - refused} events refused after the fault had ended")
    books = life.ask("deliver")
    if books["waiting"] != 0 or books["stored"] != 0 or books["bytes"] != 0:
        problems.append(f"not everything is delivered, or the books do not close: {books} after {during}")
    life.ask("close")
    return problems
