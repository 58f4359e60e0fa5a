"""Decoding into a warm buffer: all threads, one thread, and the library by itself. Wall time, so on quiet cores only."""

from harness import Work

MEGABYTES = {"bzp2": 32}


def works(bench):
    peer, all_of_it = bench.peer("decode"), 64 if bench.small else 256

    def work(codec, blocks=1, wants=None):
        size = min(all_of_it, MEGABYTES.get(codec, all_of_it))
        commands = {who: [peer, who, codec, size, blocks] for who in ("trilith", "one", "library")}
        if codec == "none":
            del commands["one"]
        what = f"{size} MiB of noisy float32 in {blocks} block{'s' * (blocks > 1)} of {codec}, best of 3"
        name = f"decode-{codec}" + (f"-{blocks}" if blocks > 1 else "")
        return Work(name, what, commands, inner=True, by="wall_s", wants={"library": wants} if wants else {})

    # 0.8 times two cores; one stream of zlib is bound to one.
    return [
        work("none"),
        work("lz4", wants=1.6),
        work("blsc", wants=1.6),
        work("zstd", wants=1.6),
        work("bzp2", wants=1.6),
        work("zlib", wants=0.95),
        work("zlib", 16, 1.6),
        work("lz4", 16, 1.6),
    ]
