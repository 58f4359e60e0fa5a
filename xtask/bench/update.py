"""`update()` of one value in a file like one of the Roman telescope: the call alone, by a program that knows only `asdf`."""

import sys

from harness import Work

SETTING = """
import asdf, contextlib, json, re, resource, shutil, sys, time
source, path = sys.argv[1:]
shutil.copyfile(source, path)

def memory(name):
    with open("/proc/self/status") as f:
        return int(re.search(name + r":\\s*(\\d+) kB", f.read())[1]) / 1024

def measured():
    with asdf.open(path, mode="rw") as f:
        f["roman"]["meta"]["exposure"]["exposure_time"] = 140.5
        with open("/proc/self/clear_refs", "w") as reset:
            reset.write("5")
        held, start = memory("VmRSS"), (time.process_time(), time.perf_counter())
        f.update()
        done = {"cpu_s": time.process_time() - start[0], "wall_s": time.perf_counter() - start[1]}
        done["peak_mib"] = max(0.0, memory("VmHWM") - held)
    with asdf.open(path) as f:
        assert f["roman"]["meta"]["exposure"]["exposure_time"] == 140.5 and f["roman"]["data"].shape[1] > 1000
    print(json.dumps(done))
"""
OURS = "import trilith.asdf\nwith trilith.asdf.everywhere(write=True):\n    measured()\n"


def image(path, side):
    """An image of 4088 x 4088 with its errors and flags, in lz4 as the archive stores it: 104 MB."""
    import asdf
    import numpy as np

    rng = np.random.default_rng(8)
    side = int(side)
    counts = rng.normal(100, 5, (side, side)).astype("f4")
    meta = {f"step_{n}": {"name": f"step {n}", "version": "1.2.0", "done": n % 2 == 0} for n in range(150)}
    meta["exposure"] = {"exposure_time": 139.8, "start_time": "2028-03-01T04:05:06", "type": "WFI_IMAGE"}
    roman = {"meta": meta, "data": counts, "err": np.sqrt(counts).astype("f2"), "dq": (rng.random((side, side)) < 0.01).astype("u4")}
    asdf.AsdfFile({"roman": roman}).write_to(path, all_array_compression="lz4")


def works(bench):
    source = bench.file(f"roman-{1022 if bench.small else 4088}.asdf", image, 1022 if bench.small else 4088)
    commands = {
        who: [sys.executable, "-W", "ignore", "-c", SETTING + code, source, bench.out / "x.asdf"]
        for who, code in (("trilith", OURS), ("asdf", "measured()"))
    }
    what = "update() of one value in a Roman file: the call alone, MiB beyond what was held"
    yield Work("update-one", what, commands, inner=True, most={"cpu_s": 0.02, "peak_mib": 100})
