"""A web application firewall: nginx with ModSecurity and the OWASP rules in front of a sink."""

import glob
import http.client
import json
import os
import re
import time

from . import nginx
from .machine import Failed, Impossible, same

MODULE = "/usr/lib/nginx/modules/ngx_http_modsecurity_module.so"
# The rules as Debian ships them, switched on. The limits are for forms, which have fewer arguments than a batch of events. Two
# rules would refuse every event of this log: the property `protocol` is HTTP/1.1, and the host is an address.
RULES = """
Include /etc/nginx/modsecurity.conf
SecRuleEngine On
SecAuditEngine Off
SecArgumentsLimit 100000
SecRequestBodyNoFilesLimit 13107200
SecRuleRemoveById 200007 921130 920350
Include /etc/modsecurity/crs/crs-setup.conf
Include /usr/share/modsecurity-crs/rules/*.conf
"""
# Delivery needs about thirteen requests for an event that is refused, a few more or fewer with its random delays, and twelve for a
# batch.
REQUESTS_FOR_BAD, REQUESTS_FOR_BATCH = 15, 12


def run(machine):
    """Every event that the firewall passes alone arrives. The others are set aside, or dead letters with its answer."""
    if not os.path.exists(MODULE):
        machine.install("libnginx-mod-http-modsecurity", "modsecurity-crs")
    if not os.path.exists(MODULE):
        raise Impossible("Debian's module has another place here")
    rules = os.path.join(machine.folder("firewall-rules"), "rules.conf")
    with open(rules, "w") as file:
        file.write(RULES)
    directives = f"        modsecurity on;\n        modsecurity_rules_file {rules};"
    server = nginx.Server(machine, "firewall", {"sink": ("", directives)}, modules=[MODULE])
    url = f"http://127.0.0.1:{server.ports['sink']}/events"
    store = machine.folder("firewall-store")
    lines = machine.requests[: machine.trials(10_000, 2_500)]
    started = time.monotonic()
    _, counts, said = machine.deliver(lines, url, "json", store, deadline=900, timeout=1_000)
    seconds = time.monotonic() - started
    requests = server.requests()
    arrived = [event for request in requests if request["status"] == 204 for event in split(request["content"])]
    letters, waiting = dead_letters(store), waiting_events(store)
    same("events that wait", len(waiting), counts["waiting"])
    same("events", len(arrived) + len(letters) + len(waiting), len(lines))
    same("different ids", len({json.loads(event)["id"] for event in arrived}), len(arrived))
    bound = REQUESTS_FOR_BAD * (len(letters) + len(waiting)) + REQUESTS_FOR_BATCH * len(lines) // 500
    if not letters and not waiting:
        raise Failed("the firewall has refused no event")
    if len(requests) > bound:
        raise Failed(f"{len(requests)} requests, more than {bound}")
    for letter, event in letters:
        same("status of a dead letter", letter.get("status"), 403)
        if "403 Forbidden" not in letter.get("response", ""):
            raise Failed(f"a dead letter lacks the firewall's words: {letter}")
    check_alone(server.ports["sink"], arrived, 204)
    check_alone(server.ports["sink"], [event for _, event in letters] + waiting, 403)
    return (f"{len(arrived)} events passed, {len(letters)} became dead letters, and {len(waiting)} are set aside, as each is "
            f"answered alone; {len(requests)} requests in {seconds:.0f} s")


def split(body):
    """The events of a JSON array, byte for byte."""
    text, decoder = body.decode(), json.JSONDecoder()
    events, start = [], 1
    while start < len(text):
        _, end = decoder.raw_decode(text, start)
        events.append(text[start:end])
        start = end + 1
    return events


def waiting_events(store):
    """The events of a store that were not delivered, without its dead letters."""
    events = {event for _, event in dead_letters(store)}
    waiting = []
    for path in glob.glob(f"{store}/*/normal-*.jsonl"):
        with open(path, encoding="utf-8") as file:
            waiting += [match[1] for match in map(re.compile(r'(\{.*),"crc":"[0-9a-f]{8}"\}\n').fullmatch, file) if match]
    return [event + "}" for event in waiting if event + "}" not in events]


def dead_letters(store):
    """The header and the event of each dead letter in a store."""
    letters = []
    for path in glob.glob(f"{store}/*/rejected-*.jsonl"):
        with open(path, encoding="utf-8") as file:
            for line in file:
                header, event = re.fullmatch(r'(\{.*?),"event":(\{.*\}),"crc":"[0-9a-f]{8}"\}\n', line).groups()
                letters.append((json.loads(header + "}"), event))
    return letters


def check_alone(port, events, expected):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Content-Type": "application/json", "User-Agent": "Sluice", "Accept": "*/*"}
    for event in events:
        connection.request("POST", "/events", f"[{event}]".encode(), headers)
        response = connection.getresponse()
        response.read()
        if response.status != expected:
            raise Failed(f"alone, this event gets {response.status}, not {expected}: {event[:500]}")
    connection.close()
