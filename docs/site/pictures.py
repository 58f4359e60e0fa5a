"""Makes the pictures of the pages from real output: `python docs/site/pictures.py PROGRAM`.

PROGRAM is the command `trilith`. The pictures of the terminal are what it prints on one of 96 columns, in the folder of
`trilith tour`. The chart is drawn from tables of docs/measurements.md and docs/performance.md, which `cargo xtask bench` fills.
With Chromium and the Python package, `--notebook` makes the picture of a notebook, too.
"""

import argparse
import base64
import fcntl
import html
import math
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import zlib

DOCS = pathlib.Path(__file__).resolve().parent.parent
IMAGES = DOCS / "images"
COLUMNS = 96
# Width and height of a character, and the colours of the terminal.
WIDE, HIGH, EDGE = 8.0, 17, 14
PAPER, INK = "#1d2230", "#e4e7ee"
PALETTE = {30: "#5c6475", 31: "#ff8d85", 32: "#6fcf97", 33: "#e6c265", 34: "#8fb4ff", 35: "#d39cf0", 36: "#6fd0d6", 37: "#e4e7ee", 90: "#9aa3b5"}

SCHEMA = """%YAML 1.1
---
id: "http://example.org/schemas/filters-1.0.0"
properties:
  observation:
    properties:
      meta:
        properties:
          filter: {enum: [F062, F087, F106]}
        required: [filter, observer]
...
"""

# Each picture: commands that are shown, and commands that make their files before.
TERMINALS = {
    "tree": ([], [["tree", "observation.asdf", "--depth", "3"]]),
    "show": ([], [["show", "observation.asdf#/observation/data", "--interval", "percentile:99", "--cmap", "inferno", "--width", "72"]]),
    "diff": (
        [["set", "mine.asdf#/observation/meta/exposure/value", "140.0"], ["set", "mine.asdf#/observation/meta/filter", "F129"]],
        [["diff", "observation.asdf", "mine.asdf"]],
    ),
    "validate": ([], [["validate", "observation.asdf", "--schema", "filters.yaml"]]),
}


def terminal_output(program, words, folder):
    """Returns the output of a command on a terminal with colours."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    env = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8", "HOME": str(folder)}
    process = subprocess.Popen([program, *words], cwd=folder, stdin=subprocess.DEVNULL, stdout=child, stderr=child, env=env)
    os.close(child)
    text = b""
    while True:
        try:
            part = os.read(parent, 65536)
        except OSError:
            break
        if not part:
            break
        text += part
    process.wait()
    os.close(parent)
    return text.decode().replace("\r\n", "\n").rstrip("\n")


def cells(line):
    """Yields the characters of a line, each with its colours and whether it is bold."""
    ink, paper, bold = None, None, False
    for mark, character in re.findall(r"\x1b\[([\d;]*)m|([^\x1b])", line):
        if character:
            yield character, ink, paper, bold
            continue
        codes = [int(code or 0) for code in mark.split(";")] if mark else [0]
        while codes:
            code = codes.pop(0)
            if code == 0:
                ink, paper, bold = None, None, False
            elif code == 1:
                bold = True
            elif code == 2:
                ink = PALETTE[90]
            elif code in (38, 48) and codes[:1] == [2]:
                colour = "#{:02x}{:02x}{:02x}".format(*codes[1:4])
                codes = codes[4:]
                ink, paper = (colour, paper) if code == 38 else (ink, colour)
            elif code == 39:
                ink = None
            elif code == 49:
                paper = None
            elif code in PALETTE:
                ink = PALETTE[code]


def png(rows):
    """Returns a PNG of rows of colours."""
    raw = b"".join(b"\0" + b"".join(bytes.fromhex(colour[1:]) for colour in row) for row in rows)

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


def terminal_svg(blocks):
    """Returns commands and their output, as they look on a terminal."""
    lines = []
    for words, text in blocks:
        shown = " ".join(f"'{word}'" if re.search(r"[#{*?\s]", word) else word for word in words)
        lines.append(f"\x1b[32m$\x1b[0m \x1b[1mtrilith {shown}\x1b[0m")
        lines += text.split("\n")
    body, picture = [], []
    y = EDGE + HIGH - 4

    def flush():
        if not picture:
            return
        rows = [row for pair in picture for row in pair]
        top = y - len(picture) * HIGH - HIGH + 4
        data = base64.b64encode(png(rows)).decode()
        body.append(
            f'<image x="{EDGE}" y="{top}" width="{len(rows[0]) * WIDE:g}" height="{len(picture) * HIGH}" preserveAspectRatio="none" '
            f'image-rendering="pixelated" href="data:image/png;base64,{data}"/>'
        )
        picture.clear()

    for line in lines:
        row = list(cells(line))
        if row and all(character == "▀" for character, *_ in row):
            picture.append(([ink or INK for _, ink, _, _ in row], [paper or PAPER for _, _, paper, _ in row]))
            y += HIGH
            continue
        flush()
        spans, at = [], 0
        while at < len(row):
            end = at
            while end < len(row) and row[end][1:] == row[at][1:]:
                end += 1
            text, (_, ink, _, bold) = "".join(character for character, *_ in row[at:end]), row[at]
            style = (f' fill="{ink}"' if ink else "") + (' font-weight="bold"' if bold else "")
            # Not every program keeps spaces of SVG.
            text = html.escape(text).replace(" ", "\u00a0")
            spans.append(f"<tspan{style}>{text}</tspan>" if style else text)
            at = end
        if spans:
            body.append(f'<text x="{EDGE}" y="{y}">{"".join(spans)}</text>')
        y += HIGH
    flush()
    columns = max((len(list(cells(line))) for line in lines), default=0)
    width, height = columns * WIDE + 2 * EDGE, y - HIGH + 4 + EDGE
    title = html.escape("trilith " + " ".join(blocks[0][0]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height}" viewBox="0 0 {width:g} {height}" role="img">'
        f"<title>{title}</title>"
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>'
        f'<g fill="{INK}" font-family="ui-monospace, Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="13.3">\n'
        + "\n".join(body)
        + "\n</g></svg>\n"
    )


def speed_chart():
    """Returns the seconds of the comparison in docs/performance.md as bars on a logarithmic scale."""
    text = (DOCS / "performance.md").read_text().partition("## Comparison")[2]
    rows = []
    peer = ""
    for line in text.splitlines():
        found = [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if len(found) != 3 or set(found[0]) <= {"-"}:
            continue
        if found[0] == "work":
            peer = found[2]
        else:
            rows.append((found[0], float(found[1]), float(found[2]), peer))
    left, right, step, top = 330, 190, 46, 34
    width, height = 900, top + step * len(rows) + 34
    low, high = -3, 1

    def x(seconds):
        return left + (math.log10(seconds) - low) / (high - low) * (width - left - right)

    parts = []
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f'<line x1="{at:.1f}" y1="{top - 6}" x2="{at:.1f}" y2="{height - 28}" stroke="#d8dce5"/>')
        parts.append(f'<text x="{at:.1f}" y="{height - 12}" text-anchor="middle" fill="#5c6475">{10.0**power:g} s</text>')
    for number, (work, ours, theirs, name) in enumerate(rows):
        y = top + number * step
        parts.append(f'<text x="{left - 10}" y="{y + 19}" text-anchor="end" fill="#1d2230">{html.escape(work)}</text>')
        for bar, (seconds, ink, who) in enumerate(((ours, "#2f5fb3", "Trilith"), (theirs, "#c9ced9", name))):
            end = max(x(seconds), left + 2)
            parts.append(f'<rect x="{left}" y="{y + bar * 16}" width="{end - left:.1f}" height="14" rx="2" fill="{ink}"/>')
            parts.append(f'<text x="{end + 5:.1f}" y="{y + bar * 16 + 11}" font-size="11" fill="#5c6475">{seconds:g} s {html.escape(who)}</text>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" '
        f'font-family="system-ui, sans-serif" font-size="12.5"><title>Seconds of whole processes</title>'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="{left}" y="18" font-weight="bold" fill="#1d2230">Seconds of whole processes (logarithmic scale, shorter is faster)</text>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


NOTEBOOK = [
    'f = trilith.open("observation.asdf")\nf',
    'f["observation/catalogue"]',
]


def notebook(folder, chromium):
    """Makes the picture of a notebook with a file and a table."""
    import numpy
    import trilith

    os.chdir(folder)
    names, cells_html = {"trilith": trilith, "numpy": numpy}, []
    for number, source in enumerate(NOTEBOOK, 1):
        *first, last = source.split("\n")
        exec("\n".join(first), names)
        value = eval(last, names)
        shown = value._repr_html_() if hasattr(value, "_repr_html_") else f"<pre>{html.escape(repr(value))}</pre>"
        cells_html.append(
            f'<div class="cell"><span class="in">In [{number}]:</span><pre class="code">{html.escape(source)}</pre></div>'
            f'<div class="cell"><span class="out">Out[{number}]:</span><div class="result">{shown}</div></div>'
        )
    style = (
        "body{margin:16px;font:14px/1.4 system-ui,sans-serif;background:#fff;color:#1d2230}.cell{display:flex;gap:10px;margin:6px 0}"
        ".in,.out{width:64px;text-align:right;font:12.5px ui-monospace,monospace;flex:none;padding-top:8px;color:#2f5fb3}.out{color:#b3261e}"
        ".code{flex:1;background:#f2f4f8;border:1px solid #d8dce5;border-radius:4px;padding:8px;margin:0;font:12.5px ui-monospace,monospace}"
        ".result{flex:1;padding:6px}ul{margin:4px 0}pre{margin:0}"
    )
    page = folder / "notebook.html"
    page.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{''.join(cells_html)}")
    subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1", "--window-size=860,1240",
         f"--screenshot={IMAGES / 'notebook.png'}", page.as_uri()],
        check=True, stderr=subprocess.DEVNULL,
    )


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    words.add_argument("program", help="the command trilith")
    words.add_argument("--notebook", metavar="CHROMIUM", help="also the picture of a notebook, by this browser")
    given = words.parse_args()
    program = str(pathlib.Path(given.program).resolve())
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([program, "--quiet", "tour", "."], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        shutil.copy(folder / "observation.asdf", folder / "mine.asdf")
        (folder / "filters.yaml").write_text(SCHEMA)
        for picture, (before, shown) in TERMINALS.items():
            for command in before:
                subprocess.run([program, *command], cwd=folder, check=True)
            blocks = [(command, terminal_output(program, command, folder)) for command in shown]
            (IMAGES / f"{picture}.svg").write_text(terminal_svg(blocks))
        (IMAGES / "speed.svg").write_text(speed_chart())
        if given.notebook:
            notebook(folder, given.notebook)


if __name__ == "__main__":
    sys.exit(main())
