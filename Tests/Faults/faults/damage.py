"""Segments that are cut, overwritten with NULs, with one bit flipped, or with a block of something else."""

import os
import re
import subprocess

from .host import PATIENCE

# How far apart the variants are that a short run looks at. All are prime, so that they meet every column of a line.
KINDS = {"cut": 61, "nul": 61, "flip": 499, "block": 61}


def run(machine):
    is_well = True
    for kind, step in KINDS.items():
        is_well &= damage(machine, kind, 1 if machine.is_full else step)
    return is_well


def damage(machine, kind, step):
    """All variants of one kind, in processes of some thousands each. Prints a line of figures."""
    directory = machine.directory("damage")
    os.mkdir(directory)
    command = [machine.host, "damage", directory, kind]
    figures = {}
    failures = []
    first = machine.seed % step
    while True:
        end = first + 20_000 * step
        try:
            process = subprocess.run(
                [*command, str(first), str(end), str(step)], capture_output=True, text=True, timeout=PATIENCE * 10)
        except subprocess.TimeoutExpired:
            failures.append(f"from variant {first} on: it hangs")
            break
        counts = parsed(process.stdout)
        if process.returncode != 0 or counts is None:
            failures.append(f"from variant {first} on: status {process.returncode} {process.stderr[-400:]}")
            break
        failures += re.findall("^fault (.*)", process.stdout, re.MULTILINE)
        if counts["trials"] == 0:
            break
        add(counts, figures)
        first = end
        for sample in ("made", "foreign"):
            machine.discard(os.path.join(directory, sample))
    return report(machine, f"damage/{kind}", directory, figures, failures)


def flip_dead_letters(machine):
    """One random bit of a file of dead letters, which are then all replayed."""
    directory = machine.directory("dlflip")
    os.mkdir(directory)
    command = [machine.host, "dlflip", directory, str(machine.seed), str(machine.trials(full=3_000, default=300))]
    process = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE * 10)
    figures = parsed(process.stdout)
    failures = re.findall("^fault (.*)", process.stdout, re.MULTILINE)
    if process.returncode != 0 or figures is None:
        failures.append(f"status {process.returncode} {process.stderr[-400:]}")
    return report(machine, "dlflip", directory, figures or {}, failures)


def report(machine, name, directory, figures, failures):
    verdict = f"FAILED ({len(failures)})" if failures else "ok"
    print(f"{name} {' '.join(f'{name}={count}' for name, count in figures.items())} : {verdict}", flush=True)
    for failure in failures[:5]:
        print(f"    {failure}", flush=True)
    machine.discard(directory, failed=bool(failures))
    return not failures


def parsed(output):
    match = re.search("^damage (.*)", output, re.MULTILINE)
    return match and {name: int(count) for name, count in (pair.split("=") for pair in match[1].split())}


def add(counts, figures):
    for name, count in counts.items():
        if name in ("bytes", "events", "most"):
            figures[name] = max(count, figures.get(name, 0))
        else:
            figures[name] = figures.get(name, 0) + count
