"""Few descriptors, many directories of ended processes, and standard descriptors that are closed."""

import os
import uuid

from .books import Books
from .host import Life, live
from .processes import experiment, leftovers

# The host's own, and at most 16 for the store.
FEW = ("sh", "-c", 'ulimit -n 24; exec "$@"', "sh")
CLOSED = {"0": "<&-", "2": "2>&-", "0 and 2": "<&- 2>&-"}


def run(machine):
    is_well = experiment(machine, "descriptors/few", few)
    is_well &= experiment(machine, "descriptors/directories", directories)
    return experiment(machine, "descriptors/closed", closed) and is_well


def few(machine, figures, directory, seed):
    """Hundreds of segments wait, and are synchronized and delivered."""
    level = machine.random(figures.name, seed).choice(("buffered", "process", "interval:5", "interval:10000", "full"))
    count = 3000 if level == "full" else 40000
    books = Books()
    life = live(
        machine, directory, "--durability", level, "--capacity", 1 << 30, f"track {count}", "synchronize", "deliver",
        "close", prefix=FEW)
    books.add(life)
    problems = [f"{len(life.refused)} refused at {level}"] if life.refused else []
    return figures.trial(books, seed, problems=problems + leftovers(directory))


def directories(machine, figures, directory, seed):
    """More processes have ended than the host may open files."""
    books = Books()
    books.add(live(machine, directory, "track 600", "close"))
    lines = []
    for folder, _, names in os.walk(directory):
        for name in (name for name in names if name.endswith(".jsonl")):
            with open(os.path.join(folder, name), "rb") as file:
                lines += [(name, line) for line in file]
            os.remove(os.path.join(folder, name))
    for name, line in lines:
        folder = os.path.join(directory, str(uuid.uuid4()))
        os.mkdir(folder, 0o700)
        with open(os.path.join(folder, name), "wb") as file:
            file.write(line)
    books.add(live(machine, directory, "deliver", "close", prefix=FEW))
    figures.count(directories=len(lines))
    return figures.trial(books, seed, problems=leftovers(directory))


def closed(machine, figures, directory, seed):
    """None of the store's files may get a closed standard descriptor: others would write to it."""
    which, redirection = sorted(CLOSED.items())[seed % len(CLOSED)]
    books = Books()
    life = Life(
        machine, directory, "--durability", "interval:5", "track 0", prefix=("sh", "-c", f'exec "$@" {redirection}', "sh"))
    life.wait_for_acknowledged(300)
    used = [os.path.realpath(f"/proc/{life.process.pid}/fd/{number}") for number in range(3)]
    life.kill()
    problems = [f"with {which} closed: {path}" for path in used if path.startswith(os.path.realpath(directory))]
    books.add(life)
    books.add(live(machine, directory, "deliver", "close"))
    return figures.trial(books, seed, problems=problems + leftovers(directory))
