"""kill -9 at a random moment, while events are tracked and delivered. After each kill, another reader reads the folder."""

import time

from . import folder
from .books import Books, Figures
from .host import HostFailure, Life, live

LEVELS = ("process", "interval:20", "full")


def run(machine):
    is_well = True
    reused = 0
    for level in LEVELS:
        figures = Figures(f"kill/{level}")
        for seed in machine.seeds(machine.trials(full=1_000, default=20)):
            reused += trial(machine, figures, level, seed)
        is_well &= figures.report()
    if not reused and folder.overwrites_in_place(machine.disk_place):
        print("kill: no kill met a file that was reused")
        is_well = False
    return is_well


def trial(machine, figures, level, seed):
    """Two lives that are killed in the same directory, and a third that delivers what they left. Returns how many reused
    files the kills have left."""
    random = machine.random(figures.name, seed)
    directory = machine.directory("kill", on_disk=True)
    books = Books()
    kills = reused = 0
    lives, problems = [], []
    well = False
    try:
        first = 1
        for _ in range(2):
            life = killed_life(machine, directory, level, random, first)
            kills += life.was_killed
            lives.append(life)
            found = folder.check(directory, lives)
            problems += found.problems
            reused += found.reused
            first += 1_000_000
            books.add(life)
        books.add(live(machine, directory, "deliver", "close"))
        if kills < 2:
            problems.append("a life ended before it was killed")
        if books.disorder():
            problems.append(f"{books.disorder()} events out of order")
        # A kill takes one event that is being tracked, which may be there or not.
        if len(books.received_unacknowledged) > kills:
            problems.append(f"{len(books.received_unacknowledged)} events delivered that were not acknowledged")
        well = figures.trial(books, seed, problems=problems)
        figures.count(kills=kills, reused=reused)
    except HostFailure as failure:
        figures.fail(seed, str(failure))
    machine.discard(directory, failed=not well)
    return reused


def killed_life(machine, directory, level, random, first):
    """A life that ends by SIGKILL: some while they write only, others while they deliver too."""
    words = ["--durability", level, "--first", first, "track 0"]
    if random.random() < 0.7:
        words = ["--delivers", "--batch", random.choice((1, 20, 50, 200)), *words]
    life = Life(machine, directory, *words)
    life.wait_for_acknowledged(random.choice((0, 1, 5, 50)))
    time.sleep(random.uniform(0, 0.06))
    life.kill()
    return life
