// The extension starts `pxl lsp` and hands everything else to it.
const vscode = require("vscode");
const { LanguageClient, Trace } = require("vscode-languageclient/node");

let client;

function command() {
  return vscode.workspace.getConfiguration("pxl").get("path") || "pxl";
}

async function start() {
  const run = { command: command(), args: ["lsp"] };
  client = new LanguageClient("pxl", "pxl", { run, debug: run }, {
    documentSelector: [{ language: "pxl" }],
    synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/*.pxl") },
  });
  try {
    await client.start();
    const trace = vscode.workspace.getConfiguration("pxl").get("trace.server");
    await client.setTrace(Trace.fromString(trace || "off"));
  } catch (why) {
    client = undefined;
    const choice = await vscode.window.showErrorMessage(
      `The language server did not start: \`${run.command} lsp\` (${why.message}). The setting pxl.path names the command.`,
      "Open the setting");
    if (choice) vscode.commands.executeCommand("workbench.action.openSettings", "pxl.path");
  }
}

async function stop() {
  const stopping = client;
  client = undefined;
  if (stopping) await stopping.stop();
}

function quoted(text) {
  return process.platform === "win32" ? `"${text}"` : `'${text.replace(/'/g, `'\\''`)}'`;
}

async function run() {
  const editor = vscode.window.activeTextEditor;
  if (!editor || editor.document.languageId !== "pxl") return;
  await editor.document.save();
  const terminal = vscode.window.terminals.find((t) => t.name === "pxl") || vscode.window.createTerminal("pxl");
  terminal.show(true);
  terminal.sendText(`${quoted(command())} ${quoted(editor.document.fileName)}`);
}

exports.activate = async (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("pxl.restart", async () => { await stop(); await start(); }),
    vscode.commands.registerCommand("pxl.run", run),
    vscode.workspace.onDidChangeConfiguration(async (change) => {
      if (change.affectsConfiguration("pxl")) { await stop(); await start(); }
    }));
  await start();
};

exports.deactivate = stop;
