"""`%%pxl` for IPython and Jupyter: cells of pxl between cells of Python. `%load_ext pxl` makes it known."""
import itertools

from IPython.core.magic import Magics, cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from . import from_text


def names_of(given):
    return [name.strip() for names in given or [] for name in names.split(",") if name.strip()]


@magics_class
class PxlMagics(Magics):
    def __init__(self, shell):
        super().__init__(shell)
        self.program = None
        self.numbers = itertools.count(1)

    @magic_arguments()
    @argument("-i", "--input", action="append", metavar="NAMES", help="variables of Python that the cell sees: -i x,y")
    @argument("-o", "--output", action="append", metavar="NAMES", help="names of the cell that become variables of Python")
    @argument("-r", "--reset", action="store_true", help="forget what earlier cells have bound")
    @cell_magic
    def pxl(self, line, cell):
        """Runs a cell of pxl. Its names stay for later cells; the value of a final expression is the cell's."""
        given = parse_argstring(self.pxl, line)
        if self.program is None or given.reset:
            self.program = from_text("", title="<cells>")
        try:
            inputs = {name: self.shell.user_ns[name] for name in names_of(given.input)}
        except KeyError as missing:
            raise NameError(f"-i: no variable named {missing.args[0]!r}") from None
        value = self.program.eval(cell, title=f"<pxl cell {next(self.numbers)}>", **inputs)
        for name in names_of(given.output):
            self.shell.user_ns[name] = self.program.eval(name)
        return value


def load_ipython_extension(shell):
    shell.register_magics(PxlMagics)
