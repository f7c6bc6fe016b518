"""Compressed bodies, stored by nginx and read with Python's gzip and JSON."""

import gzip
import json

from . import log, nginx
from .machine import same


def events(requests):
    """The events of all bodies, in order."""
    result = []
    for request in requests:
        content = request["content"]
        if request["encoding"] == "gzip":
            content = gzip.decompress(content)
        result += [json.loads(line) for line in content.splitlines()]
    return result


def run(machine):
    """Every line arrives once, in order, in a body that another gzip can read."""
    server = nginx.Server(machine, "nginx-sink", {"sink": ("", "")})
    url = f"http://127.0.0.1:{server.ports['sink']}/events"
    status, counts, _ = machine.deliver(machine.requests, url, "gzip", machine.folder("store"))
    same("exit status", status, 0)
    requests = server.requests()
    # Bodies of up to 1 KiB aren't compressed.
    plain = [len(request["content"]) for request in requests if request["encoding"] != "gzip"]
    same("long bodies that are not compressed", [count for count in plain if count > 1_024], [])
    same("types", {request["type"] for request in requests}, {"application/x-ndjson"})
    arrived = events(requests)
    same("events", len(arrived), len(machine.requests))
    same("different ids", len({event["id"] for event in arrived}), len(machine.requests))
    for number, (event, line) in enumerate(zip(arrived, machine.requests), 1):
        expected = log.event(line)
        same(f"properties of event {number}", event["properties"], expected["properties"])
        same(f"time of event {number}", event["time"], expected["time"])
        same(f"person of event {number}", event["anonymous_id"], expected["client"])
    packed = [request["content"] for request in requests if request["encoding"] == "gzip"]
    before, after = sum(len(gzip.decompress(body)) for body in packed), sum(map(len, packed))
    return (f"{len(arrived)} events in {len(requests)} bodies, {len(packed)} of them compressed from {before} to {after} "
            "bytes, the same field for field")
