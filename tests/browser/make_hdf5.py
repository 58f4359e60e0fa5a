"""Makes run.h5, the HDF5 file that the tests of the viewer open: `python make_hdf5.py`. It needs h5py."""

import pathlib

import h5py
import numpy

LAT, LON, TIMES = numpy.linspace(46, 48, 41), numpy.linspace(6, 9, 61), 200


def main():
    path = pathlib.Path(__file__).with_name("run.h5")
    with h5py.File(path, "w", track_order=True, libver="latest") as file:
        file.attrs["title"] = "Simulated lake temperatures"
        file.attrs["institution"] = "Example University"
        lat, lon = file.create_dataset("lat", data=LAT), file.create_dataset("lon", data=LON)
        time = file.create_dataset("time", data=numpy.arange(TIMES) * 0.5)
        for scale, unit in ((lat, "degrees_north"), (lon, "degrees_east"), (time, "hours")):
            scale.attrs["units"] = unit
            scale.make_scale(scale.name.strip("/"))
        image = 280 + 10 * numpy.exp(-((LAT[:, None] - 46.4) ** 2) * 20 - ((LON[None, :] - 6.6) ** 2) * 8)
        temperature = file.create_dataset("temperature", data=image.round(2).astype("float32"), compression="gzip")
        temperature.attrs["units"] = "K"
        temperature.attrs["long_name"] = "surface temperature"
        temperature.attrs["valid_range"] = numpy.array([270.0, 300.0])
        temperature.dims[0].attach_scale(lat)
        temperature.dims[1].attach_scale(lon)
        series = 285 + 3 * numpy.sin(numpy.arange(TIMES) * 0.26)
        station = file.create_dataset("station", data=series.round(2).astype("float32"), compression="gzip")
        station.attrs["units"] = "K"
        station.dims[0].attach_scale(time)
        run = file.create_group("run", track_order=True)
        run.attrs["code"] = "lake 2.1"
        rows = numpy.zeros(12, [("id", "i4"), ("depth", "f4"), ("name", "S6")])
        rows["id"], rows["depth"] = numpy.arange(12), numpy.arange(12) * 2.5
        rows["name"] = [b"buoy%d" % number for number in range(12)]
        run.create_dataset("buoys", data=rows)


if __name__ == "__main__":
    main()
