#!/usr/bin/env bash
# amplitude-analytics 1.3.0 (PyPI): a connection that is reset, or a page in the place of a response, loses the batch
# without the callback, a retry or a message in the log.
#
# Its documentation says of Config.callback: "Triggered on every events sent or failed", and of flush_max_retries:
# "The maximum retry attempts for an event when receiving error response". A 500 with the JSON of Amplitude is retried
# 11 times, and then the callback is called. But HttpClient.post catches only errors of the connecting and HTTP
# errors. A reset after the request, or a 200 with a page as of a captive portal, ends in the future of a thread pool,
# which the SDK itself never looks at.
#
# The server on loopback does one of the three in the first 135 s, and then answers 200 with {"code":200}. The SDK has its
# defaults: it repeats a request after 10 s. The three run at the same time, for 150 s. Output on 2026-11-29, Python 3.11:
#
#     500: 12 requests in 110 s, 0 of 5 events arrived, 5 callbacks, 5 lines in the log
#     reset: 1 request in 0 s, 0 of 5 events arrived, 0 callbacks, 0 lines in the log
#     page: 1 request in 0 s, 0 of 5 events arrived, 0 callbacks, 0 lines in the log
#
# Exits with 1 if the SDK behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check amplitude-analytics==1.3.0
cat > "$folder/program.py" <<'PYTHON'
import http.server, json, logging, os, socket, struct, sys, threading, time
from amplitude import Amplitude, BaseEvent, Config

fault, start, requests, arrived, lines, callbacks = sys.argv[1], None, [], 0, [], []

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        global arrived
        events = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["events"]
        is_bad = time.monotonic() - start < 135
        requests.append(time.monotonic())
        if is_bad and fault == "reset":
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.close_connection = True
            os.close(self.request.detach())
            return
        if not is_bad:
            arrived += len(events)
        status = 500 if is_bad and fault == "500" else 200
        page = b"<html><body>Sign in to this network</body></html>"
        body = page if is_bad and fault == "page" else json.dumps({"code": status, "error": "busy"}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *_):
        pass

class Log(logging.Handler):
    def emit(self, record):
        lines.append(record.getMessage())

server = Quiet(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
logging.getLogger().addHandler(Log())
logging.getLogger("amplitude").setLevel(logging.DEBUG)

configuration = Config(
    server_url=f"http://127.0.0.1:{server.server_address[1]}/2/httpapi",
    callback=lambda event, code, message: callbacks.append(code))
client = Amplitude("key", configuration)
start = time.monotonic()
for number in range(5):
    client.track(BaseEvent("Search", user_id="user-1", event_properties={"number": number}))
time.sleep(150)
# In steps of 10 s, because the requests take a moment.
length = round((requests[-1] - requests[0]) / 10) * 10
found = len(requests), length, arrived, len(callbacks), len(lines)
print("%s: %d request%s in %d s, %d of 5 events arrived, %d callbacks, %d lines in the log" % (
    fault, len(requests), "s" * (len(requests) > 1), *found[1:]), flush=True)
os._exit(0 if found == ((12, 110, 0, 5, 5) if fault == "500" else (1, 0, 0, 0, 0)) else 1)
PYTHON
processes=()
for fault in 500 reset page; do
    "$folder/venv/bin/python" "$folder/program.py" "$fault" &
    processes+=($!)
done
for process in "${processes[@]}"; do wait "$process"; done
