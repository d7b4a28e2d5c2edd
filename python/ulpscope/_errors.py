"""What the recorder raises."""


class RecorderError(RuntimeError):
    """Says what went wrong, in which recording, and what to do."""

    def __init__(self, text):
        super().__init__(printable(text))


def printable(text):
    """Names of files may hold what a terminal obeys."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
