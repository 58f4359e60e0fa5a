"""Installs the package `trilith` from its sources and a library that is built: `python develop.py PACKAGE LIBRARY`.

What pip makes of a wheel: the modules, what the distribution says of itself (its entry points are how asdf and xarray find it),
and the command.
"""

import pathlib
import shutil
import stat
import sys
import sysconfig
import tomllib

import document_stubs

package, library = map(pathlib.Path, sys.argv[1:])
project = tomllib.loads((package / "pyproject.toml").read_text())["project"]
workspace = tomllib.loads((package.parents[1] / "Cargo.toml").read_text())["workspace"]["package"]
version = workspace["version"]
site = pathlib.Path(sysconfig.get_path("purelib"))

for old in [site / "trilith", *site.glob("trilith-*.dist-info")]:
    shutil.rmtree(old, ignore_errors=True)
shutil.copytree(package / "python/trilith", site / "trilith", ignore=shutil.ignore_patterns("__pycache__"))
(site / "trilith/_trilith.pyi").write_text(document_stubs.documented(package))
shutil.copyfile(library, site / "trilith" / ("_trilith.pyd" if sys.platform == "win32" else "_trilith.abi3.so"))

about = site / f"trilith-{version}.dist-info"
about.mkdir()
lines = ["Metadata-Version: 2.1", "Name: trilith", f"Version: {version}", f"Requires-Python: {project['requires-python']}"]
lines += [f"Requires-Dist: {needed}" for needed in project["dependencies"]]
(about / "METADATA").write_text("\n".join(lines) + "\n")
(about / "INSTALLER").write_text("develop.py\n")
groups = {"console_scripts": project["scripts"], **project["entry-points"]}
(about / "entry_points.txt").write_text(
    "".join(f"[{group}]\n" + "".join(f"{name} = {what}\n" for name, what in found.items()) for group, found in groups.items())
)
installed = [path for folder in (site / "trilith", about) for path in folder.rglob("*") if path.is_file()]
(about / "RECORD").write_text("".join(f"{path.relative_to(site).as_posix()},,\n" for path in [*installed, about / "RECORD"]))

for name, what in project["scripts"].items():
    module, function = what.split(":")
    script = pathlib.Path(sysconfig.get_path("scripts")) / name
    script.write_text(f"#!{sys.executable}\nimport sys\nfrom {module} import {function}\nsys.exit({function}())\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
