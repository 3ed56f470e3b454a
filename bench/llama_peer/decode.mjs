// node decode.mjs MODULE MODEL THREADS PROMPT TOKENS VOCAB: a prompt and the tokens after it by llama.cpp (bench/llama). Prints milliseconds as JSON.
import {pathToFileURL} from "node:url";
const [, , module_, model, ...numbers] = process.argv, [threads, prompt, tokens, vocab] = numbers.map(Number);
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(module_));
// CPU time for one thread, wall time for more.
const now = () => threads === 1 ? (u => (u.user + u.system) / 1e3)(process.cpuUsage()) : performance.now();
const llama = await getLlama({gpu: false, build: "never", maxThreads: threads, logLevel: LlamaLogLevel.error, progressLogs: false});
const begun = now(), loaded = await llama.loadModel({modelPath: model, gpuLayers: 0});
const context = await loaded.createContext({contextSize: prompt + tokens + 8, batchSize: prompt, threads: {ideal: threads, min: threads}});
const load = now() - begun, sequence = context.getSequence();
const words = [...Array(prompt).keys()].map(i => (i * 7919 + 300) % vocab);
let first, each, picked;
for (let turn = 0; turn < 2; turn++) {
  await sequence.clearHistory();
  let start = now();
  picked = [];
  for await (const token of sequence.evaluate(words, {temperature: 0, yieldEogToken: true})) {
    if (picked.push(token) === 1) { first = now() - start; start = now(); }
    if (picked.length > tokens) break;
  }
  each = (now() - start) / tokens;
}
console.log(JSON.stringify({load, prompt: first, token: each, picked: picked.slice(0, 8)}));
process.exit(0);
