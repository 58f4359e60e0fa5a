"""A web server for files, by the standard library alone: `web.py FOLDER PORT LOG NAME:PASSWORD`.

It stands in for nginx where that is not installed, and answers as nginx does with the configuration of `servers.py`: byte ranges,
several in one answer, validators and their conditions, passwords. `test_servers.py` compares the two.
"""

import base64
import contextlib
import email.utils
import http
import http.server
import os
import pathlib
import posixpath
import re
import socket
import sys
import threading
import urllib.parse

PIECE = 1 << 16
BOUNDARY = "0123456789-piece"

# First folder of the path: how many ranges an answer may have, and whether a password is asked for.
PLACES = {"single": (1, False), "plain": (0, False), "private": (None, True)}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "web.py", ""
    disable_nagle_algorithm = True
    timeout = 75

    def do_GET(self):
        self.answer(body=True)

    def do_HEAD(self):
        self.answer(body=False)

    def log_message(self, *_):
        pass

    def answer(self, body):
        self.sent = 0
        status = 0
        try:
            status, headers, parts = self.decide()
            self.send(status, headers, parts if body else [])
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        finally:
            self.server.note(f'{self.command} {status} {max(self.sent, 0)} {self.sent} "{self.headers.get("Range", "-")}" {self.path}\n')

    def decide(self):
        """Status, headers and the parts of the body: bytes, or (path, start, stop)."""
        path = urllib.parse.unquote(self.path.partition("?")[0])
        place, _, rest = path.lstrip("/").partition("/")
        most, private = PLACES.get(place, (None, False))
        if posixpath.normpath(path.lstrip("/")).split("/")[0] == "..":
            return refusal(400)
        if private and self.headers.get("Authorization") != self.server.password:
            return refusal(401, ("WWW-Authenticate", 'Basic realm="here"'))
        name = posixpath.normpath("/" + (rest if place in PLACES else path)).lstrip("/")
        file = self.server.folder / name
        try:
            about = file.stat()
        except (OSError, ValueError):
            return refusal(404)
        if file.is_dir():
            return refusal(403)
        tag = f'"{about.st_mtime_ns:x}-{about.st_size:x}"'
        common = [("Last-Modified", email.utils.formatdate(about.st_mtime, usegmt=True)), ("ETag", tag)]
        if (status := self.condition(tag, int(about.st_mtime))) == 412:
            return refusal(412)
        if status == 304:
            return 304, common, []
        kind = ("Content-Type", "application/octet-stream")
        ranges = self.ranges(about.st_size, most, tag, int(about.st_mtime))
        if ranges == []:
            return refusal(416, ("Content-Range", f"bytes */{about.st_size}"))
        if ranges is None:
            accepts = [] if most == 0 else [("Accept-Ranges", "bytes")]
            return 200, [kind, *common, *accepts], [(file, 0, about.st_size)]
        shown = [f"bytes {start}-{stop - 1}/{about.st_size}" for start, stop in ranges]
        if len(ranges) == 1:
            return 206, [kind, *common, ("Content-Range", shown[0])], [(file, *ranges[0])]
        parts = []
        for text, (start, stop) in zip(shown, ranges, strict=True):
            parts.append(f"\r\n--{BOUNDARY}\r\nContent-Type: {kind[1]}\r\nContent-Range: {text}\r\n\r\n".encode())
            parts.append((file, start, stop))
        parts.append(f"\r\n--{BOUNDARY}--\r\n".encode())
        return 206, [("Content-Type", f"multipart/byteranges; boundary={BOUNDARY}"), *common], parts

    def condition(self, tag, changed):
        """412 or 304 where a condition of the request says so."""
        held = self.headers.get("If-Match")
        if held is not None:
            if held.strip() != "*" and tag not in tags(held):
                return 412
        elif (since := seconds(self.headers.get("If-Unmodified-Since"))) is not None and changed > since:
            return 412
        held = self.headers.get("If-None-Match")
        if held is not None:
            return 304 if held.strip() == "*" or tag in [text.removeprefix("W/") for text in tags(held)] else 200
        since = seconds(self.headers.get("If-Modified-Since"))
        return 304 if since is not None and changed <= since else 200

    def ranges(self, size, most, tag, changed):
        """Pairs (start, stop); none of them where none can be met; None where all of the file is the answer."""
        asked = self.headers.get("Range", "")
        if most == 0 or not asked.startswith("bytes="):
            return None
        only = self.headers.get("If-Range")
        if only is not None and only != tag and seconds(only) != changed:
            return None
        found = []
        for text in asked.removeprefix("bytes=").split(","):
            match = re.fullmatch(r"\s*(\d*)-(\d*)\s*", text)
            if not match or match[1] == match[2] == "":
                return []
            if match[1] == "":
                start, stop = max(size - int(match[2]), 0), size
            else:
                start, stop = int(match[1]), min(int(match[2]) + 1 if match[2] else size, size)
                if match[2] and int(match[2]) < int(match[1]):
                    return []
            if start < stop:
                found.append((start, stop))
        whole = (most is not None and len(found) > most) or sum(stop - start for start, stop in found) > size
        return None if whole and found else found

    def send(self, status, headers, parts):
        if status != 304:
            length = sum(len(part) if isinstance(part, bytes) else part[2] - part[1] for part in parts)
            if self.command == "HEAD":
                length = sum(len(part) if isinstance(part, bytes) else part[2] - part[1] for part in self.decide()[2])
            headers = [("Content-Length", str(length)), *headers]
        lines = [f"HTTP/1.1 {status} {http.HTTPStatus(status).phrase}", "Server: web.py", f"Date: {self.date_time_string()}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines.append("Connection: close" if self.close_connection else "Connection: keep-alive")
        head = "\r\n".join(lines).encode() + b"\r\n\r\n"
        self.out(head)
        for part in parts:
            if isinstance(part, bytes):
                self.out(part)
                continue
            path, start, stop = part
            with path.open("rb") as file:
                file.seek(start)
                while start < stop and (piece := file.read(min(PIECE, stop - start))):
                    self.out(piece)
                    start += len(piece)
            if start < stop:  # it was cut off meanwhile
                self.close_connection = True
                return

    def out(self, data):
        self.connection.sendall(data)
        self.sent += len(data)


def refusal(status, *headers):
    text = f"{status} {http.HTTPStatus(status).phrase}\n".encode()
    return status, [("Content-Type", "text/plain"), *headers], [text]


def tags(text):
    return [tag.strip() for tag in text.split(",")]


def seconds(text):
    """A date of HTTP as a number; None for what is none."""
    with contextlib.suppress(TypeError, ValueError):
        return int(email.utils.parsedate_to_datetime(text).timestamp())
    return None


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    address_family = socket.AF_INET

    def __init__(self, folder, port, log, user):
        super().__init__(("127.0.0.1", port), Handler)
        self.folder = pathlib.Path(folder)
        self.password = "Basic " + base64.b64encode(user.encode()).decode()
        self.log = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self.lock = threading.Lock()

    def note(self, line):
        with self.lock:
            os.write(self.log, line.encode())

    def handle_error(self, request, client_address):
        pass


if __name__ == "__main__":
    FOLDER, PORT, LOG, USER = sys.argv[1:]
    Server(FOLDER, int(PORT), LOG, USER).serve_forever()
