"""Loss of power while events are tracked: what was not written to the drive by then is gone."""

import os
import time

from .books import Books, Figures
from .host import HostFailure, Life, live
from .volume import Volume

INTERVAL = 100
# A synchronisation begins an interval after the first event that needs it, and takes as long as the drive takes; the
# machine may be busy beside. Without any, more than a second would be gone.
GRACE = 0.5
LONGEST = 1.5


def run(machine):
    is_well = True
    levels = {"full": 100, f"interval:{INTERVAL}": 100, "process": 20}
    for level, full in levels.items():
        figures = Figures(f"power/{level}")
        for seed in machine.seeds(machine.trials(full=full, default=6)):
            trial(machine, figures, level, seed)
        is_well &= figures.report()
    return is_well


def trial(machine, figures, level, seed):
    random = machine.random(figures.name, seed)
    # With `writeback` a file may have its new length before it has its bytes.
    options = random.choice(("data=ordered", "data=writeback", "data=ordered,commit=1"))
    books = Books()
    try:
        with Volume(machine, options=options) as volume:
            root = os.path.join(volume.path, "events")
            delivery = ["--delivers", "--batch", "50"] if random.random() < 0.4 else []
            life = Life(machine, root, "--durability", level, *delivery, f"track 0 {random.choice((50, 200))}")
            life.wait_for_acknowledged(random.choice((1, 20, 200)))
            # Soon, while files and directories are new; or late, when a synchronisation that is missing can be seen.
            time.sleep(random.choice((random.uniform(0, 0.3), random.uniform(2 * GRACE, LONGEST))))
            moment = time.monotonic()
            volume.lose_power()
            time.sleep(0.01)
            life.kill()
            books.add(life)
            volume.again()
            after = live(machine, root, "--first", 100_000_000, "track 5", "deliver", "close")
            books.add(after)
        judge(figures, books, level, moment, seed, after)
    except HostFailure as failure:
        figures.fail(seed, str(failure))


def judge(figures, books, level, moment, seed, after):
    problems = []
    lost = [books.acknowledged[key] for key in books.lost if books.acknowledged[key] < moment]
    # How long before the end the oldest event that is lost was acknowledged.
    window = max((moment - acknowledged for acknowledged in lost), default=0)
    # The kernel takes milliseconds to shut the file system down, and may tell the one who is synchronising meanwhile
    # that all is well: so it does to a bare loop of write and fdatasync, in one of fifteen shutdowns. With the power
    # gone, nobody would have heard it.
    meanwhile = len(books.lost) - len(lost)
    figures.highest(window_ms=round(window * 1_000))
    figures.count(torn=after.dropped.get("corrupt", 0))
    may_lose = meanwhile
    excuse = "meanwhile"
    if level == "full" and meanwhile > 1:
        problems.append(f"{meanwhile} events were acknowledged after the loss of power")
    if level.startswith("interval"):
        may_lose = len(books.lost)
        excuse = "in_window"
        if window > INTERVAL / 1_000 + GRACE:
            problems.append(f"events of the last {window:.3f} s are lost")
    elif level == "process":
        # It promises nothing here. That events do get lost shows that the power was.
        may_lose = len(books.lost)
        excuse = "unpromised"
    if after.books["waiting"] or after.refused:
        problems.append(f"the next life is not well: {after.books}")
    # What was removed just before may be there again.
    figures.trial(
        books, seed, may_lose=may_lose, may_revive=True, may_repeat=True, excuse=excuse, problems=problems)
