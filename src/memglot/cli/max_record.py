"""The option `--max-record` of commands that read files."""

import click

max_record_option = click.option(
    "--max-record",
    metavar="SIZE",
    help="Maximum size of one memory, such as `100MB` or `1G`; larger ones are not read (default: 64MiB).",
)
