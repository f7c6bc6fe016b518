"""The store's directory is deleted underneath it, turns read-only, or becomes somebody else's."""

import os
import shutil
import subprocess
import time

from .books import Books, Figures
from .host import HostFailure, Life, live
from .volume import Volume

NOBODY = 65534
LEVELS = ("process", "interval:5", "full")


def run(machine):
    is_well = experiment(machine, "directory/deleted", deleted)
    machine.need_root("to remount a file system and to change an owner")
    is_well &= experiment(machine, "directory/read-only", read_only)
    return experiment(machine, "directory/owner", other_owner) and is_well


def experiment(machine, name, trial):
    figures = Figures(name)
    for seed in machine.seeds(machine.trials(full=100, default=10)):
        try:
            trial(machine, figures, seed)
        except HostFailure as failure:
            figures.fail(seed, str(failure))
    return figures.report()


# Deleted


def deleted(machine, figures, seed):
    """While events are tracked: the root, the folder of the process, or only what is in it."""
    random = machine.random(figures.name, seed)
    root = machine.directory("deleted")
    what = random.choice(("root", "folder", "segments"))
    options = ["--durability", random.choice(LEVELS), *random.choice((["--direct"], [], ["--delivers"]))]
    life = Life(machine, root, *options, interactive=True)
    life.wait_until(lambda: life.answers)
    life.ask(f"track {random.choice((1, 50, 800))}")
    before = len(life.answers)
    life.tell("track 400 50")
    time.sleep(random.uniform(0, 0.03))
    delete(root, what)
    moment = time.monotonic()
    life.wait_until(lambda: len(life.answers) > before)
    problems = []
    if life.refused:
        problems.append(f"{len(life.refused)} events refused, though a new directory can be made")
    books = life.ask("deliver")
    if books["waiting"] or books["stored"]:
        problems.append(f"the books do not close: {books}")
    life.ask("track 20")
    life.ask("deliver")
    life.ask("close")
    life.finish()
    counted = Books()
    counted.add(life)
    counted.add(live(machine, root, "deliver", "close"))
    problems += misjudged(counted, life, what, moment)
    well = figures.trial(counted, seed, may_lose=counted.accounted, problems=problems)
    machine.discard(root, failed=not well)


def delete(root, what):
    """Deletes once, as `rm -rf` would; what the store makes meanwhile may be spared or not."""
    if what == "root":
        shutil.rmtree(root, ignore_errors=True)
        return
    for folder in os.listdir(root):
        path = os.path.join(root, folder)
        if what == "folder":
            shutil.rmtree(path, ignore_errors=True)
        else:
            subprocess.run(["find", path, "-name", "*.jsonl", "-delete"], stderr=subprocess.DEVNULL, check=False)


def misjudged(books, life, what, moment):
    """Returns what is wrong with the counts."""
    problems = []
    if len(books.lost) != books.accounted:
        problems.append(f"{len(books.lost)} events gone with the {what}, and {books.dropped} counted")
    # An append looks once per millisecond. Whoever deletes only the files leaves the lock, at which it looks.
    late = [key for key in books.lost if books.acknowledged[key] > moment + 0.001]
    if what != "segments" and len(late) > 1:
        problems.append(f"{len(late)} events were still written into nothing")
    return problems


# Read-only


def read_only(machine, figures, seed):
    """The kernel finds the file system damaged, and makes it read-only: the usual way for that to happen."""
    random = machine.random(figures.name, seed)
    counted = Books()
    problems = []
    with Volume(machine, options="errors=remount-ro") as volume:
        root = os.path.join(volume.path, "events")
        options = ["--durability", random.choice(LEVELS), *random.choice((["--direct"], []))]
        life = Life(machine, root, *options, interactive=True)
        life.wait_until(lambda: life.answers)
        life.ask(f"track {random.choice((1, 50, 800))}")
        life.ask("synchronize")
        accepted = len(life.acknowledged)
        volume.find_error()
        life.ask("track 30")
        if len(life.acknowledged) > accepted:
            problems.append(f"{len(life.acknowledged) - accepted} events accepted on a read-only file system")
        books = life.ask("deliver")
        if len(life.received) != accepted:
            problems.append(f"{len(life.received)} of {accepted} events delivered from a read-only file system")
        if books["waiting"] or books["stored"]:
            problems.append(f"the books do not close: {books}")
        life.ask("close")
        life.finish()
        figures.count(refused=len(life.refused))
        counted.add(life)
        unusable = live(machine, root)
        if unusable.answers[0][0] != "failed" or b"read-only" not in unusable.stderr:
            problems.append(f"a life on it begins: {unusable.answers} {unusable.stderr}")
        volume.again()
        after = live(machine, root, "--first", 10_000, "track 20", "deliver", "close")
        if after.refused:
            problems.append("events refused when all is well again")
        counted.add(after)
    figures.trial(counted, seed, problems=problems)


# Another owner


def other_owner(machine, figures, seed):
    """A process that is not root's, and a directory that becomes root's and then is its own again."""
    random = machine.random(figures.name, seed)
    root = machine.directory("owner")
    os.mkdir(root, 0o700)
    os.chown(root, NOBODY, NOBODY)
    options = ["--durability", random.choice(LEVELS), "--direct"]
    life = Life(machine, root, *options, interactive=True, user=NOBODY)
    life.wait_until(lambda: life.answers)
    life.ask(f"track {random.choice((1, 50, 800))}")
    life.ask("deliver 1")
    accepted = life.ask("track 20")
    subprocess.run(["chown", "-R", "0:0", root], check=True)
    # A file that is open goes on being writable; the next one cannot be made.
    life.ask("track 600")
    during = life.ask("deliver")
    problems = []
    if during["waiting"] != during["stored"] or not life.refused:
        problems.append(f"nothing noticed: {accepted} then {during}")
    unusable = live(machine, root, user=NOBODY)
    if unusable.answers[0][0] != "failed" or b"belongs to user 0" not in unusable.stderr:
        problems.append(f"a life on it begins: {unusable.answers} {unusable.stderr}")
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", root], check=True)
    refused = len(life.refused)
    life.ask("track 50")
    if len(life.refused) > refused:
        problems.append("events refused when the directory is ours again")
    life.ask("deliver")
    life.ask("close")
    life.finish()
    figures.count(refused=len(life.refused))
    counted = Books()
    counted.add(life)
    counted.add(live(machine, root, "deliver", "close", user=NOBODY))
    well = figures.trial(counted, seed, problems=problems)
    machine.discard(root, failed=not well)
