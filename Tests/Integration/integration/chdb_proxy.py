"""A small HTTP server in front of chdb, the engine of ClickHouse as a library: the part of ClickHouse's HTTP interface that
the transport uses.

    python chdb_proxy.py PORT

A request is one statement: the parameter `query` of the URL, or the body. Data of an INSERT are the body, which may be
compressed. Other parameters are settings, and those that begin with `param_` are identifiers in the statement.
"""

import gzip
import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from chdb import session

SESSION = session.Session()
LOCK = threading.Lock()
STATUSES = {60: 404, 81: 404, 516: 403}


def statement(url, body):
    """The statement of a request with its settings, identifiers and data."""
    parameters = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
    text = parameters.pop("query", "")
    names = {name[6:]: parameters.pop(name) for name in list(parameters) if name.startswith("param_")}
    # A table has no deduplication of its own here.
    parameters.pop("insert_deduplication_token", None)

    def identifier(found):
        return "`" + names[found[1]].replace("\\", "\\\\").replace("`", "\\`") + "`"

    text = re.sub(r"\{(\w+):Identifier\}", identifier, text)
    if not text:
        return body
    settings = ", ".join(f"{name} = '{value}'" for name, value in parameters.items())
    head, format = text.rsplit(" FORMAT ", 1)
    return f"{head} SETTINGS {settings} FORMAT {format}\n".encode() + body


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        try:
            with LOCK:
                result = SESSION.query(statement(self.path, body).decode(), "JSONEachRow")
                rows = result.rows_read() if self.is_insert else 0
            self.answer(200, result.bytes(), [("X-ClickHouse-Summary", json.dumps({"written_rows": str(rows)}))])
        except Exception as error:
            found = re.search(r"Code: (\d+)\.", str(error))
            code = int(found[1]) if found else 1_001
            headers = [("X-ClickHouse-Exception-Code", str(code))]
            self.answer(STATUSES.get(code, 500), str(error).encode(), headers)

    @property
    def is_insert(self):
        return "query=INSERT" in self.path

    def answer(self, status, body, headers):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
