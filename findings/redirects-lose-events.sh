#!/usr/bin/env bash
# Five SDKs of PyPI lose every event behind a redirect, and report success.
#
# The host of an SDK is often configured with http:// or an old name, and such a server redirects with 301 or 302. The
# SDKs leave this to `requests` and `urllib`, which repeat a POST that is redirected as a GET without a body. The
# server at the other end answers 200, as to any visitor, and the SDKs take this for the confirmation of their events.
# None calls its callback for errors, raises or logs anything. snowplow-tracker calls on_success.
#
# On loopback, one server redirects each POST to the same path of another one, which answers 200. Output on
# 2026-11-28, Python 3.11:
#
#     segment-analytics-python 2.4.0: POST, then GET; events that arrived: 0; the SDK reports: nothing
#     rudder-sdk-python 2.1.9: POST, then GET; events that arrived: 0; the SDK reports: nothing
#     posthog 7.91.1: POST, then GET; events that arrived: 0; the SDK reports: nothing
#     SensorsAnalyticsSDK 1.11.0: POST, then GET; events that arrived: 0; the SDK reports: nothing
#     snowplow-tracker 1.1.0: POST, then GET; events that arrived: 0; the SDK reports: on_success
#
# Exits with 1 if an SDK behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check segment-analytics-python==2.4.0 rudder-sdk-python==2.1.9 \
    posthog==7.91.1 SensorsAnalyticsSDK==1.11.0 snowplow-tracker==1.1.0
cat > "$folder/program.py" <<'PYTHON'
import http.server, importlib.metadata, logging, sys, threading

seen, arrived, said = [], [], []

class Destination(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer("GET", b"")

    def do_POST(self):
        self.answer("POST", self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, method, body):
        seen.append(method)
        if body:
            arrived.append(body)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"OK")

    def log_message(self, *_):
        pass

class Origin(Destination):
    def answer(self, method, body):
        seen.append(method)
        self.send_response(301)
        self.send_header("Location", f"http://127.0.0.1:{destination.server_address[1]}{self.path}")
        self.send_header("Content-Length", "0")
        self.end_headers()

class Log(logging.Handler):
    def emit(self, record):
        said.append("log")

destination, origin = (http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) for kind in (Destination, Origin))
for server in (destination, origin):
    threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{origin.server_address[1]}"
logging.getLogger().addHandler(Log(logging.WARNING))
failed = lambda *_: said.append("on_error")

def segment():
    from segment.analytics.client import Client
    client = Client("key", host=url, on_error=failed)
    client.track("user-1", "Search")
    client.flush()

def rudder():
    from rudderstack.analytics.client import Client
    client = Client("key", host=url, on_error=failed)
    client.track("user-1", "Search")
    client.flush()

def posthog():
    from posthog import Posthog
    client = Posthog("key", host=url, on_error=failed)
    client.capture("Search", distinct_id="user-1")
    client.flush()

def sensors():
    import sensorsanalytics
    client = sensorsanalytics.SensorsAnalytics(sensorsanalytics.BatchConsumer(url + "/sa"))
    client.track("user-1", "Search")
    client.flush()

def snowplow():
    from snowplow_tracker import Emitter, SelfDescribing, SelfDescribingJson, Tracker
    emitter = Emitter(url, on_success=lambda _: said.append("on_success"), on_failure=failed)
    tracker = Tracker("tracker", emitter)
    tracker.track(SelfDescribing(SelfDescribingJson("iglu:com.example/search/jsonschema/1-0-0", {"query": "tea"})))
    emitter.flush()

packages = {
    "segment-analytics-python": segment, "rudder-sdk-python": rudder, "posthog": posthog, "SensorsAnalyticsSDK": sensors,
    "snowplow-tracker": snowplow}
is_same = True
for package, track in packages.items():
    for list_ in (seen, arrived, said):
        list_.clear()
    try:
        track()
    except Exception as error:
        said.append(type(error).__name__)
    reports = ", ".join(said) or "nothing"
    print(f"{package} {importlib.metadata.version(package)}: {', then '.join(seen)}; events that arrived: {len(arrived)}; "
          f"the SDK reports: {reports}", flush=True)
    is_same &= (seen, arrived, said) == (["POST", "GET"], [], ["on_success"] if track is snowplow else [])
sys.exit(0 if is_same else 1)
PYTHON
"$folder/venv/bin/python" "$folder/program.py"
