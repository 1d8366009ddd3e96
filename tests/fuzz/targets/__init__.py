"""Fuzz targets: one file each, with `try_one(data)` and `SEEDS`.

`try_one` returns for any bytes; it catches memglot's own errors, and any other error is a finding.
"""
