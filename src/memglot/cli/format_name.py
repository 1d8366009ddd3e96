"""Types of options that a shell can complete."""

import click
from click.shell_completion import CompletionItem


class FormatName(click.ParamType[str]):
    """The name of a format. It is looked up by the engine, which knows the plugins too."""

    name = "format"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from memglot.formats import registry

        return [CompletionItem(name) for name in registry.names() if name.startswith(incomplete)]
