#!/usr/bin/env bash
# SensorsAnalyticsSDK 1.11.0 (PyPI): after one failed request, AsyncBatchConsumer never sends again, and close() never
# returns.
#
# Its documentation says that close() makes sure that all data is sent, and raises if something goes wrong. The thread
# that sends catches `SensorsAnalytics`, the class of the client, instead of `SensorsAnalyticsNetworkException`. So
# one answer of 500 ends the thread. Later events go into the queue until it is full, and close() waits for the thread
# that is gone.
#
# The server on loopback answers the first request with 500, and all others with 200. Output on 2026-11-28, Python
# 3.11:
#
#     the server answers 500 once, and 200 from then on
#     requests: 1
#     events that arrived of 41: 0
#     the thread that sends is alive: False
#     close() returned within 10 s: False
#
# Exits with 1 if the SDK behaves otherwise.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check SensorsAnalyticsSDK==1.11.0
cat > "$folder/program.py" <<'PYTHON'
import base64, gzip, http.server, json, os, threading, time, urllib.parse
import sensorsanalytics

requests, arrived = [], []

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        form = urllib.parse.parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        events = json.loads(gzip.decompress(base64.b64decode(form["data_list"][0])))
        requests.append(len(events))
        if len(requests) > 1:
            arrived.extend(events)
        self.send_response(500 if len(requests) == 1 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
threading.excepthook = lambda _: None

consumer = sensorsanalytics.AsyncBatchConsumer(f"http://127.0.0.1:{server.server_address[1]}/sa", flush_max_time=1)
client = sensorsanalytics.SensorsAnalytics(consumer)
client.track("user-1", "First")
client.flush()
time.sleep(3)
for _ in range(40):  # Twice the size at which it flushes.
    client.track("user-1", "Later")
client.flush()
time.sleep(5)
sender = next((thread for thread in threading.enumerate() if type(thread).__name__ == "AsyncFlushThread"), None)
closing = threading.Thread(target=client.close, daemon=True)
closing.start()
closing.join(10)
print("the server answers 500 once, and 200 from then on")
print("requests:", len(requests))
print("events that arrived of 41:", len(arrived))
print("the thread that sends is alive:", sender is not None)
print("close() returned within 10 s:", not closing.is_alive())
os._exit(0 if (len(requests), len(arrived), sender, closing.is_alive()) == (1, 0, None, True) else 1)
PYTHON
"$folder/venv/bin/python" "$folder/program.py"
