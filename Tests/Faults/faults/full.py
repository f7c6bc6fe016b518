"""File systems that are really full: of bytes, and of files."""

import os

from .books import Books, Figures
from .host import HostFailure, Life, live

FILLER = 300


def run(machine):
    is_well = True
    for name, options in (("bytes", "size=1m"), ("files", "size=4m,nr_inodes=24")):
        figures = Figures(f"full/{name}")
        mount = os.path.join(machine.place, f"full-{name}")
        for seed in machine.seeds(machine.trials(full=100, default=10)):
            machine.mount(mount, "-t", "tmpfs", "-o", options, "tmpfs")
            try:
                trial(machine, figures, mount, name, seed)
            finally:
                machine.unmount(mount)
        is_well &= figures.report()
    return is_well


def trial(machine, figures, mount, name, seed):
    random = machine.random(figures.name, seed)
    level = random.choice(("process", "interval:5", "full"))
    # Some lives begin when all is full already.
    ballast_first = random.random() < 0.3
    books = Books(FILLER)
    problems = []
    try:
        root = os.path.join(mount, "events")
        if ballast_first:
            problems += prepare_backlog(machine, root, books)
            fill(mount, name, random)
        options = ("--durability", level, "--filler", FILLER, "--batch", random.choice((20, 50)), "--first", 1_000)
        life = Life(machine, root, *options, interactive=True)
        life.wait_until(lambda: life.answers)
        if life.answers[0][0] != "open":
            problems.append(f"no life begins on a full file system: {life.stderr}")
        else:
            ending = end_while_full if random.random() < 0.3 else fill_and_free
            problems += ending(life, mount, name, random)
            figures.count(refused=len(life.refused))
        if life.finish() != 0:
            problems.append(f"the life ended with {life.process.returncode}: {life.stderr[-300:]}")
        books.add(life)
        free(mount)
        after = live(machine, root, "--filler", FILLER, "--first", 100_000, "deliver", "track 20", "deliver", "close")
        books.add(after)
        if after.dropped or after.refused:
            problems.append(f"the next life is not well: {after.dropped} {after.refused}")
        figures.trial(books, seed, may_lose=0, problems=problems)
    except HostFailure as failure:
        figures.fail(seed, str(failure))


def prepare_backlog(machine, root, books):
    books.add(live(machine, root, "--filler", FILLER, "track 200", "close"))
    return []


def end_while_full(life, mount, name, random):
    """Nothing is delivered, so that the next life sees what a full disk made of the files. Returns what is wrong."""
    fill(mount, name, random)
    life.ask(f"track {random.randint(600, 6_000)}")
    life.ask("close")
    return []


def fill_and_free(life, mount, name, random):
    """Returns what is wrong."""
    problems = []
    fill(mount, name, random)
    # More than what fits into what the files have to spare: a page each.
    life.ask(f"track {random.randint(600, 6_000)}")
    if not life.refused and name == "bytes":
        problems.append("nothing was refused on a full file system")
    if set(life.refused.values()) - {"inputOutput", "storageFull"}:
        problems.append(f"refused for strange reasons: {set(life.refused.values())}")
    books = life.ask("deliver")
    if books["waiting"] or books["stored"] or books["bytes"]:
        problems.append(f"delivery does not go on: {books}")
    free(mount)
    refused = len(life.refused)
    life.ask("track 300")
    if len(life.refused) > refused:
        problems.append("events are refused when there is room again")
    books = life.ask("deliver")
    if books["waiting"] or books["stored"]:
        problems.append(f"the books do not close: {books}")
    life.ask("close")
    return problems


def fill(mount, name, random):
    """Somebody else takes all that is left, or nearly."""
    if name == "bytes":
        fill_bytes(os.path.join(mount, "ballast"), random)
        return
    room = os.statvfs(mount).f_favail
    for index in range(room):
        try:
            with open(os.path.join(mount, f"ballast-{index}"), "x", encoding="utf-8"):
                pass
        except OSError:
            return


def fill_bytes(path, random):
    """Leaves a few pages at random, so that some writes go half way."""
    with open(path, "ab", buffering=0) as file:
        try:
            while True:
                file.write(bytes(4_096))
        except OSError:
            size = file.tell()
            file.truncate(max(0, size - 4_096 * random.choice((0, 0, 1, 3))))


def free(mount):
    for name in os.listdir(mount):
        if name.startswith("ballast"):
            os.unlink(os.path.join(mount, name))
