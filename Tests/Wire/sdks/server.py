"""A server on loopback that records requests, and answers them as it is told."""

import base64
import dataclasses
import gzip
import http.server
import json
import os
import socket
import ssl
import struct
import subprocess
import threading
import time
import urllib.parse


@dataclasses.dataclass
class Request:
    method: str
    path: str
    query: dict
    headers: dict
    body: bytes
    time: float
    status: object = None

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def form(self):
        return dict(urllib.parse.parse_qsl(self.body.decode()))


def records(vendor, request):
    """The records of a request, each with its endpoint, and the members of the body beside them."""
    if request.method != "POST" or not request.body:
        return [], {}
    if vendor == "sensors":
        form = request.form
        data = json.loads(gzip.decompress(base64.b64decode(form.get("data_list") or form["data"])))
        found = data if isinstance(data, list) else [data]
        return [("", record) for record in found], {name: "" for name in form if not name.startswith("data")}
    if vendor == "mixpanel":
        endpoint = request.path.strip("/")
        is_form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        data = json.loads(request.form["data"]) if is_form else request.json
        beside = {name: value for name, value in request.form.items() if name != "data"} if is_form else {}
        return [(endpoint, record) for record in (data if isinstance(data, list) else [data])], beside
    if vendor == "thinking":
        body = gzip.decompress(request.body) if request.headers.get("compress") == "gzip" else request.body
        return [("", record) for record in json.loads(body)], {}
    member = {"amplitude": "events", "snowplow": "data"}.get(vendor, "batch")
    body = request.json
    found = body.pop(member)
    for record in found if vendor == "snowplow" else []:
        record["ue_pr"] = json.loads(record["ue_pr"])["data"]
    return [("", record) for record in found], body


def accepted(vendor, request):
    """The body with which the vendor's backend accepts a request."""
    if vendor == "segment":
        return {"success": True}
    if vendor == "mixpanel":
        return {"code": 200, "status": "OK"} if request.path == "/import" else {"status": 1, "error": None}
    if vendor == "posthog":
        return {"results": {}} if "/v1/" in request.path else {"status": "Ok"}
    return {"amplitude": {"code": 200}, "thinking": {"code": 0}}.get(vendor, "OK" if vendor == "rudder" else "ok")


class Server:
    """Answers each request with what `answer` returns for it: (status, headers, body), or "reset"."""

    def __init__(self, certificate=None):
        self.requests = []
        self.answer = lambda request: (200, {}, "ok")
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                if headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                parts = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(parts.query))
                request = Request(self.command, parts.path, query, headers, body, time.monotonic())
                answer = server.answer(request)
                request.status = answer if answer == "reset" else answer[0]
                server.requests.append(request)
                if answer == "reset":
                    # Closed with a reset, not with an end.
                    raw = self.request
                    raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    self.close_connection = True
                    os.close(raw.detach())
                    return
                status, headers, text = answer
                data = (text if isinstance(text, str) else json.dumps(text)).encode()
                self.send_response(status)
                kind = "text/html" if data.startswith(b"<") else "application/json"
                for name, value in {"Content-Type": kind, "Content-Length": str(len(data)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = handle_any

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # A client that goes away, and the resets of our own.

        self.server = Quiet(("127.0.0.1", 0), Handler)
        scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.server.socket = context.wrap_socket(
                self.server.socket, server_side=True, do_handshake_on_connect=False)
            scheme = "https"
        self.url = f"{scheme}://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def make_certificate(directory):
    """Some SDKs repeat requests over TLS only."""
    path = os.path.join(directory, "certificate.pem")
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", path + ".key", "-out", path + ".crt"]
    subprocess.run(command, check=True, capture_output=True)
    with open(path, "w") as file:
        for part in (".key", ".crt"):
            with open(path + part) as source:
                file.write(source.read())
    return path
