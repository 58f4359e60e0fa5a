/* Prints the position of a pixel of an image on the sky, and the pixel of that position: sky FILE PATH X Y */
#include <stdio.h>
#include <stdlib.h>
#include "trilith.h"

static trilith_error *error;

static void check(int32_t status) {
    if (status != TRILITH_OK) {
        fprintf(stderr, "%s\n", trilith_error_message(error));
        exit(1);
    }
}

int main(int argc, char **argv) {
    trilith_file *file;
    trilith_wcs *wcs;
    const char *name, *unit;
    char *header;
    double pixel[2], sky[2], corners[8];
    int32_t is_inside;

    if (argc < 5) return fprintf(stderr, "usage: sky FILE PATH X Y\n"), 2;
    pixel[0] = atof(argv[3]), pixel[1] = atof(argv[4]);
    check(trilith_open(argv[1], NULL, &file, &error));
    check(trilith_wcs_open(file, argv[2], &wcs, &error));
    if (trilith_wcs_pixel_ndim(wcs) != 2 || trilith_wcs_world_ndim(wcs) != 2) return 2;

    check(trilith_wcs_pixel_to_world(wcs, 1, pixel, sky, 0, &error));
    for (size_t axis = 0; axis < 2; axis++) {
        check(trilith_wcs_axis(wcs, axis, &name, &unit, NULL, &error));
        printf("%s %.9f %s\n", name, sky[axis], unit);
    }
    check(trilith_wcs_contains(wcs, sky[0], sky[1], &is_inside, &error));
    check(trilith_wcs_world_to_pixel(wcs, 1, sky, pixel, 0, &error));
    check(trilith_wcs_footprint(wcs, corners, &error));
    printf("pixel %.6f %.6f, inside %d, corner %.6f %.6f\n", pixel[0], pixel[1], (int)is_inside, corners[0], corners[1]);
    check(trilith_wcs_fits_header(wcs, 0, 0.0, &header, &error));
    printf("%.30s\n", header);
    trilith_string_free(header);
    trilith_wcs_free(wcs);
    trilith_close(file);
    return 0;
}
