"""The viewer in a notebook: the server of `trilith view`, in a frame."""

import atexit
import html
import os
import subprocess
import sys
from collections import abc

from ._trilith import File


class View:
    """A viewer that a notebook shows in a frame. It ends with this process, or with `close()`."""

    address: str

    def __init__(self, words: abc.Iterable[str], height: int, origin: str) -> None:
        # Its standard input is held open by this process: when that ends, however it does, so does the server.
        command = [sys.executable, "-m", "trilith", "view", "--no-browser", "--embed", "--origin", origin, "--", *words]
        self._child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self._child.stdout.readline().decode().strip()
        if not self.address:
            message = self._child.stderr.read().decode(errors="replace").strip().removeprefix("trilith: ")
            self.close()
            raise ValueError(message)
        self._height = int(height)
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server.

        Examples
        --------
        >>> import pathlib, tempfile, trilith
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.asdf"
        >>> trilith.write(path, {"a": [1, 2]})
        >>> viewer = trilith.view(path)
        >>> viewer.close()
        """
        if self._child.poll() is None:
            self._child.stdin.close()
            try:
                self._child.wait(5)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()
        for pipe in (self._child.stdout, self._child.stderr):
            pipe.close()

    def _repr_html_(self):
        address = html.escape(self.address, quote=True)
        return f'<iframe src="{address}" width="100%" height="{self._height}" style="border: 0" title="Trilith"></iframe>'

    def __repr__(self):
        return f"<trilith view at {self.address}>"


def view(*files: File | str | os.PathLike[str], height: int = 600, origin: str = "auto") -> View:
    """Shows files in the viewer.

    A notebook shows the viewer in a frame. The browser must be on the same machine as this process.

    Parameters
    ----------
    *files : File, str or os.PathLike
        Open files, paths, URLs or folders. A path may end in `#` and the path of the item to begin with.
    height : int
        Height of the frame in a notebook, in pixels.
    origin : {"auto", "upper", "lower"}
        Place of the first row of images. "auto" is the bottom for images of FITS files and arrays with coordinates on the
        sky, else the top.

    Returns
    -------
    View
        Its `address` is the URL for a browser.

    Raises
    ------
    ValueError
        If there is no file, or if the server cannot open one.

    Examples
    --------
    >>> import pathlib, tempfile, trilith
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "x.asdf"
    >>> trilith.write(path, {"a": [1, 2]})
    >>> viewer = trilith.view(path)
    >>> viewer.address.startswith("http://127.0.0.1:")
    True
    >>> viewer.close()
    """
    words = [_name(file) for file in files]
    if not words:
        raise ValueError("cannot show the viewer: no file was given; give an open file, a path or a URL")
    return View(words, height, origin)


def _name(file):
    name = getattr(file, "name", None)
    return os.fspath(file) if not isinstance(name, str) or isinstance(file, os.PathLike) else name
