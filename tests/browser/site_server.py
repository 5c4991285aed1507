#!/usr/bin/env python3
"""A web site for tests of the browser: the pages of site/, and responses that are slow, broken or far away.

    site_server.py [--https]    prints {"http": ..., "other": ..., "https": ...}, and ends when its input does

`other` is the same server under another host name, so that its pages are of another site.
In a page, {{origin}} and {{other}} stand for the two. `Site` is the same, for a test in Python.
"""
import argparse
import http.server
import json
import pathlib
import ssl
import subprocess
import sys
import tempfile
import threading
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent / "site"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml",
         ".txt": "text/plain; charset=utf-8", ".pdf": "application/pdf"}


def rows_page(count):
    rows = "".join(
        f'<tr><td>{n}</td><td><a href="/order/{n}">Order {n}</a></td><td>Customer {n % 37}</td>'
        f'<td>{n * 7 % 1000}.{n % 100:02}</td><td><button>Edit {n}</button></td>'
        f'<td><input type="checkbox" aria-label="Select {n}"></td></tr>' for n in range(1, count + 1))
    return (f"<!doctype html><html lang=en><title>{count} rows</title><h1>Orders</h1><table><caption>Orders</caption><thead><tr>"
            f"<th>No</th><th>Order</th><th>Customer</th><th>Sum</th><th>Action</th><th>Select</th></tr></thead>"
            f"<tbody>{rows}</tbody></table></html>")


def nodes_page(count):
    # Seven elements a piece.
    pieces = "".join(
        f"<section><h3>Part {n}</h3><p>Text of <b>part</b> {n}.</p><ul><li><a href='#p{n}'>Go to {n}</a></ul></section>"
        for n in range(count // 7))
    return f"<!doctype html><html lang=en><title>{count} nodes</title><h1>Many</h1><main>{pieces}</main></html>"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def origins(self):
        scheme = "https" if isinstance(self.connection, ssl.SSLSocket) else "http"
        port = self.server.server_address[1]
        return f"{scheme}://127.0.0.1:{port}", f"{scheme}://localhost:{port}"

    def answer(self, status, content, kind="text/html; charset=utf-8", headers=()):
        body = content.encode() if isinstance(content, str) else content
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        address = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(address.query))
        first, _, rest = address.path.lstrip("/").partition("/")
        special = getattr(self, f"get_{first.replace('-', '_')}", None) if first else None
        try:
            if special:
                special(rest, query)
            else:
                self.file(address.path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_HEAD = do_GET

    def file(self, path):
        name = path.lstrip("/") or "index.html"
        place = HERE / name
        if "/" in name or not place.is_file():
            return self.answer(404, f"<!doctype html><title>Not found</title><h1>No page {len(name)}</h1>")
        content = place.read_bytes()
        if place.suffix == ".html":
            origin, other = self.origins()
            content = content.replace(b"{{origin}}", origin.encode()).replace(b"{{other}}", other.encode())
        self.answer(200, content, TYPES.get(place.suffix, "application/octet-stream"))

    # ---- What no file can do ----

    def get_rows(self, rest, _):
        self.answer(200, rows_page(int(rest or 200)))

    def get_nodes(self, rest, _):
        self.answer(200, nodes_page(int(rest or 30000)))

    def get_status(self, rest, _):
        self.answer(int(rest), f"<!doctype html><title>Status {int(rest)}</title><h1>Status {int(rest)}</h1>")

    def get_redirect(self, rest, query):
        """/redirect/302?to=/forms.html; a relative address, or one of another host."""
        self.answer(int(rest or 302), "", headers=[("Location", query.get("to", "/"))])

    def get_redirect_loop(self, _rest, _query):
        self.answer(302, "", headers=[("Location", "/redirect-loop")])

    def get_slow(self, rest, query):
        """Waits so many milliseconds, or until somebody gets /release/NAME, before it answers."""
        if "until" in query:
            self.server.event(query["until"]).wait(60)
        else:
            self.server.stopping.wait(int(rest or 300) / 1000)
        self.answer(200, "<!doctype html><title>Slow</title><h1>At last</h1>")

    def get_slow_body(self, _rest, query):
        """Half of a page; the rest after /release/NAME."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.chunk(b"<!doctype html><title>Halves</title><h1>First half</h1>")
        self.server.event(query.get("until", "body")).wait(60)
        self.chunk(b"<p>Second half</p>")
        self.chunk(b"")

    def chunk(self, content):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(content), content))
        self.wfile.flush()

    def get_release(self, rest, _):
        self.server.event(rest).set()
        self.answer(200, "released", "text/plain")

    def get_never(self, _rest, _query):
        """No answer at all, until the server ends."""
        self.server.stopping.wait(120)
        self.close_connection = True

    def get_broken(self, rest, _):
        """Less than was promised, or nothing (/broken/empty), or no HTTP (/broken/garbage)."""
        self.close_connection = True
        if rest == "garbage":
            self.wfile.write(b"this is no HTTP\r\n\r\n")
        elif rest != "empty":
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>Broken</title><h1>Only the beginning")

    def get_download(self, rest, query):
        name = rest or "report.txt"
        content = (query.get("text") or "downloaded\n").encode() * int(query.get("times", 1))
        self.answer(200, content, "application/octet-stream",
                    [("Content-Disposition", f"attachment; filename*=UTF-8''{urllib.parse.quote(name)}")])

    def get_cookie(self, rest, _):
        name, _, value = rest.partition("/")
        self.answer(200, f"<!doctype html><title>Cookie</title><p>{self.headers.get('Cookie', 'none')}</p>",
                    headers=[("Set-Cookie", f"{name}={value}; Path=/")] if name else [])

    def get_api(self, rest, _):
        self.answer(200, json.dumps({"path": rest, "items": [1, 2, 3]}), "application/json")

    def get_policy(self, _rest, _query):
        """A page whose policy allows no script at all."""
        self.answer(200, "<!doctype html><title>Policy</title><h1>Strict</h1><button>Press</button>",
                    headers=[("Content-Security-Policy", "default-src 'none'; sandbox allow-forms")])

    def get_app(self, _rest, _query):
        """Every address of the single-page application is the same file."""
        self.file("/app.html")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        kind = self.headers.get("Content-Type", "")
        shown = {"type": kind.partition(";")[0], "size": len(body)}
        if kind.startswith("application/x-www-form-urlencoded"):
            shown["fields"] = urllib.parse.parse_qs(body.decode(), keep_blank_values=True)
        elif kind.startswith("multipart/form-data"):
            shown["files"] = multipart(body, kind.partition("boundary=")[2].encode())
        text = json.dumps(shown, ensure_ascii=False).replace("<", "\\u003c")
        self.answer(200, f"<!doctype html><title>Received</title><h1>Received</h1><pre id=received>{text}</pre>")


def multipart(body, boundary):
    """Names, file names and sizes of the parts."""
    parts = []
    for piece in body.split(b"--" + boundary)[1:-1]:
        head, _, content = piece.strip(b"\r\n").partition(b"\r\n\r\n")
        words = dict(word.strip().partition("=")[::2] for word in head.decode().replace("\r\n", ";").split(";") if "=" in word)
        parts.append({"name": words.get("name", "").strip('"'), "file": words.get("filename", "").strip('"'),
                      "size": len(content), "text": content[:200].decode(errors="replace")})
    return parts


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, context=None):
        self.stopping = threading.Event()
        self.events = {}
        self.lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def event(self, name):
        with self.lock:
            return self.events.setdefault(name, threading.Event())

    def handle_error(self, request, client_address):
        pass  # browsers close connections whenever they like

    def stop(self):
        self.stopping.set()
        for event in list(self.events.values()):
            event.set()
        self.shutdown()
        self.server_close()


def certificate(folder):
    key, cert = folder / "key.pem", folder / "cert.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", key, "-out", cert],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


class Site:
    def __init__(self, with_https=False):
        self.servers = [Server()]
        port = self.servers[0].server_address[1]
        self.addresses = {"http": f"http://127.0.0.1:{port}", "other": f"http://localhost:{port}"}
        if with_https:
            with tempfile.TemporaryDirectory() as folder:
                self.servers.append(Server(certificate(pathlib.Path(folder))))
            self.addresses["https"] = f"https://127.0.0.1:{self.servers[1].server_address[1]}"
        self.threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in self.servers]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for server in self.servers:
            server.stop()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--https", action="store_true")
    given = parser.parse_args()
    with Site(given.https) as site:
        print(json.dumps(site.addresses), flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
