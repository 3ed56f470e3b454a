// node model.js MODULE MODEL THREADS RUNS SECONDS TO INPUT ...: runs an ONNX model by ONNX Runtime on arrays of .npy files (bench/onnx). Prints the
// milliseconds of the load, of the first run and of a later run as JSON, and writes the results to TO0.npy, TO1.npy ...
const [, , module_, model, threads, runs, seconds, to, ...inputs] = process.argv;
const fs = require('fs'), ort = require(module_);
const kinds = {'<f4': ['float32', Float32Array], '<f8': ['float64', Float64Array], '<i8': ['int64', BigInt64Array], '<i4': ['int32', Int32Array],
  '|u1': ['uint8', Uint8Array], '|i1': ['int8', Int8Array], '|b1': ['bool', Uint8Array], '<f2': ['float16', Uint16Array]};
// CPU time for one thread, wall time for more.
const now = () => +threads === 1 ? (u => (u.user + u.system) / 1e3)(process.cpuUsage()) : Number(process.hrtime.bigint()) / 1e6;

function read(file) {
  const bytes = fs.readFileSync(file), size = bytes.readUInt16LE(8), head = bytes.slice(10, 10 + size).toString(), data = bytes.slice(10 + size);
  const shape = head.match(/\(([^)]*)\)/)[1].split(',').map(s => s.trim()).filter(s => s).map(Number);
  const [type, Kind] = kinds[head.match(/'descr': '([^']*)'/)[1]];
  return new ort.Tensor(type, new Kind(data.buffer.slice(data.byteOffset, data.byteOffset + data.length)), shape);
}
function write(file, t) {
  const descr = Object.keys(kinds).find(k => kinds[k][0] === t.type);
  let head = `{'descr': '${descr}', 'fortran_order': False, 'shape': (${t.dims.join(', ')}${t.dims.length === 1 ? ',' : ''}), }`;
  head = head.padEnd(Math.ceil((head.length + 11) / 64) * 64 - 11) + '\n';
  const start = Buffer.alloc(10 + head.length);
  start.write('\x93NUMPY\x01\x00', 'latin1');
  start.writeUInt16LE(head.length, 8);
  start.write(head, 10, 'latin1');
  fs.writeFileSync(file, Buffer.concat([start, Buffer.from(t.data.buffer, t.data.byteOffset, t.data.byteLength)]));
}

(async () => {
  const started = now(), options = {intraOpNumThreads: +threads, interOpNumThreads: 1, graphOptimizationLevel: 'all', logSeverityLevel: 3};
  const session = await ort.InferenceSession.create(model, options), load = now() - started;
  const feeds = Object.fromEntries(session.inputNames.map((name, i) => [name, read(inputs[i])]));
  const begun = now();
  let out = await session.run(feeds);
  const first = now() - begun;
  for (let i = 0; i < 2; i++) out = await session.run(feeds);
  let ms = Infinity, n = 0;
  const from = now(), until = performance.now() + 1000 * +seconds;
  for (; n < +runs || (+threads === 1 && performance.now() < until); n++) {
    const start = now();
    out = await session.run(feeds);
    ms = Math.min(ms, now() - start);
  }
  if (+threads === 1) ms = (now() - from) / n;
  session.outputNames.forEach((name, i) => write(`${to}${i}.npy`, out[name]));
  console.log(JSON.stringify({ms, load, first, outputs: session.outputNames.length}));
})().catch(e => { console.log(String(e.message || e)); process.exit(1); });
