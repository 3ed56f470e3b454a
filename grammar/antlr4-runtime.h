// Stands before the runtime's own umbrella header, which clang refuses: one of its parts (for interpreted grammars)
// default-constructs a class whose default constructor is deleted. Only what generated code and the two files of
// interpreter/syntax that see ANTLR need; that also halves the time it takes to compile them.
#pragma once

#include <ANTLRInputStream.h>
#include <CommonToken.h>
#include <CommonTokenFactory.h>
#include <CommonTokenStream.h>
#include <DefaultErrorStrategy.h>
#include <Exceptions.h>
#include <FailedPredicateException.h>
#include <InputMismatchException.h>
#include <Lexer.h>
#include <NoViableAltException.h>
#include <Parser.h>
#include <ParserRuleContext.h>
#include <TokenSource.h>
#include <Vocabulary.h>
#include <atn/ATN.h>
#include <atn/ATNDeserializer.h>
#include <atn/LexerATNSimulator.h>
#include <atn/ParserATNSimulator.h>
#include <atn/PredictionContext.h>
#include <atn/PredictionMode.h>
#include <dfa/DFA.h>
#include <misc/IntervalSet.h>
#include <support/CPPUtils.h>
#include <tree/TerminalNode.h>
