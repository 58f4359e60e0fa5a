"""The object stores of the tests: emulators of Azure and Google Cloud, and a service that plays what no emulator has."""

import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading
import urllib.parse

import servers

ACCOUNT = "devstoreaccount1"
ACCOUNT_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


def azurite():
    """The program of Azurite, if it is installed: `npm install azurite@3.35.0` in the folder that AZURITE names."""
    named = os.environ.get("AZURITE")
    found = pathlib.Path(named, "node_modules/.bin/azurite-blob") if named else shutil.which("azurite-blob")
    return str(found) if found and pathlib.Path(found).exists() else None


class Process:
    """An emulator that runs while the tests do."""

    def __init__(self, command, port, folder):
        self.port, self.log = port, open(folder / "log", "wb")
        self.process = subprocess.Popen(command, env=servers.CLEAN, stdout=self.log, stderr=self.log, cwd=folder)
        servers.wait_for(port, 60)

    def stop(self):
        self.process.terminate()
        self.process.wait(20)
        self.log.close()


def start_azurite(folder):
    port = servers.free_port()
    command = [azurite(), "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry"]
    return Process(command, port, folder)


def start_moto(folder):
    port = servers.free_port()
    return Process([sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)], port, folder)


def start_google(folder):
    port = servers.free_port()
    command = [sys.executable, "-m", "gcp_storage_emulator", "start", "--port", str(port), "--host", "127.0.0.1", "--in-memory"]
    return Process(command, port, folder)


class Play:
    """Answers as a script says: a list of (pattern of `METHOD path`, function of (match, headers, body)), first match first.

    A function gives (status, headers, body). The requests are kept in `asked`, as (method and path, headers, body)."""

    def __init__(self, script):
        self.script, self.asked = script, []
        play = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                line = f"{self.command} {self.path}"
                play.asked.append((line, dict(self.headers), body))
                for pattern, act in play.script:
                    if found := re.match(pattern, line):
                        answered = act(found, self.headers, body)
                        if answered is None:  # cut off without an answer
                            self.close_connection = True
                            return
                        status, headers, content = answered
                        break
                else:
                    status, headers, content = 404, {}, b""
                self.send_response(status)
                for name, value in ({"Content-Length": str(len(content))} | headers).items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = answer

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def count(self, pattern):
        return sum(bool(re.match(pattern, line)) for line, _, _ in self.asked)


class Bucket:
    """A bucket of S3 or Azure in memory, to be played: `act` answers as the service does, conditions included.

    `faults` is a list of functions of (line, headers, body) that may answer in its place; each is dropped once it did."""

    def __init__(self, service, faults=()):
        self.service, self.faults = service, list(faults)
        self.objects, self.parts, self.count = {}, {}, 0

    def put(self, key, content, **metadata):
        self.count += 1
        self.objects[key] = (content, f'"tag-{self.count}"', metadata)

    def refused(self, key, headers):
        """Whether a condition does not hold."""
        there = self.objects.get(key)
        wanted = headers.get("if-match")
        return (headers.get("if-none-match") == "*" and there) or (wanted and (not there or there[1] != wanted))

    def act(self, found, headers, body):
        line = found.string
        for fault in self.faults:
            if (answer := fault(line, headers, body)) != "pass":
                self.faults.remove(fault)
                return answer
        method, target = line.split(" ", 1)
        key, _, query = target.partition("?")
        there = self.objects.get(key)
        mine = {name: value for name, value in headers.items() if name.lower().endswith("-meta-trilithupload")}
        if method == "HEAD":
            return (200, {"ETag": there[1]} | there[2], b"") if there else (404, {}, b"")
        if method == "GET":
            return part(there[0], headers, there[1]) if there else (404, {}, b"")
        if method == "DELETE":
            self.parts.pop(key, None)
            return 204, {}, b""
        if method == "POST" and query == "uploads=":
            self.parts[key] = {"mine": mine}
            return 200, {}, b"<InitiateMultipartUploadResult><UploadId>an/id&amp;x</UploadId></InitiateMultipartUploadResult>"
        if number := re.search(r"(?:partNumber|blockid)=([^&]+)", query):
            self.parts.setdefault(key, {})[urllib.parse.unquote(number[1])] = body
            return (200 if self.service == "s3" else 201), {"ETag": f'"part-{number[1]}"'}, b""
        if self.refused(key, headers):
            return (412, {}, b"") if self.service == "s3" else (409, {}, b"<Error><Code>BlobAlreadyExists</Code></Error>")
        if method == "POST" or "comp=blocklist" in query:
            parts = self.parts.pop(key)
            mine = parts.pop("mine", mine)
            names = re.findall(r"<(?:PartNumber|Latest)>([^<]+)<", body.decode())
            body = b"".join(parts[name] for name in names)
        self.put(key, body, **mine)
        return (200 if self.service == "s3" else 201), {"ETag": self.objects[key][1]}, b""


def part(content, headers, tag='"v1"'):
    """The answer to a request for a range of some bytes."""
    if (wanted := headers.get("if-match")) and wanted != tag:
        return 412, {}, b""
    found = re.match(r"bytes=(\d+)-(\d+)", headers.get("range") or "")
    if not found:
        return 200, {"ETag": tag}, content
    start, end = int(found[1]), min(int(found[2]) + 1, len(content))
    return 206, {"ETag": tag, "Content-Range": f"bytes {start}-{end - 1}/{len(content)}"}, content[start:end]


def answer_json(value, status=200):
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def private(content, allowed, refusal=(403, {}, b"<Error><Code>AccessDenied</Code></Error>")):
    """Serves bytes to whom `allowed` lets, by the headers of the request."""
    return lambda found, headers, body: part(content, headers) if allowed(headers) else refusal


