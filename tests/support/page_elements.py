"""The elements of a page, for tests of what it holds."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """A page or a part of one: its tags with their attributes, and its text.

    Every element must be closed, in order, and none may have a handler of events.
    """

    VOID = ("meta", "br", "img", "link", "hr", "input", "col")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    @property
    def names(self) -> list[str]:
        """The names of the tags."""
        return [name for name, _ in self.tags]

    def values(self, *attributes: str) -> list[str | None]:
        """Return the values of these attributes of all tags."""
        return [value for _, own in self.tags for name, value in own.items() if name in attributes]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs), attrs
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open, tag
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
