"""The same calls through a vendor's SDK and through this package, compared field by field."""

import datetime
import importlib.metadata
import json
import os
import re
import time

from wire import environment

from .adapters import VENDORS
from .hosts import Host
from .server import Server, accepted, records

CALLS = [
    "anonymous", "login", "known", "values", "set", "set once", "increment", "append", "unset", "group", "in group",
    "leave group", "alias", "screen", "revenue", "item set", "item delete", "bind", "unbind", "timed", "registered",
    "delete", "switch", "switched", "new id", "reset", "anonymous",
]
CLASSES = ["equal", "better", "absent", "fault"]
MISSING = "–"
VERSION = os.path.join(environment.PACKAGE, "Sources", "SluiceSystem", "Platform", "LibraryVersion.swift")


# Our clock is the one of Tests/Wire/Requests/PeerHost.swift, and passes two seconds at most.
VIRTUAL = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc).timestamp()


def shown(value, side):
    """A value as text. An id that no run repeats, a moment of this run and the library's version become their form."""

    def moment(found):
        time = datetime.datetime.fromisoformat(found[0])
        time = time if time.tzinfo else time.replace(tzinfo=datetime.timezone.utc)
        digits = f".{len(found[2]) - 1}" if found[2] else ""
        return f"TIME{digits}{found[3] or ''}" if side.is_now(time.timestamp()) else found[0]

    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-join)?", r"UUID\2", text)
    text = re.sub(r'"[0-9a-f]{32}"', '"HEX"', text)
    text = re.sub(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[-+]\d\d:\d\d)?", moment, text)
    if re.fullmatch(r'"?\d{13}"?', text) and side.is_now(int(text.strip('"')) / 1000):
        text = re.sub(r"\d+", "MILLISECONDS", text)
    if re.fullmatch(r"\d{10}\.\d+", text) and side.is_now(float(text)):
        text = "SECONDS"
    if re.fullmatch(r"\d{7,10}", text):
        text = "NUMBER"
    text = re.sub(rf"(?<![\d.]){re.escape(side.version)}(?![\d.])", "VERSION", text)
    return re.sub(r"##/\S+/(\w+\.py)##\d+", r"##\1##LINE", text)


def flat(value, side, path=""):
    """The members of an object and of objects in it, by their paths. Lists are values."""
    if isinstance(value, dict) and (value or not path):
        result = {}
        for name, member in value.items():
            result |= flat(member, side, f"{path}.{name}" if path else name)
        return result
    return {path: shown(value, side)}


def kind(vendor, endpoint, record):
    """What a record is, by which those of both sides are matched."""
    match vendor:
        case "segment" | "rudder" | "sensors":
            return record["type"]
        case "amplitude":
            return record["event_type"]
        case "snowplow":
            return record["ue_pr"]["schema"].split("/")[1]
    if "event" in record:
        return record["event"]
    fields = ("$token", "$time", "$distinct_id", "$device_id", "$user_id", "$group_key", "$group_id")
    return f"{endpoint} {next(name for name in record if name not in fields)}"


def envelope(vendor, request, beside):
    """What a request has beside its records. The number and lengths of requests are not compared."""
    headers = {
        name: value for name, value in request.headers.items()
        if name in ("content-type", "content-encoding") or name.startswith(("x-", "posthog-", "ta-"))}
    if "authorization" in request.headers:
        headers["authorization"] = request.headers["authorization"].split()[0]
    return {"method": request.method, "path": request.path, "query": request.query, "headers": headers, "body": beside}


class Side:
    """The requests of one host, by its calls."""

    def __init__(self, vendor, version, start):
        self.vendor, self.server, self.calls, self.envelope = vendor, Server(), [], None
        self.version, self.start, self.length = version, start, 2
        self.server.answer = lambda request: (200, {}, accepted(vendor, request))

    def is_now(self, time):
        """Whether a time is a moment of this run, by the clock of this side."""
        return self.start <= time <= self.start + self.length

    def collect(self, call, is_known=True):
        found = []
        for request in self.server.requests:
            some, beside = records(self.vendor, request)
            found += some
            self.envelope = self.envelope or envelope(self.vendor, request, beside)
        self.server.requests.clear()
        self.calls.append((call, is_known, found))


def theirs(vendor, adapter_class):
    # Snowplow's SDK sends whole seconds.
    side = Side(vendor, importlib.metadata.version(VENDORS[vendor][2]), int(time.time()))
    adapter = adapter_class(side.server.url, lambda _: None)
    for call in CALLS:
        is_known = adapter.act(call)
        adapter.flush()
        side.collect(call, is_known)
    side.length = time.time() - side.start
    side.server.close()
    return side


def ours(vendor, wire_format, program):
    with open(VERSION) as file:
        version = re.search(r'"(\d[^"]*)"', file.read())[1]
    side = Side(vendor, version, VIRTUAL)
    url = side.server.url + ("/sa?project=default" if vendor == "sensors" else "")
    host = Host([program, "--format", wire_format, "--peer", url])
    for call in CALLS:
        host(call)
        host("flush")
        side.collect(call)
    host.leave()
    side.server.close()
    return side


def compare(vendor, wire_format, adapter_class, program):
    """Returns the number of equal fields of each call, and the differences: (call, field, theirs, ours)."""
    one, other = theirs(vendor, adapter_class), ours(vendor, wire_format, program)
    equal, differences, seen = {}, [], set()

    def add(call, left, right, prefix=""):
        left, right = flat(left, one), flat(right, other)
        for field in sorted(left.keys() | right.keys()):
            a, b = left.get(field, MISSING), right.get(field, MISSING)
            if a == b:
                equal[call] = equal.get(call, 0) + 1
            else:
                differences.append((call, prefix + field, a, b))

    add("request", one.envelope, other.envelope)
    for number, ((call, is_known, left), (_, _, right)) in enumerate(zip(one.calls, other.calls)):
        if call == "new id" and not is_known:
            continue  # It is a translation of Segment's call.
        call = "after reset" if call == "anonymous" and call in seen else call
        seen.add(call)
        left, right = ([(kind(vendor, *record), record[1]) for record in side] for side in (left, right))
        for name, record in left:
            index = next((i for i, (other_name, _) in enumerate(right) if other_name == name), None)
            if index is None:
                differences.append((call, f"record {name}", "sent", MISSING))
            else:
                add(call, record, right.pop(index)[1])
        for name, _ in right:
            differences.append((call, f"record {name}", MISSING if is_known else "no call", "sent"))
    return equal, differences


class Expectations:
    """The classes of differences: lines of `calls | field | theirs | ours | class | reason`, below `[vendor]`.

    A value of ours is literal, as `shown` writes it, or any value would be as expected. Theirs can have `*` if ours has
    no such field.
    """

    def __init__(self, path):
        self.rows, self.used, vendor = [], set(), None
        with open(path) as file:
            for number, line in enumerate(file, 1):
                line = line.strip()
                if line.startswith("["):
                    vendor = line.strip("[]")
                elif line and not line.startswith("#"):
                    cells = [cell.strip() for cell in line.split(" | ")]
                    if len(cells) != 6 or cells[4] not in CLASSES:
                        raise SystemExit(f"{path}:{number}: not calls | field | theirs | ours | class | reason")
                    if "*" in cells[3] or "*" in cells[2] and cells[3] != MISSING:
                        raise SystemExit(f"{path}:{number}: a value that is compared must not have a `*`")
                    self.rows.append((vendor, *cells, number))

    def find(self, vendor, difference):
        """Returns the class and the reason of a difference, or None. The first line for its call and field decides."""
        for row in self.rows:
            if row[0] == vendor and all(
                    any(matches(text, name.strip()) for name in names.split(","))
                    for text, names in zip(difference[:2], row[1:3])):
                if all(matches(*pair) for pair in zip(difference[2:], row[3:5])):
                    self.used.add(row)
                    return row[5], row[6]
                return None
        return None

    def unused(self, vendors):
        return [row for row in self.rows if row not in self.used and row[0] in vendors]


def matches(text, pattern):
    """With `*` for any text, and no other special character."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
