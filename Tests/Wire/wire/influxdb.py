"""InfluxDB itself: each 20th point is written into a database of its own, because a field has one type there, and its fields
are compared with the event."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(HERE)), "Integration"))

from integration.influxdb import Server  # noqa: E402
from integration.machine import Machine  # noqa: E402

from . import environment, further  # noqa: E402


def is_value(found, value):
    if isinstance(value, bool):
        return type(found) is bool and found == value
    if type(value) in (int, float):
        return type(found) in (int, float) and float(found) == float(value)  # The server may leave out the fraction.
    if isinstance(value, str):
        return found == value.replace("\n", "\\n")
    return further.is_text(found, value)


class InfluxDB:
    """Use it in a `with`. The server is Debian's package, which is installed if it is missing."""

    def __enter__(self):
        self._machine = Machine(None, 1, is_full=False).__enter__()
        self._server = Server(self._machine)
        self._count = self._checked = 0
        return self

    def __exit__(self, *_):
        self._machine.__exit__()

    def insert(self, record, findings):
        for request in record.requests:
            # Only a newline ends a point.
            for line, event in zip(request.text.removesuffix("\n").split("\n"), record.sent):
                self._count += 1
                if self._count % 20 == 0:
                    self._check(line, event, findings)

    def _check(self, line, event, findings):
        self._checked += 1
        name = f"wire{self._checked}"
        self._server.query(f"CREATE DATABASE {name}")
        url = f"http://127.0.0.1:{self._server.port}/write?db={name}"
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            opener.open(urllib.request.Request(url, data=line.encode()), timeout=60).close()
        except urllib.error.HTTPError as error:
            findings.expect(False, "the server refuses a point", (error.read().decode(), line))
            return
        (series,) = self._server.query("SELECT * FROM /.*/", name)
        (values,) = series["values"]
        found = {key: value for key, value in zip(series["columns"], values) if value is not None}
        low = int(event.id.replace("-", "")[16:], 16)
        findings.expect(found.pop("time") == event.time * 1_000_000 + low % 1_000_000, "the time", (values, event.time))
        findings.expect(found.pop("part") == str(low // 1_000_000 % 256), "the tag", values)
        findings.expect(series["name"] == further.plain(event.name), "the measurement", (series["name"], event.name))
        expected = further.fields(event)
        findings.expect(found.keys() == expected.keys(), "the names of the fields", (found.keys(), expected.keys()))
        for key, value in found.items():
            findings.expect(is_value(value, expected.get(key)), "a field", (key, value, expected.get(key)))
        self._server.query(f"DROP DATABASE {name}")

    def _alternate(self, findings):
        """A host's 12 beside its 12.5: a field has one type, and the server refuses a point with another."""
        self._server.query("CREATE DATABASE wire")
        command = [environment.program(), "--format", "influxDBV1", "--peer", f"http://127.0.0.1:{self._server.port}/"]
        calls = "whole\nfraction\n" * 20 + "flush\nreport\n"
        run = subprocess.run(command, input=calls, capture_output=True, text=True, check=True, timeout=60)
        report = json.loads(run.stdout.splitlines()[-1])
        findings.expect((report["delivered"], report["dead"]) == (40, 0), "40 numbers are delivered", report)
        found = self._server.query("SELECT amount FROM Sale", "wire")
        amounts = sorted(values[1] for series in found for values in series["values"])
        findings.expect(amounts == [12] * 20 + [12.5] * 20, "40 numbers are points", amounts)

    def compare(self, events, findings):
        self._alternate(findings)
        findings.expect(self._checked >= len(events) // 20, "the number of points", self._checked)
