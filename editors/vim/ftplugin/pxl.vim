" Editing pxl: comments, width of a step, words, and `gq` through the formatter.
if exists("b:did_ftplugin")
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=#\ %s comments=b:##,b:#
setlocal expandtab shiftwidth=2 softtabstop=2
setlocal suffixesadd=.pxl
setlocal formatoptions-=t formatoptions+=croql
if executable("pxl")
  setlocal makeprg=pxl\ check\ %:S
  setlocal errorformat=%f:%l:%c:\ %trror:\ %m,%f:%l:%c:\ %tarning:\ %m,%-G%.%#
endif

let b:undo_ftplugin = "setlocal commentstring< comments< expandtab< shiftwidth< softtabstop< suffixesadd< formatoptions< makeprg< errorformat<"
