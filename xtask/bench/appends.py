"""Single records that are appended to files as they grow: whether the time grows linearly."""

import subprocess

from harness import Table


def tables(bench):
    """What `benches/append_speed.rs` measures: CPU seconds of all appends up to a quarter, a half and the whole of them."""
    count = "10000" if bench.small else "100000"
    command = ["cargo", "bench", "--locked", "--quiet", "--package", "trilith", "--bench", "append_speed", "--", count]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split(": ", 1) for line in said.splitlines()]
    return [Table(f"{count} appends of one record each, in CPU seconds", ["to", "appends: seconds"], rows)]
