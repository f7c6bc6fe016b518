"""Errors that are planted into bodies that are right. A checker must find each of them."""

import base64
import copy
import gzip
import json
import random
from urllib.parse import quote, unquote

from . import further, objects
from .checks import check
from .source import Findings, Record

# Batches with at most so many events are used, at most so many of them, each so many times.
EVENTS, BATCHES, ERRORS = 10, 40, 10

# Parts that a body may have or not: their absence is no error.
OPTIONAL = {"historical_migration", "ip", "$ip", "library", "$geoip_disable", "$is_server", "$is_identified", "token", "mp_lib",
            "$time", "$groups", "$identities", "$identified_id", "$device_id", "$user_id"}




class Planted:
    def __init__(self, name, seed):
        self.name = name
        self.planted = 0
        self.found = 0
        self.missed = []
        self._random = random.Random(f"{seed} {name}")
        self._batches = 0

    def plant(self, line):
        """Plants errors into the bodies of one batch."""
        record = Record(line)
        if self._batches == BATCHES or len(record.events) > EVENTS or not record.requests:
            return
        if self._is_wrong(record):
            return
        self._batches += 1
        for _ in range(ERRORS):
            record = Record(line)
            request = self._random.choice(record.requests)
            if error := self._change(request):
                self.planted += 1
                if self._is_wrong(record):
                    self.found += 1
                else:
                    self.missed.append(error)

    def _is_wrong(self, record):
        findings = Findings()
        check(self.name, record, findings)
        return bool(findings.counts)

    def _change(self, request):
        """Changes a request at a random place. Returns what was done."""
        kind = self._random.randrange(12)
        if kind == 0:
            # By two bytes or more: a last newline may be missing.
            size = self._random.randrange(len(request.body) - 1)
            request.body = request.body[:size]
            return f"truncated to {size} bytes"
        if kind == 1:
            place = self._random.randrange(len(request.body))
            request.body = request.body[:place] + b"\xff" + request.body[place:]
            return f"a byte that isn't UTF-8 at {place}"
        values, write = self._values(request)
        places = list(self._places(values))
        place, container, key = self._random.choice(places)
        old = container[key]
        if key in ("$process_person_profile", "process_person_profile", "$delete"):
            return None  # For some verbs, the first may be true or false. The value of the second has no meaning.
        if kind < 8:
            container[key] = self._other(old)
            error = f"{place}: {str(old)[:80]!r} became {str(container[key])[:80]!r}"
        elif isinstance(container, dict) and (key in OPTIONAL or old == {} or self.name == "amplitude" and key in ("$lib", "$os_name", "$session_id")):
            return None  # Fields of Amplitude's own may take the place of these.
        elif kind == 8 and isinstance(container, dict):
            del container[key]
            error = f"{place} was removed"
        elif kind == 9 and isinstance(container, dict):
            container["unexpected"] = "value"
            error = f"a key beside {place} was added"
        elif self.name == "otlp" and place.split("/")[-2] in ("attributes", "values"):
            return None  # The order of attributes has no meaning.
        elif isinstance(container, list) and len(container) > 1 and container[key] != container[key - 1]:
            container[key], container[key - 1] = container[key - 1], container[key]
            error = f"{place} was swapped with its neighbor"
        elif isinstance(container, list):
            container.append(copy.deepcopy(old))
            error = f"{place} was repeated"
        elif self.name.startswith("influx") and key in ("key", "fields", "time") and place.count("/") == 2:
            return None  # These parts have no names in a line.
        else:
            container[key + "x"] = container.pop(key)
            error = f"{place} was renamed"
        request.body = write(values)
        # Otherwise the signature would show every error.
        if self.name in ("kinesis", "firehose"):
            further.sign(request, self.name)
        elif self.name == "objects":
            objects.sign(request)
        return error

    def _values(self, request):
        """The JSON values of a body in a list, and the way back."""
        if self.name == "sensors":
            packed = unquote(request.text.split("data_list=")[1])
            return [json.loads(gzip.decompress(base64.b64decode(packed)))], self._sensors
        text = request.text
        if self.name.startswith("influx"):
            points = [{"key": key, "fields": fields, "time": time} for key, fields, time in further.points(text)]
            return points, self._lines
        if self.name == "objects":
            lines = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
            return lines, lambda values: gzip.compress("".join(json.dumps(value) + "\n" for value in values).encode())
        if "ndjson" in request.headers.get("content-type", "") or self.name in ("kafkaV3", "splunk"):
            lines = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
            return lines, lambda values: "".join(json.dumps(value) + "\n" for value in values).encode()
        return [json.loads(text)], lambda values: json.dumps(values[0]).encode()

    @staticmethod
    def _sensors(values):
        packed = base64.b64encode(gzip.compress(json.dumps(values[0]).encode())).decode()
        code = 0
        for byte in packed.encode():
            code = (code * 31 + byte) & 0xFFFFFFFF
        code -= (1 << 32) if code >> 31 else 0
        return f"crc={code}&gzip=1&data_list={quote(packed, safe='')}".encode()

    @staticmethod
    def _lines(points):
        def text(part):
            return ",".join(f"{name}={value}" for name, value in part.items()) if isinstance(part, dict) else str(part)

        return "".join(" ".join(map(text, point.values())) + "\n" if isinstance(point, dict) else str(point)
                       for point in points).encode()

    def _places(self, value, path=""):
        """Every place in a value: its path, its container and its key there."""
        pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in pairs:
            place = f"{path}/{key}"[-120:]
            # Not the only value of a body.
            if path or len(value) > 1:
                yield place, value, key
            yield from self._places(inner, place)

    def _other(self, old):
        """A value that differs from `old`, sometimes only in its type."""
        if isinstance(old, bool):
            return self._random.choice([not old, int(old) + 2, str(old).lower()])
        if isinstance(old, (int, float)):
            # Protocol buffers read numbers from strings, too.
            text = "text" if self.name == "otlp" else str(old)
            return self._random.choice([old + 1 if old + 1 != old else 0, text, None])
        if isinstance(old, str):
            return self._random.choice([old + "x", old[:-1] if old else "y", None, [old]])
        if old == {}:
            return {"boolValue": True}
        if old is None:
            return self._random.choice(["", False, {"stringValue": ""}])
        return self._random.choice([None, "text", {"other": 1}])
