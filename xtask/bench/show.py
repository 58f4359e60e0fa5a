"""A picture of 1024 pixels of 4088 x 4088 float32, beside Python: asdf, astropy's zscale and matplotlib. And the statistics of it."""

from harness import Work

PICTURE = """
import sys, warnings
warnings.simplefilter("ignore")
import asdf, numpy as np
from astropy.visualization import ZScaleInterval
import matplotlib.image
with asdf.open(sys.argv[1]) as f:
    data = np.asarray(f["data"])
    low, high = ZScaleInterval().get_limits(data)
    small = data[:4096 // 4 * 4, :4096 // 4 * 4].reshape(1022, 4, 1022, 4).mean((1, 3))
matplotlib.image.imsave(sys.argv[2], small, vmin=low, vmax=high, cmap="viridis")
"""
STATISTICS = """
import sys, warnings
warnings.simplefilter("ignore")
import asdf, numpy as np
with asdf.open(sys.argv[1]) as f:
    data = np.asarray(f["data"])
    print(data.min(), data.max(), data.mean(dtype="f8"), data.std(dtype="f8"))
    print(np.percentile(data, [1, 5, 25, 50, 75, 95, 99]), np.histogram(data, bins=100))
"""


def make_picture(path, codec):
    import asdf
    import numpy as np

    data = np.random.default_rng(0).normal(100, 5, (4088, 4088)).astype("f4")
    data[::100, ::100] += 1e4
    asdf.AsdfFile({"data": data}).write_to(path, all_array_compression=None if codec == "none" else codec)


def works(bench):
    found = []
    for codec in ("lz4", "none"):
        path = bench.file(f"picture-{codec}.asdf", make_picture, codec)
        out = bench.out / "picture.png"
        ours = [bench.program, "show", f"{path}#/data", "--cmap", "viridis", "-o", out]
        commands = {"trilith": ours, "Python": bench.python(PICTURE, path, out)}
        what = f"zscale and a PNG of 1024 pixels, {codec}"
        found.append(Work(f"show-{codec}", what, commands, wants={"Python": 3}, count=True))
        ours = [bench.program, "stats", f"{path}#/data", "--bins", 100]
        commands = {"trilith": ours, "Python": bench.python(STATISTICS, path)}
        found.append(Work(f"stats-{codec}", f"moments, 7 percentiles, 100 bins, {codec}", commands, wants={"Python": 3}, count=True))
    return found
