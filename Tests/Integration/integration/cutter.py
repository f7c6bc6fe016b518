"""A proxy that forwards requests, and closes some connections instead of returning the response."""

import http.client
import http.server
import os
import socket
import struct
import threading


class Cutter:
    """Use it in a `with`. `is_cut` takes the number of a request, from zero, and returns whether its response is lost."""

    def __init__(self, port, is_cut):
        self.cuts = 0
        cutter = self
        numbers = iter(range(1 << 30))

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                upstream = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
                upstream.request("POST", self.path, body, dict(self.headers.items()))
                response = upstream.getresponse()
                content = response.read()
                upstream.close()
                if is_cut(next(numbers)) and response.status // 100 == 2:
                    cutter.cuts += 1
                    # Without lingering, so that the client sees a reset.
                    self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    os.close(self.connection.detach())
                    self.close_connection = True
                    return
                self.send_response(response.status)
                for name, value in response.getheaders():
                    if name.lower() not in ("transfer-encoding", "connection", "keep-alive", "date", "content-length"):
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
