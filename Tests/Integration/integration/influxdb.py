"""InfluxDB 1.6 of Debian: compares its points with an independent reading of the log."""

import itertools
import json
import os
import urllib.parse
import urllib.request

from . import log
from .cutter import Cutter
from .machine import Failed, same

CONFIGURATION = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{place}/meta"
[data]
  dir = "{place}/data"
  wal-dir = "{place}/wal"
[http]
  bind-address = "127.0.0.1:{http}"
[monitor]
  store-enabled = false
"""


class Server:
    """An InfluxDB with a directory of its own."""

    def __init__(self, machine):
        program = machine.need("influxd", "influxdb")
        place = machine.folder("influxdb")
        self.port, rpc = machine.free_ports(2)
        path = os.path.join(place, "influxdb.conf")
        with open(path, "w") as file:
            file.write(CONFIGURATION.format(place=place, http=self.port, rpc=rpc))
        machine.start([program, "-config", path], self.port, "influxd", cwd=place, env={**os.environ, "HOME": place})

    def _post(self, path, parameters, body=b""):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/{path}?{urllib.parse.urlencode(parameters)}", data=body)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60) as response:
            return response.read()

    def write(self, points, database):
        self._post("write", {"db": database}, points.encode())

    def query(self, statement, database="events"):
        """The series of the result, each with its columns and values."""
        (result,) = json.loads(self._post("query", {"db": database, "epoch": "ns", "q": statement}))["results"]
        if "error" in result:
            raise Failed(f"InfluxDB refuses {statement!r}: {result['error']}")
        return result.get("series", [])


def compare(rows, lines):
    """Compares every field of every point with its line."""
    for number, (row, line) in enumerate(itertools.zip_longest(rows, lines), 1):
        if row is None or line is None:
            raise Failed(f"there are {'fewer' if row is None else 'more'} points than {len(lines)}")
        expected = log.event(line)
        low = int(row["id"].replace("-", "")[16:], 16)
        same(f"time of point {number}", row.pop("time"), expected["time"] * 1_000_000 + low % 1_000_000)
        same(f"part of point {number}", row.pop("part"), str(low // 1_000_000 % 256))
        ids = row.pop("distinct_id"), row.pop("anonymous_id")
        same(f"person of point {number}", ids, (expected["client"],) * 2)
        del row["id"]
        found = {name: value for name, value in row.items() if value is not None}
        same(f"fields of point {number}", found, expected["properties"])


def conflicts(machine, server):
    """In some hours, a field has another type: exactly their events become dead letters. A shard has an hour here, and the
    lines of one batch are of several hours, because their time zones differ."""
    server.query("CREATE DATABASE types WITH DURATION INF SHARD DURATION 1h", "types")
    lines = machine.requests[:500]
    hours = [log.event(line)["time"] // 3_600_000 for line in lines]
    bad = set(sorted(set(hours))[::2])
    server.write("\n".join(f'page_view,part=text bytes="x" {hour * 3_600_000_000_000}' for hour in bad), "types")
    url = f"http://127.0.0.1:{server.port}/"
    _, counts, _ = machine.deliver(lines, url, "influx1:types", machine.folder("types"))
    rejected = sum(hour in bad for hour in hours)
    same("delivered, rejected, at conflicts", (counts["delivered"], counts["rejected"]), (len(lines) - rejected, rejected))
    return f"{rejected} events whose shards have another type are dead letters, and the {len(lines) - rejected} others points"


def run(machine):
    """Every line becomes a point with the same fields, also after a connection that breaks behind the first write."""
    server = Server(machine)
    server.query("CREATE DATABASE events")
    lines = machine.requests[:machine.trials(full=10_000, default=2_500)]
    with Cutter(server.port, lambda number: number == 0) as cutter:
        url = f"http://127.0.0.1:{cutter.port}/"
        status, counts, _ = machine.deliver(lines, url, "influx1:events", machine.folder("store"), deadline=120)
    same("exit status", status, 0)
    same("delivered, rejected", (counts["delivered"], counts["rejected"]), (len(lines), 0))
    (series,) = server.query("SELECT * FROM page_view")
    rows = [dict(zip(series["columns"], values)) for values in series["values"]]
    compare(sorted(rows, key=lambda row: row["id"]), lines)
    return (f"{len(lines)} events are as many points of InfluxDB, the same field for field; {cutter.cuts} write came twice, "
            f"and left no point more; {conflicts(machine, server)}")
