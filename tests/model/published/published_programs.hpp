// Programs with published figures, rebuilt as graphs, and their reports. If the source leaves a size open, the comment
// states the assumption. Reports are computed once. Not thread-safe beyond C++'s initialisation of statics.
#pragma once

#include <string_view>

#include "runtime/tiles/report/report.hpp"

namespace pxl::tiles {

// Programs of Graphcore's tests, as their sources state them (published_tests.cpp). Inputs come from the host, and
// results go to the host.

/// A dense layer of float32 [16, 4096] x [4096, 1024] + bias.
const Report& published_dense_layer();
/// Two calls of sigmoid(x w + b), all [64, 64] float32, on eight tiles. The result is the difference of the calls'
/// results.
const Report& published_calls();
/// Training of these calls: cross entropy, gradients by calls, updates.
const Report& published_calls_training();
/// Training of a graph that is called twice and calls another graph: sigmoid(x w + b) with b of [64], on eight tiles.
const Report& published_nested_calls();
/// Ten lookups of 20 rows each in slices of a table, float16 [20000, 128], on eight tiles. One graph is called for each
/// lookup, and the results are added.
const Report& published_lookups();
/// a (x w), where x is one row broadcast to [1024, 1024], in float16, on eight tiles.
const Report& published_broadcast_product();
/// The initial values of a net with 21 dense layers in float16: [50176, 1400], 19 times [1400, 1400], [1400, 4].
const Report& published_initialisers();
/// x + y z with x [30522, 768], y [30522, 128] and z [128, 768] in float16. Six calls compute the product.
const Report& published_serial_product();
/// Inference, or a training step, of three dense layers [50176, 32], [32, 64], [64, 64] in float16.
const Report& published_small_net(int64_t batch, bool training);

/// A ViT of 27 layers (729 tokens, width 1152, 16 heads, 4304 inner). Its layer is outlined. The program includes the
/// embedding of patches and attention pooling. Products are in float16; weights are held in one byte an element.
const Report& published_vit();
/// One layer of BERT-large (1024 wide, 16 heads), eight sequences of 128, float16. `copies`: operands may be stored in
/// copies and rotated. All other programs are planned without copies, since the vendor's compiler has no such plans.
const Report& published_bert_layer(bool copies);
/// Training of nanoGPT (6 layers, 6 heads, 384 wide, 65 characters; 10.7 million parameters) in float32, without calls.
/// Batches of two are assumed: the softmax of each layer then takes the published 50.33 MB at 1,024 tokens.
const Report& published_nanogpt(int64_t tokens);
/// Inference of ResNet-50 on images [batch, 3, 224, 224].
const Report& published_resnet(int64_t batch);
/// One product of that ViT's layer on a C600: "qkv", "qk", "pv", "projection", "up" or "down". The dtype is float16, or
/// float8 with the suffix "_f8".
const Report& published_product(std::string_view which);

/// Mean over the tiles of the bytes in a category.
double mean_bytes(const Report& r, MemoryCategory category);
/// Mean over the tiles of all bytes, and the bytes on the fullest tile.
double mean_bytes(const Report& r);
double max_tile_bytes(const Report& r);
/// The same without vertex code, runtime and gaps, as in reports of models without compiled code.
double mean_bytes_of_data(const Report& r);
double max_bytes_of_data(const Report& r);
/// Mean over tiles of the bytes that are not always live, at the point where the whole chip has most.
double mean_live_bytes(const Report& r);
/// Code and vertex state on a tile, and cycles of computing and exchanging. Ops of the host link are excluded.
double layer_exchange_code(const Report& r);
double layer_control_code(const Report& r);
double layer_state(const Report& r);
double layer_cycles(const Report& r);
/// Code of an op's largest exchange phase, rearrangements included. The op is given by its name and its result's spec.
double exchange_code_of(const Report& r, std::string_view op, std::string_view result);
/// Cycles of a program's longest vertex.
double largest_vertex_cycles(const Report& r);
/// Code of the largest exchange phase that is not a rearrangement, on the most loaded tile.
double largest_exchange_code(const Report& r);

}  // namespace pxl::tiles
