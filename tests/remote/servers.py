"""Real servers on loopback: one that counts (nginx, or `web.py` where that is not installed), and a proxy between that breaks what one asks it to break."""

import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("TRILITH_BIN", str(ROOT / "target/debug/trilith"))
TIME_LIMIT = 120

# Nothing of the machine's own settings may reach the tests.
CLEAN = {
    key: value
    for key, value in os.environ.items()
    if not key.startswith(("AWS_", "TRILITH_")) and key.lower() not in ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
}


def trilith(*arguments, status=0, environment=None, limit=TIME_LIMIT):
    """Runs the command, insists on its exit status, and gives what it printed: (stdout, stderr)."""
    ended = subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, timeout=limit, check=False, env=CLEAN | (environment or {})
    )
    if status is not None and ended.returncode != status:
        line = " ".join(map(str, arguments))
        said = ended.stderr.decode(errors="replace").strip()[:800]
        raise AssertionError(f"`trilith {line}` ended with {ended.returncode}, expected {status}: {said}")
    return ended.stdout, ended.stderr.decode(errors="replace")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port, seconds=20):
    end = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)


NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")

CONFIGURATION = """
daemon off; master_process off; worker_processes 1; error_log {folder}/error.log crit; pid {folder}/nginx.pid;
events {{ worker_connections 256; }}
http {{
  log_format counted '$request_method $status $body_bytes_sent $bytes_sent "$http_range" $request_uri';
  access_log {folder}/access.log counted;
  client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
  uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
  sendfile on; tcp_nopush on; etag on; keepalive_requests 100000; default_type application/octet-stream;
  server {{
    listen 127.0.0.1:{port};
    root {root};
    location /single/ {{ alias {root}/; max_ranges 1; }}
    location /plain/ {{ alias {root}/; max_ranges 0; }}
    location /private/ {{ alias {root}/; auth_basic "here"; auth_basic_user_file {folder}/users; }}
  }}
}}
"""


class Counting:
    """Serves a folder at /, at /single/ with one range an answer, at /plain/ without ranges, at /private/ for `name`."""

    def __init__(self, root, folder):
        self.folder, self.port = pathlib.Path(folder), free_port()
        self.log = self.folder / "access.log"
        command = self.command(pathlib.Path(root))
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port)

    def command(self, root):
        raise NotImplementedError

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def stop(self):
        self.process.terminate()
        self.process.wait(10)

    def mark(self):
        self.settle()
        return self.log.stat().st_size

    def settle(self):
        """Until the log is written: an answer is logged when it is over."""
        size = -1
        while size != (size := self.log.stat().st_size):
            time.sleep(0.05)

    def since(self, mark):
        """The requests since then: (status, bytes with headers, range, path)."""
        self.settle()
        text = self.log.read_bytes()[mark:].decode()
        lines = re.findall(r'^\w+ (\d+) (\d+) (\d+) "([^"]*)" (\S+)$', text, re.M)
        return [(int(status), int(sent), ranges, path) for status, _, sent, ranges, path in lines]

    @contextlib.contextmanager
    def counted(self):
        """A list that holds the requests of the block when it is over."""
        mark, requests = self.mark(), []
        yield requests
        requests.extend(self.since(mark))


class Nginx(Counting):
    """By nginx."""

    def command(self, root):
        for path in [self.folder, *root.parents, root]:
            with contextlib.suppress(OSError):
                path.chmod(path.stat().st_mode | 0o055)  # as root nginx reads as somebody else
        (self.folder / "users").write_text("name:{PLAIN}pass word\n")
        configuration = self.folder / "nginx.conf"
        configuration.write_text(CONFIGURATION.format(folder=self.folder, port=self.port, root=root))
        return [NGINX, "-c", configuration, "-e", self.folder / "error.log"]


class Web(Counting):
    """By `web.py`, which needs nothing but Python."""

    def command(self, root):
        return [sys.executable, pathlib.Path(__file__).with_name("web.py"), root, str(self.port), self.log, "name:pass word"]


def counting(root, folder):
    """nginx where it is installed, unless `TRILITH_SERVER=web` asks for the other one."""
    return (Nginx if NGINX and os.environ.get("TRILITH_SERVER") != "web" else Web)(root, folder)


class Proxy:
    """Passes requests on to a server; `plan(number, head)` may name a fault for one of them.

    The faults are functions of (client socket, answer head, answer body) that send what they like; None
    passes the answer on as it is. Each answer closes its connection.
    """

    def __init__(self, upstream, plan=lambda number, head: None):
        self.upstream, self.plan, self.count = upstream, plan, 0
        self.heads = []
        self.lock = threading.Lock()
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.run, daemon=True).start()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}/{path}"

    def stop(self):
        with contextlib.suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, contextlib.suppress(OSError):
            client.settimeout(60)
            request = receive_head(client)
            if not request:
                return
            with self.lock:
                number, self.count = self.count, self.count + 1
                self.heads.append(request.decode("latin1"))
                fault = self.plan(number, self.heads[-1])
            head, body = self.ask(request)
            (fault or passed)(client, head, body)

    def ask(self, request):
        with socket.create_connection(("127.0.0.1", self.upstream), timeout=60) as server:
            server.sendall(request[:-2] + b"Connection: close\r\n\r\n")
            answer = b"".join(iter(lambda: server.recv(1 << 16), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        return head, body


def receive_head(client):
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(1 << 16)
        if not part:
            return b""
        data += part
    return data


def passed(client, head, body):
    client.sendall(head + b"\r\n\r\n" + body)


def reset(client, head, body):
    """The connection breaks in the middle of the answer."""
    client.sendall(head + b"\r\n\r\n" + body[: len(body) // 2])
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def refused(client, head, body):
    """The connection breaks before there is an answer."""
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")


def stall(client, head, body):
    """A part of the answer comes, and then nothing for a long time."""
    client.sendall(head + b"\r\n\r\n" + body[: len(body) // 3])
    time.sleep(4)


def short(client, head, body):
    """The answer ends too early, without a sign of trouble."""
    client.sendall(head + b"\r\n\r\n" + body[: len(body) // 2])


def wrong_range(client, head, body):
    """Another part of the file than was asked for."""
    shifted = re.sub(rb"(?i)(content-range: bytes )(\d+)-(\d+)", lambda m: b"%s%d-%d" % (m[1], int(m[2]) + 7, int(m[3]) + 7), head)
    body = re.sub(rb"(Content-Range: bytes )(\d+)-(\d+)", lambda m: b"%s%d-%d" % (m[1], int(m[2]) + 7, int(m[3]) + 7), body)
    length = re.sub(rb"(?i)content-length: \d+", b"Content-Length: %d" % len(body), shifted)
    client.sendall(length + b"\r\n\r\n" + body)


def answer(status, *headers, body=b"no"):
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]
    text = "\r\n".join(lines).encode() + b"\r\n\r\n" + body

    def send(client, _head, _body):
        client.sendall(text)

    return send


def changed(client, head, body):
    """The file is another one now; the server does not heed If-Match."""
    client.sendall(re.sub(rb'(?i)etag: "[^"]*"', b'ETag: "another"', head) + b"\r\n\r\n" + body)


FAULTS = {
    "reset": reset,
    "refused": refused,
    "stall": stall,
    "short": short,
    "wrong range": wrong_range,
    "416": answer("416 Range Not Satisfiable"),
    "503": answer("503 Service Unavailable"),
    "500": answer("500 Internal Server Error"),
    "changed": changed,
    "412": answer("412 Precondition Failed"),
    "404": answer("404 Not Found"),
}
