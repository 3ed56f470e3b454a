// Programs with published figures, rebuilt as graphs, and their reports. If the source leaves a size open, the comment
// states the assumption. Reports are computed once. Not thread-safe beyond C++'s initialisation of statics.
#pragma once

#include <string_view>

#include "runtime/tiles/report.hpp"

namespace pxl::tiles {

// Programs of Graphcore's tests, as their sources state them (published_tests.cpp). Inputs come from the host, results
// go there.

/// A dense layer of float32 [16, 4096] x [4096, 1024] + bias.
const Report& published_dense_layer();
/// Two calls of sigmoid(x w + b), all [64, 64] float32, whose difference is the result, on eight tiles.
const Report& published_calls();
/// Their training: cross entropy, gradients by calls, updates.
const Report& published_calls_training();
/// Training of two calls of a graph that calls another one, sigmoid(x w + b) with b of [64], on eight tiles.
const Report& published_nested_calls();
/// Ten lookups of 20 rows in slices of a table [20000, 128] of float16, by calls of one graph, added; on eight tiles.
const Report& published_lookups();
/// a (x w) where x is one row broadcast to [1024, 1024], float16, on eight tiles.
const Report& published_broadcast_product();
/// The initial values of a net of 21 dense layers in float16, [50176, 1400], 19 of [1400, 1400], [1400, 4].
const Report& published_initialisers();
/// x + y z with x [30522, 768], y [30522, 128] and z [128, 768] in float16, the product by six calls.
const Report& published_serial_product();
/// Inference, or a training step, of three dense layers [50176, 32], [32, 64], [64, 64] in float16.
const Report& published_small_net(int64_t batch, bool training);

/// A ViT of 27 layers (729 tokens, width 1152, 16 heads, 4304 inner), its layer outlined, with the embedding of patches
/// and attention pooling; products in float16, weights held in one byte an element.
const Report& published_vit();
/// One layer of BERT-large (1024 wide, 16 heads), eight sequences of 128, float16; with or without operands that are
/// stored in copies and rotated. All other programs are planned without, as the vendor's compiler has no such plans.
const Report& published_bert_layer(bool copies);
/// Training of nanoGPT (6 layers, 6 heads, 384 wide, 65 characters; 10.7 million parameters) in float32, in batches of
/// two: the softmax of each layer then takes the published 50.33 MB at 1,024 tokens. Without calls.
const Report& published_nanogpt(int64_t tokens);
/// Inference of ResNet-50 on images [batch, 3, 224, 224].
const Report& published_resnet(int64_t batch);
/// One product of that ViT's layer on a C600: "qkv", "qk", "pv", "projection", "up", "down", in float16 or, with the
/// suffix "_f8", in float8.
const Report& published_product(std::string_view which);

/// Mean over the tiles of a category's bytes.
double mean_bytes(const Report& r, MemoryCategory category);
/// Mean over the tiles of all bytes, and the bytes of the fullest tile.
double mean_bytes(const Report& r);
double max_tile_bytes(const Report& r);
/// The same without vertex code, runtime and gaps, as in reports of models whose code is not compiled.
double mean_bytes_of_data(const Report& r);
double max_bytes_of_data(const Report& r);
/// Bytes that are not always live, at the point where the whole chip has most, by tile.
double mean_live_bytes(const Report& r);
/// Of the ops but those of the host link: code and vertex state of a tile, and cycles of computing and exchanging.
double layer_exchange_code(const Report& r);
double layer_control_code(const Report& r);
double layer_state(const Report& r);
double layer_cycles(const Report& r);
/// Code of the largest exchange phase of the op with this name and spec of its result, rearrangements included.
double exchange_code_of(const Report& r, std::string_view op, std::string_view result);
/// Cycles of the longest vertex of a program.
double largest_vertex_cycles(const Report& r);
/// Code of the largest exchange phase that is not a rearrangement, on the most loaded tile.
double largest_exchange_code(const Report& r);

}  // namespace pxl::tiles
