"""Tiles: so many rows at a time that every line of a formula finds them in the cache."""

TILE_BYTES = 2**18                                   # some arrays of this size together fit a core's L2


def tiles(x, granule=1, nbytes=None):
    """Slices over the rows of x: (R, C), TILE_BYTES at a time if not given, in whole granules of rows."""
    rows = granule * max(1, (nbytes or TILE_BYTES) // (x.shape[1] * x.itemsize * granule))
    if 0 < len(x) <= rows:
        return [slice(0, len(x))]
    return [slice(start, min(start + rows, len(x))) for start in range(0, len(x), rows)]
