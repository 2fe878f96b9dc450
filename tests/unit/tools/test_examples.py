"""Every command line in the documents and in the help, which the reference repeats, is one that becalm understands."""

import contextlib
import io

import click
import pytest
from tests.support.examples import examples, examples_of

from becalm.cli.main import becalm

EXAMPLES = [example for example in examples() if not example.text.endswith(" …")]
INCOMPLETE = ("Missing", "requires an argument")
"""The beginnings and ends of messages about a mention in a sentence, such as `becalm tune --factor`."""


def understand(command, words, name="becalm", parent=None):
    """Parse the words as a command line; raise click.UsageError for an unknown option or word."""
    try:
        context = command.make_context(name, list(words), parent=parent)
    except (click.exceptions.Exit, click.exceptions.NoArgsIsHelpError):
        return
    if isinstance(command, click.Group) and (rest := [*context._protected_args, *context.args]):
        name, inner, words = command.resolve_command(context, rest)
        understand(inner, words, name, context)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_every_example_is_understood(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # It would start the programs of the package.
    monkeypatch.setattr("becalm.version_report", lambda: "")
    (tmp_path / "bench.toml").write_text('budget = "20min"\n')
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            understand(becalm, example.words)
    except click.UsageError as error:
        message = error.format_message()
        if example.block or not any(text in message for text in INCOMPLETE):
            raise


def test_words_end_at_a_comment_a_pipe_or_a_redirection():
    text = """
```
$ becalm run -- 'a b' | jq .x
becalm reset     is what the output says
```
```
becalm list   # all
becalm export 1 > f
```
and `sudo becalm reset --all`
"""
    assert [(example.words, example.block) for example in examples_of("x.md", text)] == [
        (("run", "--", "a b"), True),
        (("list",), True),
        (("export", "1"), True),
        (("reset", "--all"), False),
    ]


def test_an_unknown_option_is_not_understood():
    with pytest.raises(click.UsageError, match="No such option"):
        understand(becalm, ("run", "--no-such-option", "--", "true"))
