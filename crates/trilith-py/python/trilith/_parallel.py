"""An array of a file that many processes write, as something to be assigned to."""


class Target:
    """An array of `trilith.ParallelWriter`: regions of it are assigned, and it can be pickled.

    dask's `store(array, target, lock=False)` writes each chunk where it was computed.
    """

    def __init__(self, writer, path, known):
        self._writer, self._path = writer, path
        self.shape, self.dtype = known

    @property
    def ndim(self):
        """Returns the number of axes."""
        return len(self.shape)

    def __setitem__(self, region, data):
        self._writer.write_region(self._path, region, data)

    def __reduce__(self):
        return Target, (self._writer, self._path, (self.shape, self.dtype))

    def __repr__(self):
        return f"<{self._path} of {self._writer!r}: {self.dtype} {self.shape}>"
