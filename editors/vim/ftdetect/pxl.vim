autocmd BufRead,BufNewFile *.pxl setfiletype pxl
