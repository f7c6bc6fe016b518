"""What an SDK does with each answer of its server: how often it asks, what becomes of its events, and what it says."""

import concurrent.futures
import datetime
import json
import os
import re
import sys
import tempfile
import time

from . import hosts
from .adapters import VENDORS
from .server import Server, accepted, make_certificate, records

PAGE = "<html><body>Sign in to this network</body></html>"
MINUTES, SHORT = 40, 8  # How long the server answers so, by the SDK's clock.

# By its name: the status and the headers.
ANSWERS = {
    "200 with an error": (200, {}),
    "200 with a page": (200, {}),
    "302": (302, {"Location": "/elsewhere{path}"}),
    "307": (307, {"Location": "/elsewhere{path}"}),
    "400": (400, {}),
    "401": (401, {}),
    "403": (403, {}),
    "413": (413, {}),
    "429": (429, {}),
    "429 with Retry-After": (429, {"Retry-After": "30"}),
    "500": (500, {}),
    "reset": "reset",
    "500 with a full queue": (500, {}),
    "exit without a flush": (200, {}),
    "exit after 500": (500, {}),
}

# By the vendor and the beginning of an answer's name: a body with the fields that the vendor's SDK reads. A name with a
# comma is an answer that this vendor alone has. Further answers have a page, as of a gateway: the vendor documents no
# body for them, or its SDK reads none.
BODIES = {
    # Its SDK obeys Retry-After for half an hour.
    "segment": dict.fromkeys(
        ("429 with Retry-After, for 40 min", "429 with Retry-After, for 8 min", ""),
        {"success": False, "code": "invalid_request", "message": "bad"}),
    "rudder": {"200": {"code": "invalid_request", "message": "bad"}},
    "posthog": {"": {"type": "validation_error", "code": "invalid", "detail": "bad", "error": "bad", "attr": None}},
    "mixpanel": {"": lambda status: {"code": status, "status": 0, "error": "bad"}},
    "amplitude": {
        "200": {"code": 400, "error": "bad"},
        "400, a wrong key": {"code": 400, "error": "Invalid API key: key"},
        "400, a missing field": {
            "code": 400, "error": "Request missing required field", "missing_field": "api_key"},
        "400, an invalid field": {
            "code": 400, "error": "Invalid field values on some events", "events_with_invalid_fields": {"time": [0]}},
        "413": {"code": 413, "error": "Payload too large"},
        "429, a throttled device": {
            "code": 429, "error": "Too many requests for some devices and users", "eps_threshold": 10,
            "throttled_events": [0], "throttled_devices": {"a-1": 30}},
        "429, the quota of a day": {
            "code": 429, "error": "Too many requests for some devices and users", "throttled_events": [0],
            "exceeded_daily_quota_devices": {"a-1": 500_001}},
    },
    "snowplow": {"200": "bad"},
    "sensors": {"200": {"code": 400, "msg": "bad"}},
    "thinking": {"": {"code": -1, "msg": "bad"}},
}


def names_delay(name):
    """Whether an answer says when the next request may come: after 30 s."""
    return "Retry-After" in name or "throttled" in name


def is_short(name):
    return name.endswith(f" {SHORT} min")


def names(vendor):
    """The answers of a vendor. Its own ones replace those of the same status."""
    own = [name for name in BODIES[vendor] if "," in name]
    return [
        name for common in ANSWERS
        for name in [own_name for own_name in own if own_name.split(",")[0] == common] or [common]]


def body(vendor, name, status):
    if name == "200 with a page":
        return PAGE
    found = next((body for start, body in BODIES[vendor].items() if name.startswith(start)), PAGE)
    return found(400 if status == 200 else status) if callable(found) else found


class Trial:
    """One way of sending of one SDK, or ours, and one answer."""

    def __init__(self, vendor, way, name, program, directory):
        self.vendor, self.way, self.name, self.program = vendor, way, name, program
        self.server = Server(None if way is None else os.path.join(directory, "certificate.pem"))
        self.certificate = os.path.join(directory, "certificate.pem.crt")
        self.store = tempfile.mkdtemp(dir=directory)
        # The end of a process takes as long as it takes, and a wait must be longer than the delays of a busy machine.
        self.speed = 1 if name.startswith("exit") else 50 if names_delay(name) else hosts.SPEED

    def answer(self, is_well):
        def answer(request):
            is_elsewhere = request.path.startswith("/elsewhere")
            if is_elsewhere and request.method == "GET":
                return 200, {}, PAGE
            if is_well or is_elsewhere:
                return 200, {}, accepted(self.vendor, request)
            if self.name.endswith("full queue") and len(self.server.requests) < 2:
                time.sleep(0.5)  # Until the queue is full behind a request.
            answer = ANSWERS[self.name.split(",")[0]]
            if answer == "reset":
                return answer
            status, headers = answer
            headers = {name: value.format(path=request.path) for name, value in headers.items()}
            return status, headers, body(self.vendor, self.name, status)

        self.server.answer = answer

    def host(self, room=None):
        if self.way is None:
            store = str(room * 300) if room else self.store
            wire_format = VENDORS[self.vendor][0]
            path = "/sa?project=default" if self.vendor == "sensors" else ""
            return hosts.Host(
                [self.program, "--format", wire_format, "--peer", self.server.url + path, "--store", store])
        command = [sys.executable, hosts.__file__, self.vendor, self.way, self.server.url]
        trust = {"REQUESTS_CA_BUNDLE": self.certificate, "SSL_CERT_FILE": self.certificate}
        trust["SLUICE_SDK_SPEED"] = str(self.speed)
        return hosts.Host(command + ([str(room)] if room else []), trust)

    def arrived(self, word, since=0, path=""):
        """How many events with this word are in the requests that were answered with 200, from one of them on."""
        found = set()
        for request in self.server.requests[since:]:
            if request.status == 200 and request.method == "POST" and request.path.startswith(path):
                found.update(re.findall(rf'"{word}-(\d+)"', json.dumps(records(self.vendor, request))))
        return len(found)

    def run(self):
        result = self.exit() if self.name.startswith("exit") else self.outage()
        self.server.close()
        return result

    def exit(self):
        """A process tracks and ends, and another one starts."""
        is_well = self.name == "exit without a flush"
        self.answer(is_well)
        host = self.host()
        reports = [host("track", 3, "first")]
        if not is_well:
            reports.append(host("pass", 5))
        ends = host.leave(limit=30)
        before = self.arrived("first") if is_well else 0
        asked = len(self.server.requests)
        self.answer(True)
        host = self.host()
        reports += [host("flush"), host("pass", 120 if self.way is None else 2)]
        host.leave()
        return {"of": 3, "first": before + self.arrived("first", asked), "before": before, "told": told(reports, ends)}

    def outage(self):
        is_full = self.name.endswith("full queue")
        host, count, reports = self.host(10 if is_full else None), 40 if is_full else 1, []
        self.answer(False)
        if is_full:
            reports += [host("track", 1, "before"), host("pass", 20)]
        minutes = SHORT if is_short(self.name) else MINUTES
        reports += [host("track", count, "first"), host("flush"), host("pass", minutes * 60)]
        bad = list(self.server.requests)
        self.answer(True)
        reports += [host("flush"), host("pass", 300), host("track", 1, "later"), host("flush"), host("pass", 900)]
        ends = host.leave(limit=30)
        posts = [request for request in bad if not request.path.startswith("/elsewhere")]
        methods = {request.method for request in bad if request not in posts}
        follows = [f"follows with a {method}" for method in sorted(methods)]
        return {
            "of": count, "there": self.arrived("first", path="/elsewhere"), "first": self.arrived("first", len(bad)),
            "later": self.arrived("later", len(bad)), "waits": reports[-1].get("waiting", 0),
            "requests": len(posts), "gap": gap(posts, self.way and self.speed), "told": told(reports, ends) + follows}


def told(reports, ends):
    """What the host was told without asking: by the SDK, or the kinds of diagnostics of ours."""
    found = {text for report in reports for text in report.get("told", [])}
    diagnostics = [text for report in reports for text in report.get("diagnostics", [])]
    found |= {text.split(" ")[0].rstrip(":") for text in diagnostics} - {"resumed"}
    if reports[-1].get("hanging"):
        found.add("`flush` doesn't return")
    if not ends:
        found.add("the process needs more than 30 s to end")
    return sorted(found)


def gap(posts, speed):
    """The seconds between the first two requests, by the host's clock. Ours writes its time into a header."""
    if len(posts) < 2:
        return None
    if speed is None:
        first, second = (datetime.datetime.fromisoformat(post.headers["x-sent-at"]) for post in posts[:2])
        return round((second - first).total_seconds(), 1)
    return round((posts[1].time - posts[0].time) * speed, 1)


def run(program, vendors, only=None):
    """Returns the results by (vendor, way, answer); the way of ours is None."""
    with tempfile.TemporaryDirectory() as directory:
        make_certificate(directory)
        trials = []
        for vendor in vendors:
            wire_format, _, _, ways = VENDORS[vendor]
            for way in [*ways, *([None] if wire_format else [])]:
                trials += [(vendor, way, name) for name in names(vendor) if not only or name in only]
        with concurrent.futures.ThreadPoolExecutor(24) as pool:
            runs = {key: pool.submit(lambda key: Trial(*key, program, directory).run(), key) for key in trials}
            return {key: run.result() for key, run in runs.items()}
