"""A wall clock that jumps by -30 days or +10 years, within a life and between lives."""

from .books import Books, Figures
from .control import Control
from .host import HostFailure, Life, live

DAY = 86_400
OFFSETS = (-30 * DAY, 3_652 * DAY)
# The host's pipeline sends after 5 seconds what is too little for a batch.
SOON = 20


def run(machine):
    figures = Figures("clock")
    control = Control(machine)
    for seed in machine.seeds(machine.trials(full=100, default=8)):
        control.reset()
        directory = machine.directory("clock")
        well = False
        try:
            well = trial(machine, figures, control, directory, seed)
        except HostFailure as failure:
            figures.fail(seed, str(failure))
        machine.discard(directory, failed=not well)
    return figures.report()


def trial(machine, figures, control, directory, seed):
    random = machine.random(figures.name, seed)
    books = Books()
    problems = []
    for number in range(3):
        life = Life(machine, directory, "--first", 1 + number * 10_000, control=control, interactive=True)
        for _ in range(random.choice((1, 3))):
            life.ask("track 100")
            control["wall_offset"] = random.choice((0, *OFFSETS))
        if random.random() < 0.3:
            life.ask("deliver")
        life.ask("close")
        life.finish()
        books.add(life)
        control["wall_offset"] = random.choice((0, *OFFSETS))
    problems += delivers_by_itself(machine, control, directory, books, random)
    books.add(live(machine, directory, "deliver", "close", control=control))
    if books.disorder():
        problems.append(f"{books.disorder()} events out of order")
    if books.dropped:
        problems.append(f"events dropped: {books.dropped}")
    return figures.trial(books, seed, problems=problems)


def delivers_by_itself(machine, control, directory, books, random):
    """A jump in mid run must neither stop the delivery nor have it wait for years. Returns what is wrong."""
    life = Life(
        machine, directory, "--first", 100_000, "--delivers", "--batch", 20, control=control, interactive=True)
    life.ask("track 100")
    control["wall_offset"] = random.choice(OFFSETS)
    life.ask("track 100")
    expected = set(range(100_000, 100_200))
    life.wait_until(lambda: len(life.received) >= len(expected) and life.books["waiting"] >= 0, timeout=SOON)
    life.ask("close")
    life.finish()
    books.add(life)
    return [] if len(life.received) >= len(expected) else [f"{len(life.received)} delivered in {SOON} s"]
