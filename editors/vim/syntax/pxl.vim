" Colours of pxl.
if exists("b:current_syntax")
  finish
endif

syntax case match
syntax sync minlines=100

" Of matches that begin at one place the last in this file holds.
syntax match pxlCall /\v<\h\w*\ze\s*\(/
syntax match pxlConditional /\v<%(if|else|try|catch|finally)>/
syntax match pxlRepeat /\v<%(for|while|break|continue)>/
syntax match pxlStatement /\v<%(return|with|as|assert|pass|nonlocal)>/
syntax match pxlOperatorWord /\v<%(and|or|not|in|is)>/
syntax match pxlImport /\v<%(from|import)>/
syntax match pxlDefinition /\v<%(def|module)>/
syntax match pxlConstant /\v<%(true|false|none)>/
syntax keyword pxlReserved except raise lambda class let yield del global elif async await match
syntax keyword pxlDType bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float8_143 float8_152 float8_e4m3fn float8_e5m2 float16 bfloat16 float32 float64
syntax keyword pxlType int float str tensor

" Words that only declare: names everywhere else.
syntax match pxlDeclaration /\v%(^|\{)\s*\zs%(program|record|param|state|next|stream|variable|constant|option|outlined)\ze\s+\h/
syntax match pxlDeclaration /\v%(^|\{)\s*\zstest\ze\s+["']/
syntax match pxlDeclaration /\v%(^|\{)\s*\zsbuild\ze\s*\([^{]*\{/
syntax match pxlDeclaration /\v%(%(^|\{)\s*stream\s+)@<=%(in|out)\ze\s+\h/
syntax match pxlDeclaration /\v%(<param\s+|[(,]\s*)@<=ref\ze\s+\h/

syntax match pxlMember /\v\.@<=\s*\h\w*/
syntax match pxlArgument /\v%([(,]\s*)@<=\h\w*\ze\s*\=[^=>]/

syntax match pxlNumber /\v<0[xX]%(_?\x)+>/
syntax match pxlNumber /\v<0[bB]%(_?[01])+>/
syntax match pxlNumber /\v<0[oO]%(_?\o)+>/
syntax match pxlNumber /\v<\d%(_?\d)*>/
syntax match pxlFloat /\v<\d%(_?\d)*\.%(\d%(_?\d)*)?%([eE][+-]?\d%(_?\d)*)?/
syntax match pxlFloat /\v\.\d%(_?\d)*%([eE][+-]?\d%(_?\d)*)?/
syntax match pxlFloat /\v<\d%(_?\d)*[eE][+-]?\d%(_?\d)*/

syntax match pxlOperator /\v\=\>|[-+*\/%@&|^~<>=!]+/

syntax match pxlEscape /\v\\%(x\x{2}|u\x{4}|U\x{8}|.|$)/ contained
syntax match pxlBraces /{{\|}}/ contained
syntax region pxlInterpolation matchgroup=pxlDelimiter start=/{{\@!/ end=/}/ contained contains=TOP,pxlComment,pxlDoc
syntax region pxlString start=/"/ skip=/\\./ end=/"\|$/ contains=pxlEscape
syntax region pxlString start=/'/ skip=/\\./ end=/'\|$/ contains=pxlEscape
syntax region pxlString start=/"""/ skip=/\\./ end=/"""/ contains=pxlEscape
syntax region pxlString start=/'''/ skip=/\\./ end=/'''/ contains=pxlEscape
syntax region pxlString start=/\<[rR]"/ skip=/\\./ end=/"\|$/
syntax region pxlString start=/\<[rR]'/ skip=/\\./ end=/'\|$/
syntax region pxlFString matchgroup=pxlString start=/\<[fF]"/ skip=/\\./ end=/"\|$/ contains=pxlEscape,pxlBraces,pxlInterpolation
syntax region pxlFString matchgroup=pxlString start=/\<[fF]'/ skip=/\\./ end=/'\|$/ contains=pxlEscape,pxlBraces,pxlInterpolation
syntax region pxlFString matchgroup=pxlString start=/\<[fF]"""/ skip=/\\./ end=/"""/ contains=pxlEscape,pxlBraces,pxlInterpolation
syntax region pxlFString matchgroup=pxlString start=/\<[fF]'''/ skip=/\\./ end=/'''/ contains=pxlEscape,pxlBraces,pxlInterpolation

syntax match pxlComment /#.*$/ contains=@Spell
syntax match pxlDoc /##.*$/ contains=@Spell

highlight default link pxlConditional Conditional
highlight default link pxlRepeat Repeat
highlight default link pxlStatement Statement
highlight default link pxlOperatorWord Operator
highlight default link pxlImport Include
highlight default link pxlDefinition Structure
highlight default link pxlDeclaration StorageClass
highlight default link pxlConstant Boolean
highlight default link pxlReserved Error
highlight default link pxlDType Type
highlight default link pxlType Type
highlight default link pxlCall Function
highlight default link pxlMember Identifier
highlight default link pxlArgument Identifier
highlight default link pxlNumber Number
highlight default link pxlFloat Float
highlight default link pxlOperator Operator
highlight default link pxlEscape SpecialChar
highlight default link pxlBraces SpecialChar
highlight default link pxlDelimiter Delimiter
highlight default link pxlString String
highlight default link pxlFString String
highlight default link pxlComment Comment
highlight default link pxlDoc SpecialComment

let b:current_syntax = "pxl"
