// Programs with published figures, rebuilt as graphs, and their reports. If the source leaves a size open, the comment
// states the assumption. Reports are computed once. Not thread-safe beyond C++'s initialisation of statics.
#pragma once

#include <string_view>

#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

/// A dense layer of float32 with 16.1 MiB of parameters: [32, 2048] x [2048, 2060] + bias; rows are an assumption.
const Report& published_dense_layer();
/// Two calls of one graph sigmoid(x w + b) of [64, 64] float32, on eight tiles.
const Report& published_two_calls();
/// Two products with one weight, all matrices 1024 x 1024 in float16, on eight tiles.
const Report& published_shared_weight();
/// Twenty dense layers [1400, 1400] of float32 with biases, unrolled; 32 rows are an assumption.
const Report& published_twenty_layers();
/// A ViT of 27 layers (729 tokens, width 1152, 16 heads, 4304 inner), its layer outlined; products in float16, weights
/// held in one byte an element.
const Report& published_vit();
/// One layer of BERT-large (1024 wide, 16 heads), eight sequences of 128, float16; with or without operands that are
/// stored in copies and rotated. All other programs are planned without, as the vendor's compiler has no such plans.
const Report& published_bert_layer(bool copies);
/// Training of nanoGPT (6 layers, 6 heads, 384 wide, 65 characters; 10.7 million parameters) in float32, in batches of
/// two: the softmax of each layer then takes the published 50.33 MB at 1,024 tokens. Without calls.
const Report& published_nanogpt(int64_t tokens);
/// One product on a C600: "qkv", "qk", "pv" in float16, "qk_f8" in float8.
const Report& published_product(std::string_view which);

/// Mean over the tiles of a category's bytes.
double mean_bytes(const Report& r, MemoryCategory category);
/// Mean over the tiles of all bytes, and the bytes of the fullest tile.
double mean_bytes(const Report& r);
double max_tile_bytes(const Report& r);
/// Cycles of the longest vertex of a program.
double largest_vertex_cycles(const Report& r);
/// Code of the largest exchange phase that is not a rearrangement, on the most loaded tile.
double largest_exchange_code(const Report& r);

}  // namespace pxl::tiles
