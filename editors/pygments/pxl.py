"""A lexer of pxl for Pygments, with which nbconvert and the book colour programs.

`pygmentize -x -l editors/pygments/pxl.py:PxlLexer net.pxl` colours a file.
"""
from pygments.lexer import RegexLexer, bygroups, words
from pygments.token import Comment, Error, Keyword, Name, Number, Operator, Punctuation, String, Text

RESERVED = ("if", "else", "for", "while", "break", "continue", "return", "with", "as", "assert", "pass", "nonlocal", "from", "import",
            "def", "module", "try", "catch", "finally")
OPERATORS = ("and", "or", "not", "in", "is")
CONSTANTS = ("true", "false", "none")
LATER = ("except", "raise", "lambda", "class", "let", "yield", "del", "global", "elif", "async", "await", "match")
DECLARING = ("program", "record", "param", "state", "next", "stream", "variable", "constant", "option", "outlined")
DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8_143", "float8_152", "float8_e4m3fn",
          "float8_e5m2", "float16", "bfloat16", "float32", "float64")


class PxlLexer(RegexLexer):
    name = "pxl"
    aliases = ["pxl"]
    filenames = ["*.pxl"]
    mimetypes = ["text/x-pxl"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"##.*", String.Doc),
            (r"#.*", Comment.Single),
            (r'[rR]?("""|\'\'\')(?:\\.|(?!\1)[\s\S])*?\1', String),
            (r'[rR]?"(?:\\.|[^"\\\n])*"', String),
            (r"[rR]?'(?:\\.|[^'\\\n])*'", String),
            (r"f(?=[\"'])", String.Affix),
            (r"\b(def|module|record|program)(\s+)([A-Za-z_]\w*)", bygroups(Keyword.Declaration, Text, Name.Class)),
            (r"\b(stream)(\s+)(in|out)(?=\s+[A-Za-z_])", bygroups(Keyword.Declaration, Text, Keyword.Declaration)),
            (r"\b(test)(?=\s+[\"'])", Keyword.Declaration),
            (r"\b(build)(?=\s*\([^{]*\{)", Keyword.Declaration),
            (r"\b(ref)(?=\s+[A-Za-z_])", Keyword.Declaration),
            (words(DECLARING, prefix=r"\b", suffix=r"(?=\s+[A-Za-z_])"), Keyword.Declaration),
            (words(RESERVED, prefix=r"\b", suffix=r"\b"), Keyword),
            (words(OPERATORS, prefix=r"\b", suffix=r"\b"), Operator.Word),
            (words(CONSTANTS, prefix=r"\b", suffix=r"\b"), Keyword.Constant),
            (words(LATER, prefix=r"\b", suffix=r"\b"), Error),
            (words(DTYPES, prefix=r"\b", suffix=r"\b"), Keyword.Type),
            (r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+", Number),
            (r"(\d[\d_]*)?\.\d[\d_]*([eE][+-]?\d+)?|\d[\d_]*\.([eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+", Number.Float),
            (r"\d[\d_]*", Number.Integer),
            (r"[A-Za-z_]\w*(?=\s*\()", Name.Function),
            (r"[A-Za-z_]\w*", Name),
            (r"=>|[-+*/%@&|^~<>=!]+", Operator),
            (r"[()\[\]{},.:;?]", Punctuation),
            (r".", Text),
        ],
    }
