"""A store that is copied by the line of Docs/Analysis.md, while hosts track, deliver and evict."""

import glob
import json
import os
import re
import subprocess

from .books import Books, Figures, identify
from .host import Life
from .machine import PACKAGE

COPIES = 100  # of each trial


def run(machine):
    """Two hosts deliver, so files are marked, cut and used again, and a full one evicts."""
    with open(os.path.join(PACKAGE, "Docs", "Analysis.md")) as page:
        line = re.search(r"^grep .*/var/lib/shop/queue.* > copy\.ndjson$", page.read(), re.MULTILINE)[0]
    figures = Figures("copies")
    figures.count(copies=0, lines=0, vanished=0, reused=0)
    for seed in machine.seeds(machine.trials(full=50, default=1)):
        directory, copy = (machine.directory(name, on_disk=True) for name in ("copied", "copy"))
        command = line.replace("/var/lib/shop/queue", directory).replace("copy.ndjson", copy)
        lives = [Life(machine, directory, "--writer", writer, *options, "track 0 300") for writer, options in enumerate((
            ["--delivers", "--batch", 20], ["--delivers", "--batch", 50], ["--capacity", 1_000_000]))]
        for life in lives:
            life.wait_for_acknowledged(500)
        problems = [problem for _ in range(COPIES) for problem in compare(figures, directory, command, copy)]
        for life in lives:
            life.kill()
        figures.trial(Books(), seed, problems=problems[:5])
        machine.discard(directory, failed=bool(problems))
    return figures.report()


def compare(figures, directory, command, copy):
    """Copies the folder once. Yields what is wrong with the copy."""
    before, files = waiting(directory), names(directory)
    subprocess.run(command, shell=True, check=False)
    # First the names: a file that vanishes between the two looks is there in neither.
    vanished, after = files - names(directory), waiting(directory)
    copied = set()
    with open(copy, "rb") as file:
        for line in file:
            try:
                event = json.loads(line)
                del event["crc"]
            except (ValueError, KeyError):
                yield f"not an event that waits: {line[:40]} … {line[-80:]}"
                continue
            if identify(json.dumps(event), 600) is None:
                yield f"an altered event: {line[:80]}"
            copied.add(event["id"])
    if lost := (before & after) - copied:
        yield f"{len(lost)} events that waited all the time are missing"
    figures.count(copies=1, lines=len(copied), vanished=len(vanished), reused=sum("-r." in name for name in files))


def names(directory):
    return set(glob.glob(f"{directory}/*/[cn]*.jsonl"))


def waiting(directory):
    """The ids of whole lines of events that are not delivered."""
    ids = set()
    for path in names(directory):
        try:
            with open(path, "rb") as file:
                ids |= set(re.findall(rb'^{"id":"([^"]*)".*"crc":"[0-9a-f]{8}"}$', file.read(), re.MULTILINE))
        except FileNotFoundError:
            pass  # Delivered or evicted.
    return {id.decode() for id in ids}
