// The tokens of pxl. The grammar has no actions. interpreter/syntax/{layout,roles}.cpp decides what depends on context,
// and retypes tokens to the ones listed first here. That is: which newlines end a statement, block or dict brace, words
// after a dot, declaring words, the end of an interpolation.
lexer grammar PxlLexer;

tokens {
  BLOCK_OPEN, BLOCK_CLOSE, DICT_OPEN, DICT_CLOSE, INTERPOLATION_CLOSE, FORMAT_COLON, TRAILING_COMMA,
  LAMBDA_OPEN, LAMBDA_NAME, ARGUMENT_NAME, ELSE_IF, TRY_BLOCK,
  PARAM, STATE, NEXT, PROGRAM, RECORD, REF, STREAM, OUT, VARIABLE, CONSTANT, OPTION, OUTLINED, TEST, BUILD
}

AND: 'and'; OR: 'or'; NOT: 'not'; IF: 'if'; ELSE: 'else'; FOR: 'for'; IN: 'in'; IS: 'is'; WHILE: 'while'; BREAK: 'break';
CONTINUE: 'continue'; RETURN: 'return'; DEF: 'def'; WITH: 'with'; AS: 'as'; FROM: 'from'; IMPORT: 'import';
ASSERT: 'assert'; PASS: 'pass'; NONLOCAL: 'nonlocal'; TRUE: 'true'; FALSE: 'false'; NONE: 'none'; MODULE: 'module';
TRY: 'try'; CATCH: 'catch'; FINALLY: 'finally';
// Reserved for later; each has a message of its own.
LATER: 'except' | 'raise' | 'lambda' | 'class' | 'let' | 'yield' | 'del' | 'global' | 'elif'
     | 'async' | 'await' | 'match';

FSTRING_OPEN: [fF] '"' -> pushMode(TEXT_DOUBLE);
FSTRING_OPEN_SINGLE: [fF] '\'' -> type(FSTRING_OPEN), pushMode(TEXT_SINGLE);
FSTRING_OPEN_TRIPLE: [fF] '"""' -> type(FSTRING_OPEN), pushMode(TEXT_TRIPLE_DOUBLE);
FSTRING_OPEN_TRIPLE_SINGLE: [fF] '\'\'\'' -> type(FSTRING_OPEN), pushMode(TEXT_TRIPLE_SINGLE);

STRING: [rR]? ('"' IN_DOUBLE* '"' | '\'' IN_SINGLE* '\'' | '"""' IN_TRIPLE_DOUBLE* '"""' | '\'\'\'' IN_TRIPLE_SINGLE* '\'\'\'');
BROKEN_STRING: [rR]? ('"' IN_DOUBLE* '\\'? | '\'' IN_SINGLE* '\\'?);
BROKEN_TRIPLE: [rR]? ('"""' IN_TRIPLE_DOUBLE* '"'? '"'? '\\'? | '\'\'\'' IN_TRIPLE_SINGLE* '\''? '\''? '\\'?);
BAD_PREFIX: ([rR] [fF] | [fF] [rR] | [bBuU] [rR]? | [rR] [bB]) ["'];

FLOAT: DIGITS '.' DIGITS? EXPONENT? | '.' DIGITS EXPONENT? | DIGITS EXPONENT;
INT: '0' ('_'? '0')* | [1-9] ('_'? [0-9])* | '0' [xX] ('_'? [0-9a-fA-F])+ | '0' [bB] ('_'? [01])+ | '0' [oO] ('_'? [0-7])+;
BAD_NUMBER: [0-9] [0-9a-zA-Z_]*;
NAME: LETTER (LETTER | [0-9\u0300])*;

ARROW: '=>'; RESULT: '->'; ELLIPSIS: '...';
LPAREN: '('; RPAREN: ')'; LBRACKET: '['; RBRACKET: ']'; LBRACE: '{'; RBRACE: '}';
COMMA: ','; COLON: ':'; DOT: '.';
PLUS: '+'; MINUS: '-'; STAR: '*'; POWER: '**'; SLASH: '/'; FLOOR: '//'; PERCENT: '%'; AT: '@';
AMPERSAND: '&'; BAR: '|'; CARET: '^'; TILDE: '~'; SHIFT_LEFT: '<<'; SHIFT_RIGHT: '>>';
EQUAL: '=='; NOT_EQUAL: '!='; LESS: '<'; LESS_EQUAL: '<='; GREATER: '>'; GREATER_EQUAL: '>=';
ASSIGN: '=';
UPDATE: '+=' | '-=' | '*=' | '/=' | '//=' | '%=' | '@=' | '**=' | '&=' | '|=' | '^=' | '<<=' | '>>=';
BANG: '!';
// Tokens that other languages have and pxl has not; refused with a message that names the pxl form.
DOUBLED: '++' | '--';
HABIT: '&&' | '||' | ';' | '?' | '$' | '`' | '\\';

DOC: '##' (~[#\r\n] ~[\r\n]*)? -> channel(HIDDEN);
COMMENT: '#' ~[\r\n]* -> channel(HIDDEN);
NEWLINE: '\r'? '\n' | '\r';
SPACE: [ \t\f]+ -> skip;
UNKNOWN: .;

fragment DIGITS: [0-9] ('_'? [0-9])*;
fragment EXPONENT: [eE] [+-]? DIGITS;
// The lexer gets U+00AA for every letter beyond ASCII, and U+0300 for every other character that names may contain.
// Sets of all these characters would be built at each start (interpreter/syntax/raw_lexer.cpp).
fragment LETTER: [a-zA-Z_\u00AA];
fragment ESCAPED: '\\' ('\r' '\n' | .);
fragment IN_DOUBLE: ~["\\\r\n] | ESCAPED;
fragment IN_SINGLE: ~['\\\r\n] | ESCAPED;
fragment IN_TRIPLE_DOUBLE: '"'? '"'? (~["\\] | ESCAPED);
fragment IN_TRIPLE_SINGLE: '\''? '\''? (~['\\] | ESCAPED);

mode TEXT_DOUBLE;
FTEXT: (~["\\{}\r\n] | ESCAPED | '{{' | '}}')+;
FSTRING_CLOSE: '"' -> popMode;
INTERPOLATION_OPEN: '{' -> pushMode(DEFAULT_MODE);
STRAY_BRACE: '}';
TEXT_NEWLINE: '\r'? '\n' | '\r';
TEXT_UNKNOWN: . -> type(UNKNOWN);

mode TEXT_SINGLE;
S_TEXT: (~['\\{}\r\n] | ESCAPED | '{{' | '}}')+ -> type(FTEXT);
S_CLOSE: '\'' -> type(FSTRING_CLOSE), popMode;
S_OPEN: '{' -> type(INTERPOLATION_OPEN), pushMode(DEFAULT_MODE);
S_STRAY: '}' -> type(STRAY_BRACE);
S_NEWLINE: ('\r'? '\n' | '\r') -> type(TEXT_NEWLINE);
S_UNKNOWN: . -> type(UNKNOWN);

mode TEXT_TRIPLE_DOUBLE;
TD_TEXT: (~["\\{}] | ESCAPED | '{{' | '}}')+ -> type(FTEXT);
TD_CLOSE: '"""' -> type(FSTRING_CLOSE), popMode;
TD_QUOTE: '"' -> type(FTEXT);
TD_OPEN: '{' -> type(INTERPOLATION_OPEN), pushMode(DEFAULT_MODE);
TD_STRAY: '}' -> type(STRAY_BRACE);
TD_UNKNOWN: . -> type(UNKNOWN);

mode TEXT_TRIPLE_SINGLE;
TS_TEXT: (~['\\{}] | ESCAPED | '{{' | '}}')+ -> type(FTEXT);
TS_CLOSE: '\'\'\'' -> type(FSTRING_CLOSE), popMode;
TS_QUOTE: '\'' -> type(FTEXT);
TS_OPEN: '{' -> type(INTERPOLATION_OPEN), pushMode(DEFAULT_MODE);
TS_STRAY: '}' -> type(STRAY_BRACE);
TS_UNKNOWN: . -> type(UNKNOWN);

// After the `:` of an interpolation; the token source pushes and pops this mode.
mode FORMAT;
FORMAT_TEXT: ~[{}\r\n]+ -> type(FTEXT);
FORMAT_OPEN: '{' -> type(INTERPOLATION_OPEN), pushMode(DEFAULT_MODE);
FORMAT_CLOSE: '}' -> type(RBRACE);
FORMAT_NEWLINE: ('\r'? '\n' | '\r') -> type(TEXT_NEWLINE);
