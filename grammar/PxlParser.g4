// The rules of pxl. Every decision is made on one token of lookahead: tokens whose meaning depends on context were
// retyped before (see PxlLexer.g4). Operators are one flat list here; interpreter/syntax/nodes/build_operators.cpp holds
// the table of precedences and folds it, in a loop, so that a sum of any length needs no stack.
parser grammar PxlParser;
options { tokenVocab = PxlLexer; }

// A statement may be missing here so that the parser can go on after one that it had to skip; in a good text the token
// source makes one NEWLINE between two statements and none elsewhere.
file: statement? (NEWLINE statement?)* EOF;
block: BLOCK_OPEN statement? (NEWLINE statement?)* BLOCK_CLOSE;

statement
  : simple | ifStatement | forStatement | whileStatement | withStatement | tryStatement | returnStatement | assertStatement
  | importStatement | fromStatement | nonlocalStatement | defStatement | outlinedStatement | moduleStatement | recordStatement | programStatement
  | buildStatement | paramStatement | stateStatement | nextStatement | streamStatement | variableStatement | constantStatement | optionStatement
  | testStatement | BREAK | CONTINUE | PASS
  ;

simple: elements ((ASSIGN elements)+ | UPDATE elements)?;
ifStatement: IF expression block (ELSE_IF IF expression block)* (ELSE block)?;
forStatement: FOR targets IN elements block;
whileStatement: WHILE expression block;
withStatement: WITH withItem (COMMA withItem)* block;
withItem: expression (AS NAME)?;
tryStatement: TRY_BLOCK block (catchClause+ (FINALLY block)? | FINALLY block);
catchClause: CATCH (NAME (COMMA NAME)*)? (AS NAME)? block;
returnStatement: RETURN elements?;
assertStatement: ASSERT expression (COMMA expression)?;
nonlocalStatement: NONLOCAL NAME (COMMA NAME)*;
importStatement: IMPORT path (AS NAME)?;
fromStatement: FROM (relative? path | STRING) IMPORT (importItems | LPAREN importItems RPAREN);
importItems: importItem (COMMA importItem)* TRAILING_COMMA?;
importItem: NAME (AS NAME)?;
path: NAME (DOT NAME)*;
relative: (DOT | ELLIPSIS)+;

// Declarations.
defStatement: DEF NAME parameters resultClause? withClause? block;
outlinedStatement: OUTLINED (defStatement | simple);
moduleStatement: MODULE NAME parameters? block;
recordStatement: RECORD NAME parameters;
programStatement: PROGRAM NAME parameters? withClause? block;
buildStatement: BUILD parameters resultClause? withClause? block;
testStatement: TEST STRING block;
paramStatement: PARAM REF? NAME COLON expression (ASSIGN expression)? optionClause?;
stateStatement: STATE NAME COLON expression ASSIGN expression optionClause?;
nextStatement: NEXT NAME (COMMA NAME)* ASSIGN elements;
streamStatement: STREAM (IN | OUT) NAME (COLON expression)? (ASSIGN expression)?;
variableStatement: VARIABLE NAME COLON expression ASSIGN expression optionClause?;
constantStatement: CONSTANT NAME COLON expression ASSIGN expression;
optionStatement: OPTION NAME COLON expression (ASSIGN expression)?;
resultClause: RESULT expression (COMMA expression)*;
withClause: WITH withItem (COMMA withItem)*;
optionClause: WITH optionItem (COMMA optionItem)*;
optionItem: NAME ASSIGN expression;
parameters: LPAREN parameterList? RPAREN;
parameterList: parameter (COMMA parameter)* TRAILING_COMMA?;
// A bare star: the parameters after it are given by name.
parameter: ((STAR | POWER) (NAME | ARGUMENT_NAME)? | REF? (NAME | ARGUMENT_NAME)) (COLON expression)? (ASSIGN expression)?;

// Expressions.
elements: element (COMMA element)* TRAILING_COMMA?;
element: STAR operation | expression;
// A lambda or a `try` takes the whole rest as its value.
expression: (lambdaHead | tryHead)* operation (IF operation ELSE (lambdaHead | tryHead)* operation)*;
// An operation: the `if` of a conditional before this `else` would be another one.
tryHead: TRY operation ELSE;
lambdaHead: LAMBDA_OPEN parameterList? RPAREN ARROW | LAMBDA_NAME ARROW;
operation
  : (MINUS | PLUS | TILDE | NOT)* postfix
    ((OR | AND | NOT? IN | IS | EQUAL | NOT_EQUAL | LESS | LESS_EQUAL | GREATER | GREATER_EQUAL | BAR | CARET | AMPERSAND
      | SHIFT_LEFT | SHIFT_RIGHT | PLUS | MINUS | STAR | SLASH | FLOOR | PERCENT | AT | POWER)
     (MINUS | PLUS | TILDE | NOT)* postfix)*
  ;
postfix
  : (NAME | INT | FLOAT | NONE | TRUE | FALSE | ELLIPSIS | strings | brackets | list | dict)
    (DOT NAME | arguments | subscripts)*
  ;
strings: (STRING | fstring)+;
fstring: FSTRING_OPEN (FTEXT | interpolation)* FSTRING_CLOSE;
interpolation: INTERPOLATION_OPEN elements ASSIGN? (BANG NAME)? format? INTERPOLATION_CLOSE;
format: FORMAT_COLON (FTEXT | interpolation)*;
brackets: LPAREN elements? RPAREN;
list: LBRACKET (element (clause+ | (COMMA element)* TRAILING_COMMA?))? RBRACKET;
dict: DICT_OPEN (dictItem (clause+ | (COMMA dictItem)* TRAILING_COMMA?))? DICT_CLOSE;
dictItem: expression COLON expression | POWER operation;
// Operations, not expressions: a conditional here would eat the filter's `if`.
clause: FOR targets IN operation (IF operation)*;
targets: target (COMMA target)* TRAILING_COMMA?;
target: STAR? postfix;
arguments: LPAREN (argument (COMMA argument)* TRAILING_COMMA?)? RPAREN;
argument: ARGUMENT_NAME ASSIGN expression | STAR operation | POWER operation | expression;
subscripts: LBRACKET (subscript (COMMA subscript)* TRAILING_COMMA?)? RBRACKET;
subscript: STAR operation | expression slice? | slice;
slice: COLON expression? (COLON expression?)?;
