"""ClickHouse itself: the recorded requests are sent to a real server, and its rows are compared with the events."""

import json
import math
import os
import sys
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "Integration"))

from integration.clickhouse import Server  # noqa: E402
from integration.machine import Machine  # noqa: E402
from integration.newest import Newest  # noqa: E402

from .source import is_same, iso, parse  # noqa: E402

# The properties of fixed types. The server skips all others, whatever they are.
TABLE = """
CREATE TABLE wire (
    id UUID, event String, time Int64, priority String, distinct_id String, anonymous_id String, login_id String,
    `properties.c_string` String, `properties.c_int` Int64, `properties.c_double` Float64,
    `properties.c_bool` UInt8, `properties.c_date` String
) ENGINE = MergeTree ORDER BY id
"""

# Texts in hexadecimal, so that the comparison doesn't depend on the server's JSON.
ROWS = """
SELECT toString(id) AS id, hex(event) AS event, toString(time) AS time, priority, hex(distinct_id) AS distinct_id,
    hex(anonymous_id) AS anonymous_id, hex(login_id) AS login_id, hex(properties.c_string) AS c_string,
    toString(properties.c_int) AS c_int, toString(properties.c_double) AS c_double, properties.c_bool AS c_bool,
    properties.c_date AS c_date
FROM wire ORDER BY toString(id) FORMAT JSONEachRow
"""


class ClickHouse:
    """Use it in a `with`. The server is Debian's package, which is installed if it is missing."""

    def __enter__(self):
        self._machine = Machine(None, 1, is_full=False).__enter__()
        self._server = Server(self._machine)
        self._server.query(TABLE)
        return self

    def __exit__(self, *_):
        self._machine.__exit__()

    def insert(self, record, findings):
        for request in record.requests:
            url = request.url.replace(request.base, f"http://127.0.0.1:{self._server.port}")
            post = urllib.request.Request(url, data=request.raw, headers=request.headers)
            opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            try:
                with opener.open(post, timeout=60) as response:
                    body = response.read()
                findings.expect(not body, "the server's answer has a body", body)
            except urllib.error.HTTPError as error:
                findings.expect(False, "the server refuses the request", error.read().decode(errors="replace"))

    def compare(self, events, findings):
        rows = [json.loads(line) for line in self._server.query(ROWS).splitlines()]
        findings.expect(len(rows) == len(events), "the number of rows", f"{len(rows)} of {len(events)}")
        for row, event in zip(rows, sorted(events, key=lambda event: event.id)):
            self._compare(row, event, findings)

    @staticmethod
    def _compare(row, event, findings):
        def unhex(name):
            return bytes.fromhex(row[name]).decode()

        line, properties = event.line, event.properties
        findings.expect(row["id"] == event.id, "id", (row["id"], event.id))
        findings.expect(row["time"] == str(event.time), "time", (row["time"], event.time))
        findings.expect(row["priority"] == line.get("priority", ""), "priority", row["priority"])
        for name in ("event", "distinct_id", "anonymous_id", "login_id"):
            findings.expect(unhex(name) == line.get(name, ""), name, (unhex(name), line.get(name)))
        findings.expect(unhex("c_string") == properties.get("c_string", ""), "a string", (row, line))
        findings.expect(row["c_int"] == str(int(properties.get("c_int", 0))), "an integer", (row["c_int"], line))
        findings.expect(row["c_bool"] == int(properties.get("c_bool", False)), "a bool", (row["c_bool"], line))
        date = properties.get("c_date")
        findings.expect(row["c_date"] == ("" if date is None else iso(date)), "a date", (row["c_date"], line))
        # ClickHouse 18.16 reads a number with an error of a few units in the last place.
        found, expected = float(row["c_double"]), properties.get("c_double", 0.0)
        findings.expect(math.isclose(found, expected, rel_tol=1e-13, abs_tol=1e-300), "a double", (found, expected))


# The table of Docs/WireFormats.md.
NEWEST_TABLE = """
CREATE TABLE `my db`.events (
    id UUID, event LowCardinality(String), time DateTime64(3), priority String, distinct_id String, anonymous_id String,
    login_id String, properties String
) ENGINE = MergeTree ORDER BY id
"""

NEWEST_ROWS = """
SELECT toString(id) AS id, hex(event) AS event, toString(toUnixTimestamp64Milli(time)) AS time, priority,
    hex(distinct_id) AS distinct_id, hex(anonymous_id) AS anonymous_id, hex(login_id) AS login_id, hex(properties) AS properties
FROM `my db`.events ORDER BY toString(id)
"""


class NewestClickHouse(ClickHouse):
    """The newest engine, from PyPI, which keeps all properties of an event as JSON."""

    def __enter__(self):
        self._machine = Machine(None, 1, is_full=False).__enter__()
        self._server = Newest(self._machine)
        for statement in ("CREATE DATABASE `my db`", NEWEST_TABLE):
            self._server.run(statement)
        return self

    def compare(self, events, findings):
        rows = list(self._server.query(NEWEST_ROWS))
        findings.expect(len(rows) == len(events), "the number of rows", f"{len(rows)} of {len(events)}")
        for row, event in zip(rows, sorted(events, key=lambda event: event.id)):
            def unhex(name):
                return bytes.fromhex(row[name]).decode()

            findings.expect((row["id"], row["time"]) == (event.id, str(event.time)), "the id and the time", (row, event.time))
            findings.expect(row["priority"] == event.line.get("priority", ""), "priority", row["priority"])
            for name in ("event", "distinct_id", "anonymous_id", "login_id"):
                findings.expect(unhex(name) == event.line.get(name, ""), name, (unhex(name), event.line.get(name)))
            properties = parse(unhex("properties"))
            findings.expect(is_same(properties, event.properties), "the properties", (properties, event.properties))
