"""One decoder with random weights for llama.cpp and for bench/llama.pxl: models.py TO SIZE KIND writes TO.gguf and TO.safetensors.

SIZE: layers x width x inner x heads x key_heads x vocab. KIND: float16, int8 (blocks of llama.cpp's Q8_0) or int4 (Q4_0). Both files
have the same numbers. The form of a .gguf file: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
"""
import json
import struct
import sys

import numpy as np

GROUP = 32  # numbers of a block, which share a scale
TYPES = {"float32": 0, "float16": 1, "int4": 2, "int8": 8}  # of a tensor in a .gguf file
U32, F32, BOOL, TEXT, ARRAY, I32 = 4, 6, 7, 8, 9, 5  # of a value


def weights(size):
    """(name in pxl, name in llama.cpp, float32 array as [out, in], its kind or none for the model's)."""
    layers, width, inner, heads, key_heads, vocab = size
    draw, head = np.random.default_rng(1).standard_normal, width // heads

    def dense(rows, columns):
        return (draw((rows, columns), dtype=np.float32) / np.sqrt(columns)).astype(np.float32)
    yield "embed", "token_embd", draw((vocab, width), dtype=np.float32) * np.float32(0.02), "float16"
    for i in range(layers):
        ours, theirs = f"blocks.{i}.", f"blk.{i}."
        yield ours + "attention_norm.weight", theirs + "attn_norm", np.ones(width, np.float32), "float32"
        yield ours + "mlp_norm.weight", theirs + "ffn_norm", np.ones(width, np.float32), "float32"
        for name, other, shape in (("q", "attn_q", (width, width)), ("k", "attn_k", (key_heads * head, width)), ("v", "attn_v", (key_heads * head, width)),
                                   ("o", "attn_output", (width, width)), ("mlp.gate_proj", "ffn_gate", (inner, width)), ("mlp.up_proj", "ffn_up", (inner, width)),
                                   ("mlp.down_proj", "ffn_down", (width, inner))):
            yield f"{ours}{name}.weight", theirs + other, dense(*shape), None
    yield "norm.weight", "output_norm", np.ones(width, np.float32), "float32"
    yield "head.weight", "output", dense(vocab, width), None


def blocks(x, kind):
    """Whole numbers [out, blocks, GROUP] and scales [out, blocks], float16, of x [out, in]."""
    parts = x.reshape(len(x), -1, GROUP)
    if kind == "int8":
        scale = np.abs(parts).max(-1) / 127
    else:  # the number of the largest magnitude becomes -8
        scale = np.take_along_axis(parts, np.abs(parts).argmax(-1)[..., None], -1)[..., 0] / -8
    whole = np.rint(parts / np.where(scale == 0, 1, scale)[..., None])
    return np.clip(whole, -8, 7 if kind == "int4" else 127).astype(np.int8) if kind == "int4" else whole.astype(np.int8), scale.astype(np.float16)


def for_llama(x, kind):
    """The bytes of a tensor of a .gguf file."""
    if kind in ("float32", "float16"):
        return x.astype(kind).tobytes()
    whole, scale = blocks(x, kind)
    if kind == "int4":  # numbers i and i + 16 of a block are in one byte
        stored = (whole + 8).astype(np.uint8)
        whole = stored[..., :GROUP // 2] | stored[..., GROUP // 2:] << 4
    return np.concatenate([scale[..., None].view(np.uint8).reshape(*scale.shape, 2), whole.view(np.uint8)], -1).tobytes()


def for_pxl(name, x, kind):
    """The arrays of a param by name: weights are [in, out]."""
    if kind in ("float32", "float16"):
        return {name: np.ascontiguousarray(x.T if kind == "float16" and name != "embed" else x).astype(kind)}
    whole, scale = blocks(x, kind)
    whole = np.ascontiguousarray(whole.reshape(x.shape).T)
    if kind == "int4":  # rows i and i + 1 are in one byte
        stored = (whole + 8).astype(np.uint8)
        whole = stored[::2] | stored[1::2] << 4
    return {name: whole, name + "_scale": np.ascontiguousarray(scale.T.astype(np.float32))}


def write_safetensors(path, arrays):
    head, at = {}, 0
    for name, x in arrays.items():
        kind = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8"}[x.dtype.name]
        head[name] = {"dtype": kind, "shape": list(x.shape), "data_offsets": [at, at + x.nbytes]}
        at += x.nbytes
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for x in arrays.values():
            file.write(x.tobytes())


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_value(name, kind, value):
    if kind == ARRAY:
        of, items = value
        body = struct.pack("<IQ", of, len(items)) + b"".join(gguf_text(x) if of == TEXT else struct.pack({F32: "<f", I32: "<i"}[of], x) for x in items)
    else:
        body = gguf_text(value) if kind == TEXT else struct.pack({U32: "<I", F32: "<f", BOOL: "<?"}[kind], value)
    return gguf_text(name) + struct.pack("<I", kind) + body


def write_gguf(path, size, tensors):
    layers, width, inner, heads, key_heads, vocab = size
    bytes_of_text = [f"<0x{i:02X}>" for i in range(256)]
    words = ["<unk>", "<s>", "</s>", *bytes_of_text, *(f"word{i}" for i in range(vocab - 259))]
    kinds = [2, 3, 3, *[6] * 256, *[1] * (vocab - 259)]  # unknown, control, byte, normal
    facts = [("general.architecture", TEXT, "llama"), ("llama.context_length", U32, 4096), ("llama.embedding_length", U32, width), ("llama.block_count", U32, layers),
             ("llama.feed_forward_length", U32, inner), ("llama.attention.head_count", U32, heads), ("llama.attention.head_count_kv", U32, key_heads),
             ("llama.attention.layer_norm_rms_epsilon", F32, 1e-5), ("llama.rope.dimension_count", U32, width // heads), ("llama.vocab_size", U32, vocab),
             ("tokenizer.ggml.model", TEXT, "llama"), ("tokenizer.ggml.tokens", ARRAY, (TEXT, words)), ("tokenizer.ggml.scores", ARRAY, (F32, [0.0] * vocab)),
             ("tokenizer.ggml.token_type", ARRAY, (I32, kinds)), ("tokenizer.ggml.bos_token_id", U32, 1), ("tokenizer.ggml.eos_token_id", U32, 2)]
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts)) + b"".join(gguf_value(*fact) for fact in facts)
    at = 0
    for name, shape, kind, data in tensors:
        head += gguf_text(name + ".weight") + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", n) for n in reversed(shape)) + struct.pack("<IQ", TYPES[kind], at)
        at += len(data) + -len(data) % 32
    with open(path, "wb") as file:
        file.write(head + b"\0" * (-len(head) % 32))
        for *_, data in tensors:
            file.write(data + b"\0" * (-len(data) % 32))


def main():
    to, size, kind = sys.argv[1], tuple(map(int, sys.argv[2].split("x"))), sys.argv[3]
    arrays, tensors = {}, []
    for ours, theirs, x, own in weights(size):
        stored = own or kind
        arrays.update(for_pxl(ours, x, stored))
        tensors.append((theirs, x.shape, stored, for_llama(x, stored)))
    write_safetensors(to + ".safetensors", arrays)
    write_gguf(to + ".gguf", size, tensors)


if __name__ == "__main__":
    main()
