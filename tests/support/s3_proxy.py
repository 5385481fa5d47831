"""A proxy on loopback before an object store, which counts requests and spoils responses.

It speaks HTTP and knows nothing of S3 but how an error is written.
"""

import http.client
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "server", "date"}
ERROR = "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{}</Code><Message>{}</Message></Error>"


@dataclass(frozen=True)
class Request:
    """What was requested: ``path`` is /bucket/key, ``first`` and ``stop`` are bytes of a range."""

    method: str
    path: str
    query: dict
    headers: dict
    number: int
    sent: list = field(default_factory=list)

    @property
    def is_list(self):
        return self.method == "GET" and "list-type" in self.query

    @property
    def range(self):
        found = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        return None if found is None else (int(found[1]), int(found[2]) + 1)

    @property
    def bytes(self):
        """Bytes of the body that were sent."""
        return sum(self.sent)


def error(status, code, message="as the test wants it"):
    """Return a response that refuses."""
    return lambda handler, request: handler.respond(
        status, {"Content-Type": "application/xml"}, ERROR.format(code, message).encode()
    )


def cut(handler, request):
    """Send half of a body, and close the connection."""
    status, headers, body = handler.forward()
    handler.respond(status, headers, body[: len(body) // 2], length=len(body))
    handler.close_connection = True


def short(handler, request):
    """Send half of a body as if it were all of it."""
    status, headers, body = handler.forward()
    handler.respond(status, headers, body[: len(body) // 2])


def silent(handler, request):
    """Send nothing until the proxy ends."""
    handler.server.ended.wait(60)
    handler.close_connection = True


def slow(seconds):
    """Return a response that comes late."""

    def late(handler, request):
        time.sleep(seconds)
        handler.respond(*handler.forward())

    return late


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet: the second of two would wait for the client to confirm
    disable_nagle_algorithm = True

    def handle_one_request(self):
        try:
            super().handle_one_request()
        except (ConnectionError, TimeoutError):  # the client has ended it
            self.close_connection = True

    def do(self):
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {key.lower(): value for key, value in self.headers.items()}
        self.request_seen = self.server.proxy.seen(self.command, unquote(parts.path), query, headers)
        spoil = self.server.proxy.spoil(self.request_seen)
        self.server.proxy.served(1)
        try:
            if spoil is None:
                self.respond(*self.forward())
            else:
                self.body()
                spoil(self, self.request_seen)
        finally:
            self.server.proxy.served(-1)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do

    def body(self):
        if not hasattr(self, "_body"):
            chunked = self.headers.get("Transfer-Encoding") == "chunked"
            self._body = (
                self.chunks() if chunked else self.rfile.read(int(self.headers.get("Content-Length") or 0))
            )
        return self._body

    def chunks(self):
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def forward(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=60)
        kept = {key: value for key, value in self.headers.items() if key.lower() not in HOP}
        connection.request(self.command, self.path, self.body(), kept)
        response = connection.getresponse()
        found = response.read()
        headers = {k: v for k, v in response.getheaders() if k.lower() not in HOP}
        length = response.getheader("Content-Length")
        connection.close()
        if self.command == "HEAD" and length is not None:
            headers["Content-Length"] = length
        return response.status, headers, found

    def respond(self, status, headers, body, length=None):
        del self._body
        self.send_response(status)
        for key, value in headers.items():
            self.send_header(key, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.request_seen.sent.append(len(body))
            self.wfile.write(body)

    def log_message(self, *arguments):
        """Keep quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128


class Proxy:
    """Forwards to a port of this machine; ``rules`` are functions from a request to a spoiler, or None."""

    def __init__(self, target):
        self.requests, self.rules, self._lock = [], [], threading.Lock()
        self.at_once = self.most_at_once = 0
        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.proxy, self._server.target, self._server.ended = self, target, threading.Event()
        self.port = self._server.server_address[1]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def seen(self, *what):
        with self._lock:
            self.requests.append(Request(*what, number=len(self.requests)))
            return self.requests[-1]

    def served(self, change):
        """Count a request that begins or ends."""
        with self._lock:
            self.at_once += change
            self.most_at_once = max(self.most_at_once, self.at_once)

    def spoil(self, request):
        with self._lock:
            return next((found for rule in self.rules if (found := rule(request)) is not None), None)

    def clear(self):
        with self._lock:
            self.requests.clear()
            self.rules.clear()
            self.most_at_once = self.at_once

    def data(self, name=""):
        """Return the requests for bytes of objects whose path has a name in it."""
        return [one for one in self.requests if one.range is not None and name in one.path]

    def close(self):
        self._server.ended.set()
        self._server.shutdown()
        self._server.server_close()
