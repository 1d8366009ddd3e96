"""The type of options that name a format."""

import click
from click.shell_completion import CompletionItem


class FormatName(click.ParamType[str]):
    """The name of a format, which the shell can complete."""

    name = "format"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from memglot.formats import registry

        return [CompletionItem(name) for name in registry.names() if name.startswith(incomplete)]
