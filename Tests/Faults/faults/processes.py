"""Several processes on one directory, some of which are killed, and some that fork."""

import json
import os
import time

from .books import Books, Figures
from .host import HostFailure, Life, live


def run(machine):
    is_well = experiment(machine, "processes/two", two_processes)
    is_well &= experiment(machine, "processes/fork", fork)
    return experiment(machine, "processes/eight", eight_processes) and is_well


def experiment(machine, name, trial):
    figures = Figures(name)
    for seed in machine.seeds(machine.trials(full=100, default=8)):
        directory = machine.directory("processes", on_disk=True)
        well = False
        try:
            well = trial(machine, figures, directory, seed)
        except HostFailure as failure:
            figures.fail(seed, str(failure))
        machine.discard(directory, failed=not well)
    return figures.report()


def two_processes(machine, figures, directory, seed):
    """One is killed while both track; the other ends, and a third finds what is left."""
    random = machine.random(figures.name, seed)
    books = Books()
    delivery = random.choice(([], ["--delivers", "--batch", "20"]))
    victim = Life(machine, directory, "--writer", 1, *delivery, "track 0")
    survivor = Life(machine, directory, "--writer", 2, *delivery, interactive=True)
    survivor.tell("track 3000")
    victim.wait_for_acknowledged(random.choice((1, 50)))
    time.sleep(random.uniform(0, 0.03))
    victim.kill()
    survivor.wait_until(lambda: len(survivor.answers) >= 2)
    problems = torn_in_the_middle(directory)
    survivor.ask("deliver")
    survivor.ask("track 100")
    survivor.ask("deliver")
    survivor.ask("close")
    survivor.finish()
    books.add(victim, writer=1)
    books.add(survivor, writer=2)
    books.add(live(machine, directory, "deliver", "close"))
    problems += leftovers(directory)
    return figures.trial(books, seed, problems=problems)


def fork(machine, figures, directory, seed):
    """The child uses its parent's pipeline, and the parent goes on with it."""
    random = machine.random(figures.name, seed)
    level = random.choice(("buffered", "process", "interval:5", "full"))
    kind = random.choice((["--direct"], []))
    books = Books()
    life = live(
        machine, directory, "--durability", level, *kind, f"track {random.choice((1, 50, 700))}",
        f"fork {random.choice((1, 50))}", f"track {random.choice((1, 50))}", "deliver", "fork 20", "deliver", "close")
    books.add(life)
    books.add(live(machine, directory, "deliver", "close"))
    # The child's books count as left to its parent what is the parent's; nobody has lost it.
    problems = [] if set(books.dropped) <= {"leftToParentProcess"} else [f"lost: {books.dropped}"]
    if books.duplicates:
        problems.append(f"{books.duplicates} events delivered by both")
    problems += leftovers(directory)
    return figures.trial(books, seed, problems=problems)


def eight_processes(machine, figures, directory, seed):
    """Eight at a time, of which half are killed and replaced."""
    random = machine.random(figures.name, seed)
    books = Books()
    lives = [start(machine, directory, writer, random) for writer in range(8)]
    killed = []
    for writer in range(8, 12):
        time.sleep(random.uniform(0, 0.05))
        victim = random.choice(lives[-8:])
        lives.append(start(machine, directory, writer, random))
        if victim not in killed:
            victim.kill()
            killed.append(victim)
    problems = []
    for life in lives:
        if life not in killed and life.finish() != 0:
            problems.append(f"a life ended with {life.process.returncode}")
    problems += torn_in_the_middle(directory)
    # Whoever was killed can have delivered only before; whoever adopted it, only after.
    for life in sorted(lives, key=lambda life: life not in killed):
        books.add(life, writer=lives.index(life))
    books.add(live(machine, directory, "deliver", "close"))
    problems += leftovers(directory)
    figures.count(kills=len(killed))
    return figures.trial(books, seed, problems=problems)


def start(machine, directory, writer, random):
    delivery = random.choice(([], ["--delivers", "--batch", "20"]))
    steps = ["track 300 100", "deliver", "track 200 100", "deliver", "close"]
    return Life(machine, directory, "--writer", writer, *delivery, *steps)


# What lies on the disk


def torn_in_the_middle(directory):
    """Whole lines must be whole, whoever else wrote beside; only what comes after the last newline may be torn."""
    problems = []
    for folder, _, names in os.walk(directory):
        for name in names:
            if name.endswith(".jsonl"):
                problems += torn_lines(os.path.join(folder, name))
    return problems


def torn_lines(path):
    try:
        with open(path, "rb") as file:
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return []  # Delivered meanwhile.
    problems = []
    if path.endswith("-r.jsonl"):
        # Newlines follow the lines of a reused file.
        lines = [line for line in lines if line]
    for number, line in enumerate(lines[:-1], start=1):
        try:
            json.loads(line)
        except ValueError:
            problems.append(f"line {number} of {len(lines)} is torn in {path}")
    return problems


def leftovers(directory):
    """When all is delivered, nothing is left but the directory."""
    left = [os.path.join(folder, name) for folder, _, names in os.walk(directory) for name in names]
    return [f"left behind: {left[:3]}"] if left else []
