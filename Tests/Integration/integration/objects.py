"""A bucket of moto, an imitation of S3 from PyPI: compares the lines of its objects with an independent reading of the log."""

import gzip
import json
import os
import re
import shutil
import urllib.parse
from datetime import datetime, timedelta

from .amazon import Server, compare
from .machine import same


def objects(server):
    """The name and the lines of each object in the bucket."""
    host = {"Host": "s3.amazonaws.com"}
    listing = server._send("s3", "/bucket?list-type=2", None, host, "GET").decode()
    for key in re.findall("<Key>(.*?)</Key>", listing):
        body = server._send("s3", f"/bucket/{urllib.parse.quote(key)}", None, host, "GET")
        yield key, [json.loads(line) for line in gzip.decompress(body).splitlines()]


def run(machine):
    """Every line is in one object of its date. A wrong key and a missing bucket hold the events, and objects that are sent once
    more are duplicates."""
    server = Server(machine)
    lines = machine.requests[:machine.trials(full=10_000, default=2_500)]
    url = f"http://127.0.0.1:{server.port}/"
    os.environ["AWS_ACCESS_KEY_ID"], secret = server.keys
    server.check_signatures(True)
    store = machine.folder("store")
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret[::-1]
    status, counts, _ = machine.deliver(lines, url + "bucket/events", "s3", store, deadline=0)
    same("with a wrong key", (status, counts["delivered"], counts["waiting"]), (2, 0, len(lines)))
    os.environ["AWS_SECRET_ACCESS_KEY"] = secret
    status, counts, _ = machine.deliver([], url + "missing/events", "s3", store, deadline=0)
    # The process has counted only the events that it has read.
    same("with a missing bucket", (status, counts["delivered"]), (2, 0))
    # A second process with the same events, as after a kill behind the response.
    twin = machine.folder("twin")
    shutil.copytree(store, twin, dirs_exist_ok=True)
    status, counts, _ = machine.deliver([], url + "bucket/events", "s3", store)
    same("exit status, delivered", (status, counts["delivered"]), (0, len(lines)))
    status, counts, _ = machine.deliver([], url + "bucket/events", "s3", twin)
    same("exit status, delivered once more", (status, counts["delivered"]), (0, len(lines)))
    server.check_signatures(False)
    found = list(objects(server))
    for key, rows in found:
        date, name = re.fullmatch(r"events/date=([-0-9]{10})/(.*)\.ndjson\.gz", key).groups()
        same(f"events of {name}", len(rows), int(name.rsplit("-", 1)[1]))
        for row in rows:
            moment = datetime(1970, 1, 1) + timedelta(milliseconds=row["time"])
            same(f"date of {row['id']}", str(moment.date()), date)
    compare([row for _, rows in found for row in rows], lines)
    return (f"{len(lines)} events are as many lines of {len(found)} objects, by their dates, the same field for field; a wrong key "
            "and a missing bucket held them, and sent once more they are duplicates")
