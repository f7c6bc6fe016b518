"""The same calls through a vendor's SDK and through this package, compared field by field."""

import json
import re

from .hosts import Host
from .server import Server, accepted, records

CALLS = [
    "anonymous", "login", "known", "values", "set", "set once", "increment", "append", "unset", "group", "in group",
    "leave group", "alias", "screen", "revenue", "item set", "item delete", "bind", "unbind", "timed", "registered",
    "delete", "switch", "switched", "new id", "reset", "anonymous",
]
CLASSES = ["equal", "better", "absent", "fault"]
MISSING = "–"


def shown(value):
    """A value as text. Ids and times that no run repeats become their shape."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    text = re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-join)?", r"UUID\2", text)
    text = re.sub(r'"[0-9a-f]{32}"', '"HEX"', text)
    moment = r"20(?!25)\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?"
    text = re.sub(moment, lambda found: "TIME" + (f".{len(found[1]) - 1}" if found[1] else ""), text)
    if re.fullmatch(r'"?1[78]\d{11}"?', text):
        text = re.sub(r"\d+", "MILLISECONDS", text)
    if re.fullmatch(r"1[78]\d{8}\.\d+", text):
        text = "SECONDS"
    text = re.sub(r'"\d+\.\d+\.\d+"', '"VERSION"', text)
    text = re.sub(r"([Ss]luice[-/])[\d.]+(-\w+)?", r"\1VERSION", text)
    return re.sub(r"##/\S+/(\w+\.py)##\d+", r"##\1##LINE", text)


def flat(value, path=""):
    """The members of an object and of objects in it, by their paths. Lists are values."""
    if isinstance(value, dict) and (value or not path):
        result = {}
        for name, member in value.items():
            result |= flat(member, f"{path}.{name}" if path else name)
        return result
    return {path: shown(value)}


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

    def __init__(self, vendor):
        self.vendor, self.server, self.calls, self.envelope = vendor, Server(), [], None
        self.server.answer = lambda request: (200, {}, accepted(vendor, request))

    def collect(self, call, is_known=True):
        found = []
        for request in self.server.requests:
            some, beside = records(self.vendor, request)
            found += some
            self.envelope = self.envelope or envelope(self.vendor, request, beside)
        self.server.requests.clear()
        self.calls.append((call, is_known, found))


def theirs(vendor, adapter_class):
    side = Side(vendor)
    adapter = adapter_class(side.server.url, lambda _: None)
    for call in CALLS:
        is_known = adapter.act(call)
        adapter.flush()
        side.collect(call, is_known)
    side.server.close()
    return side


def ours(vendor, wire_format, program):
    side = Side(vendor)
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
        left, right = flat(left), flat(right)
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
    """The classes of differences: lines of `calls | field | theirs | ours | class | reason`, below `[vendor]`."""

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
                    self.rows.append((vendor, *cells, number))

    def find(self, vendor, difference):
        """Returns the class and the reason of a difference, or None."""
        for row in self.rows:
            if row[0] != vendor:
                continue
            if all(any(matches(text, name.strip()) for name in names.split(",")) for text, names in zip(
                difference[:2], row[1:3])) and all(matches(*pair) for pair in zip(difference[2:], row[3:5])):
                self.used.add(row)
                return row[5], row[6]
        return None

    def unused(self, vendors):
        return [row for row in self.rows if row not in self.used and row[0] in vendors]


def matches(text, pattern):
    """With `*` for any text, and no other special character."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
