"""An item that cannot be read raises when it is asked for; the others are there."""

import numpy
import pytest
import trilith


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "x.npz"
    numpy.savez(path, good=numpy.arange(3), bad=numpy.array([{1: 2}, None], dtype=object))
    return path


@pytest.fixture
def image(tmp_path):
    """A FITS file whose HDU 1 has a scale that is not a number."""
    header = [b"XTENSION= 'IMAGE   '", b"BITPIX  = 8", b"NAXIS   = 1", b"NAXIS1  = 3", b"BSCALE  = 'abc'", b"END"]
    primary = [b"SIMPLE  = T", b"BITPIX  = 8", b"NAXIS   = 1", b"NAXIS1  = 3", b"END"]
    path = tmp_path / "x.fits"
    blocks = [b"".join(card.ljust(80) for card in cards).ljust(2880) + b"\1\2\3".ljust(2880, b"\0") for cards in (primary, header)]
    path.write_bytes(b"".join(blocks))
    return path


def test_the_others_can_be_read(archive, image):
    with trilith.open(archive) as file:
        assert file["good"].tolist() == [0, 1, 2]
        with pytest.raises(NotImplementedError, match="numpy datatype"):
            file["bad"]
    with trilith.open(image) as file:
        assert file["fits/0/data"].tolist() == [1, 2, 3]
        with pytest.raises(trilith.FormatError, match="BSCALE"):
            numpy.asarray(file["fits/1/data"])


def test_nothing_is_dropped_without_a_word(archive, tmp_path):
    with pytest.raises(NotImplementedError, match="skip_unreadable"):
        trilith.convert(archive, tmp_path / "x.asdf")
    assert not (tmp_path / "x.asdf").exists()
    (left_out,) = trilith.convert(archive, tmp_path / "x.asdf", skip_unreadable=True)
    assert left_out.startswith("/bad: ")
    with trilith.open(tmp_path / "x.asdf") as file:
        assert file["good"].tolist() == [0, 1, 2]
        assert "bad" not in file


def test_zarr_leaves_out_what_cannot_be_read(archive):
    pytest.importorskip("zarr")
    with pytest.warns(UserWarning, match="bad is left out"):
        group = trilith.zarr.open(archive)
    assert "bad" not in group
    assert "bad" not in group.attrs


def test_xarray_leaves_out_what_cannot_be_read(archive):
    xarray = pytest.importorskip("xarray")
    with pytest.warns(UserWarning, match="bad is left out"):
        dataset = xarray.open_dataset(archive, engine="trilith")
    assert list(dataset) == ["good"]
