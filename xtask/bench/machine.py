"""What the machine can do at all: the rates that bound all others."""

from harness import Table, measure


def tables(bench):
    program, size, rows = bench.peer("machine"), 256 << 20, []
    bench.ready(program)
    for what, said in (("memcpy", "copy into a warm buffer"), ("fresh", "copy into fresh memory"), ("md5", "MD5 of one stream")):
        seconds = measure([program, what, size], inner=True)["wall_s"]
        rows.append([said, f"{size / seconds / 1e9:.2f}"])
    return [Table("One thread of this machine, best of 5", ["what", "GB/s"], rows)]
