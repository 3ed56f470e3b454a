-- Neovim's own client, headless: opens the file NEOVIM_FILE with the language server NEOVIM_SERVER, does what a user's keys do,
-- and prints one line of JSON. Run by tests/editors/lsp.py; the set-up is that of docs/editors.md for Neovim 0.7.
local said = {}
local function done(problem)
  said.problem = problem
  io.stdout:write(vim.fn.json_encode(said) .. "\n")
  vim.cmd("qall!")
end

local ok, problem = pcall(function()
  vim.notify = function(text) said.notified = (said.notified or "") .. text .. "\n" end
  vim.opt.runtimepath:prepend(vim.env.NEOVIM_PLUGIN)
  vim.cmd("filetype plugin indent on")
  vim.api.nvim_create_autocmd("FileType", {
    pattern = "pxl",
    callback = function(args)
      vim.g.pxl_client = vim.g.pxl_client
        or vim.lsp.start_client({ name = "pxl", cmd = { vim.env.NEOVIM_SERVER, "lsp" }, root_dir = vim.fn.getcwd() })
      vim.lsp.buf_attach_client(args.buf, vim.g.pxl_client)
      vim.bo[args.buf].omnifunc = "v:lua.vim.lsp.omnifunc"
    end,
  })
  vim.opt.hidden = true
  local function edit(file) vim.cmd("edit " .. vim.fn.fnameescape(file)) end
  edit(vim.env.NEOVIM_FILE)
  local function wait(what, condition)
    if not vim.wait(15000, condition, 20) then error("waited in vain for " .. what) end
  end
  local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") .. "\n" end
  wait("the server", function() return vim.lsp.buf.server_ready() end)

  -- Diagnostics come by themselves, and go when the text is mended.
  wait("a diagnostic", function() return #vim.diagnostic.get(0) > 0 end)
  local d = vim.diagnostic.get(0)[1]
  said.diagnostic = { d.lnum, d.col, d.end_col, d.message, d.code or vim.NIL }
  vim.fn.cursor(d.lnum + 1, d.col + 1)
  -- The correction that is offered.
  vim.ui.select = function(items, _, choose)
    said.actions = vim.tbl_map(function(i) return i[2].title end, items)
    choose(items[1])
  end
  vim.lsp.buf.code_action()
  wait("the correction", function() return not text():find("twcie") end)
  wait("no diagnostics", function() return #vim.diagnostic.get(0) == 0 end)

  vim.fn.cursor(1, 1)
  vim.fn.search("twice(é)")
  vim.lsp.buf.definition()
  wait("the definition", function() return vim.fn.line(".") == 2 end)
  said.definition = { vim.fn.line("."), vim.fn.expand("<cword>") }

  vim.lsp.buf.hover()
  local window
  wait("the hover", function()
    for _, w in ipairs(vim.api.nvim_list_wins()) do
      if vim.api.nvim_win_get_config(w).relative ~= "" then window = w end
    end
    return window
  end)
  said.hover = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(window), 0, -1, false), "\n")
  vim.api.nvim_win_close(window, true)

  vim.lsp.buf.rename("double")
  wait("the new name", function() return not text():find("twice") end)
  said.renamed = text()

  vim.opt.virtualedit = "onemore"
  vim.fn.append(vim.fn.line("$"), "z = dou")
  vim.fn.cursor(vim.fn.line("$"), 8)
  local found = vim.lsp.buf_request_sync(0, "textDocument/completion", vim.lsp.util.make_position_params(), 5000)
  for _, answer in pairs(found) do said.completed = vim.tbl_map(function(i) return i.label end, answer.result.items) end
  vim.cmd("$delete")

  vim.lsp.buf.formatting_sync(nil, 5000)
  said.formatted = text()
  vim.lsp.buf.document_symbol()
  wait("the symbols", function() return #vim.fn.getloclist(0) + #vim.fn.getqflist() > 0 end)
  said.symbols = vim.tbl_map(function(i) return i.text end, #vim.fn.getloclist(0) > 0 and vim.fn.getloclist(0) or vim.fn.getqflist())
  said.running = #vim.lsp.get_active_clients()

  -- A buffer that was changed and not saved, and one that imports from it.
  local folder = vim.fn.fnamemodify(vim.env.NEOVIM_FILE, ":h")
  edit(folder .. "/part.pxl")
  local part = vim.api.nvim_get_current_buf()
  wait("the server for the other file", function() return vim.lsp.buf.server_ready() end)
  vim.api.nvim_buf_set_lines(part, 0, 0, false, { "# moved", "# down" })
  edit(folder .. "/main.pxl")
  wait("the server for the third file", function() return vim.lsp.buf.server_ready() end)
  vim.fn.cursor(2, 1)
  vim.fn.search("half(4)")
  vim.lsp.buf.rename("halved")
  wait("the new name in two buffers", function()
    return text():find("halved%(4") and table.concat(vim.api.nvim_buf_get_lines(part, 0, -1, false), "\n"):find("halved")
  end)
  said.main = text()
  said.part = table.concat(vim.api.nvim_buf_get_lines(part, 0, -1, false), "\n") .. "\n"
end)
done(not ok and tostring(problem) or nil)
