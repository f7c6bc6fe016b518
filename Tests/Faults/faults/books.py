"""What was acknowledged against what was received, over all lives of a trial and from outside of the process."""

import json

MASK = (1 << 64) - 1


def hash_of(value):
    """SplitMix64's finalizer."""
    value = (value + 0x9E3779B97F4A7C15) & MASK
    value = ((value ^ value >> 30) * 0xBF58476D1CE4E5B9) & MASK
    value = ((value ^ value >> 27) * 0x94D049BB133111EB) & MASK
    return value ^ value >> 31


def is_critical(writer, number):
    return (hash_of(writer << 40 ^ number) >> 8) % 10 == 0


def expected_filler(writer, number, maximum):
    """The same rule as NumberedEvent.swift's."""
    value = hash_of(writer << 40 ^ number)
    size = (value >> 16) % (maximum + 1) * (20 if (value >> 48) % 64 == 0 else 1)
    digits = f"{value:x}"
    return (digits * (size // len(digits) + 1))[:size]


KEYS = {"id", "event", "time", "properties"}


def identify(line, filler_maximum):
    """The writer and the number of an event, if it is what was tracked; None if anybody has changed it."""
    try:
        event = json.loads(line)
        properties = event["properties"]
        writer, number = properties["writer"], properties["number"]
        critical = is_critical(writer, number)
        if (
            event.keys() == (KEYS | {"priority"} if critical else KEYS)
            and event["event"] == "Fault"
            and event.get("priority") == ("critical" if critical else None)
            and properties.keys() == {"writer", "number", "filler"}
            and properties["filler"] == expected_filler(writer, number, filler_maximum)
        ):
            return writer, number
    except (ValueError, KeyError, TypeError):
        pass
    return None


class Books:
    """Of one trial. Add its lives in the order in which they ended."""

    def __init__(self, filler_maximum=600):
        self.filler_maximum = filler_maximum
        self.acknowledged = {}  # (writer, number): when
        self.refused = set()
        self.times_received = {}
        self.ids = {}  # the line that was received first
        self.settled = set()
        self.order = []  # as received first
        self.corrupt = 0
        self.unexplained = 0  # duplicates of what the store had been told to forget
        self.dropped = {}

    def add(self, life, writer=0):
        for number, moment in life.acknowledged.items():
            self.acknowledged[writer, number] = moment
        self.refused |= {(writer, number) for number in life.refused}
        in_this_life = set()
        settled_now = set()
        for batch, line in life.received:
            key = identify(line, self.filler_maximum)
            if key is None:
                self.corrupt += 1
                continue
            if key not in self.times_received:
                self.times_received[key] = 0
                self.ids[key] = line
                self.order.append(key)
            elif line != self.ids[key]:
                self.corrupt += 1
            # Nothing goes wrong at the receiver, so no life has a reason to send anything twice.
            if key in self.settled or key in in_this_life:
                self.unexplained += 1
            self.times_received[key] += 1
            in_this_life.add(key)
            if batch in life.settled:
                settled_now.add(key)
        self.settled |= settled_now
        for reason, count in life.dropped.items():
            self.dropped[reason] = self.dropped.get(reason, 0) + count

    @property
    def lost(self):
        """Acknowledged and never received."""
        return self.acknowledged.keys() - self.times_received.keys()

    @property
    def accounted(self):
        """How many events the stores themselves have reported as lost."""
        return sum(self.dropped.values())

    @property
    def received_unacknowledged(self):
        return self.times_received.keys() - self.acknowledged.keys()

    @property
    def duplicates(self):
        return sum(self.times_received.values()) - len(self.times_received)

    def disorder(self):
        """How often an event came after a later one of its writer and priority."""
        latest = {}
        count = 0
        for writer, number in self.order:
            lane = writer, is_critical(writer, number)
            count += number < latest.get(lane, 0)
            latest[lane] = max(number, latest.get(lane, 0))
        return count


class Figures:
    """The sums over an experiment's trials, and what failed."""

    def __init__(self, name):
        self.name = name
        self.trials = 0
        self.counts = dict.fromkeys(("acknowledged", "delivered", "duplicates", "lost", "corrupt"), 0)
        self.failures = []

    def count(self, **counts):
        for name, count in counts.items():
            self.counts[name] = self.counts.get(name, 0) + count

    def highest(self, **values):
        for name, value in values.items():
            self.counts[name] = max(value, self.counts.get(name, 0))

    def trial(self, books, seed, *, may_lose=0, may_revive=False, may_repeat=False, excuse="accounted", problems=()):
        """Judges one trial. Returns whether all is well.

        `may_lose` is how many acknowledged events the store itself has counted as lost, and had a reason to; or
        whatever else the `excuse` is.
        `may_revive`: a refused event may be delivered all the same, where nothing could be taken back any more.
        `may_repeat`: settled events may come again, where the file system may forget what it was told.
        """
        self.trials += 1
        lost = len(books.lost)
        self.count(
            acknowledged=len(books.acknowledged), delivered=len(books.times_received), duplicates=books.duplicates,
            lost=max(0, lost - may_lose), corrupt=books.corrupt)
        if books.accounted or may_lose:
            self.count(**{excuse: min(lost, may_lose)})
        problems = list(problems)
        if lost > may_lose:
            first = sorted(books.lost)[:5]
            problems.append(f"{lost} acknowledged events lost, {may_lose} of them accounted for: {first}")
        if books.corrupt:
            problems.append(f"{books.corrupt} events delivered that nobody tracked")
        if books.unexplained and not may_repeat:
            problems.append(f"{books.unexplained} duplicates of settled events")
        revived = len(books.refused & books.times_received.keys())
        if may_revive:
            self.count(revived=revived)
        elif revived:
            problems.append(f"{revived} refused events delivered")
        if problems:
            self.failures.append((seed, problems))
        return not problems

    def fail(self, seed, problem):
        """A trial that came to no figures."""
        self.trials += 1
        self.failures.append((seed, [problem]))

    def report(self):
        """Prints the line of figures, and the first failures below it. Returns whether all is well."""
        counts = " ".join(f"{name}={count}" for name, count in self.counts.items())
        verdict = "ok"
        if self.failures:
            verdict = f"FAILED (seed {self.failures[0][0]}, and {len(self.failures) - 1} more)"
        print(f"{self.name} trials={self.trials} {counts} : {verdict}", flush=True)
        for seed, problems in self.failures[:5]:
            for problem in problems:
                print(f"    seed {seed}: {problem}", flush=True)
        return not self.failures
