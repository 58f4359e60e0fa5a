"""Settings of Sphinx for the site. `cargo xtask docs` copies the pages into a separate folder next to this file."""

import os
import pathlib
import re

HERE = pathlib.Path(__file__).parent

project = "Trilith"
author = copyright = "the authors of Trilith"
version = release = os.environ.get("TRILITH_VERSION", "")
root_doc = "docs/index"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = f"Trilith {version}".strip()
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_favicon = "_static/icon.svg"
html_css_files = ["style.css"]
myst_heading_anchors = 4
# Pages are checked as GitHub shows them: a link to a folder or to a source file is one there, and text here.
suppress_warnings = ["toc.not_included"]
highlight_language = "none"
# Messages are searched for as they are printed: "--" and straight quotes stay.
smartquotes = False


def is_for_contributors(docname):
    """Whether the page is in the last part of the front page, or next to tests."""
    part = (HERE / "docs/index.md").read_text().partition("## For contributors")[2]
    links = re.findall(r"^- \[[^\]]+\]\(([^)\s]+)\.md\)", part, re.MULTILINE)
    names = {os.path.normpath(f"docs/{link}") for link in links}
    return docname in names or docname.startswith(("tests/", "fuzz/"))


def source_read(app, docname, source):
    """Links to what has no page here become plain text. Pages for contributors are not in the search of users."""
    folder = (HERE / docname).parent

    def link(found):
        mark, text, target = found.groups()
        path = target.split("#")[0]
        if not path or "://" in target or target.startswith("mailto:"):
            return found.group(0)
        there = (folder / path).resolve()
        return found.group(0) if (mark or there.suffix == ".md") and there.exists() else text

    fenced, lines = False, []
    for line in source[0].split("\n"):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        is_code = fenced or line.startswith("    ")
        line = line.replace("```rust,no_run", "```rust")
        lines.append(line if is_code else re.sub(r"(!?)\[([^\]\[]+)\]\(([^)\s]+)\)", link, line))
    front = "---\nno-search: true\n---\n\n" if is_for_contributors(docname) else ""
    source[0] = front + "\n".join(lines)


def setup(app):
    app.connect("source-read", source_read)
