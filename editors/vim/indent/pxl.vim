" Indentation of pxl: one step for each bracket that a line opens and does not close.
if exists("b:did_indent")
  finish
endif
let b:did_indent = 1
setlocal indentexpr=PxlIndent(v:lnum) indentkeys=0},0],0),o,O
let b:undo_indent = "setlocal indentexpr< indentkeys<"

if exists("*PxlIndent")
  finish
endif

" A line without its strings and comment.
function! s:Code(number)
  let text = substitute(getline(a:number), '\v"%(\\.|[^"\\])*"|''%(\\.|[^''\\])*''', '', 'g')
  return substitute(text, '#.*$', '', '')
endfunction

function! PxlIndent(number)
  let before = prevnonblank(a:number - 1)
  if before == 0
    return 0
  endif
  let indent = indent(before)
  let text = substitute(s:Code(before), '^\s*[})\]]\+', '', '')
  let open = len(substitute(text, '[^{([]', '', 'g')) - len(substitute(text, '[^})\]]', '', 'g'))
  if open > 0
    let indent += shiftwidth()
  elseif open < 0
    let indent += open * shiftwidth()
  endif
  if getline(a:number) =~# '^\s*[})\]]'
    let indent -= shiftwidth()
  endif
  return max([indent, 0])
endfunction
