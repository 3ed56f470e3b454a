"""The exceptions of pxl."""


class Error(Exception):
    """An error in a program, as the command prints it: the place, the message, the line with a caret, notes.

    The attributes are those of the first diagnostic; `diagnostics` has all of them, as dicts. `line` is 0 if the error has
    no place in a text; `place` is then None, and otherwise "FILE:LINE:COLUMN". `data` is what the program's `fail` gave."""

    def __init__(self, text, diagnostics):
        super().__init__(text)
        self.diagnostics = diagnostics
        first = diagnostics[0]
        self.kind = first["kind"]
        self.message = first["message"]
        self.file = first["file"]
        self.line = first["line"]
        self.column = first["column"]
        self.notes = first["notes"]
        self.data = first.get("data")
        self.place = f"{self.file}:{self.line}:{self.column}" if self.line else None

    def __str__(self):
        return self.args[0].rstrip("\n")

    def __reduce__(self):
        return type(self), (self.args[0], self.diagnostics)

    def _render_traceback_(self):
        """What IPython shows: the error in the program, without the calls inside this module."""
        return str(self).splitlines()


class Cancelled(Error):
    """A call was ended by `Session.cancel`."""


class MissingName(Error, KeyError):
    """A session has no variable of this name."""
