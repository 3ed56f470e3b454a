// The bits of kernels, as check sums of their results for fixed operands in bits.txt: the same on every processor.
// Block functions have one line whatever the instruction set; products have one with and one without fused
// multiply-adds. With PXL_UPDATE=1 the test writes the file.
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "runtime/base/threads/subnormals.hpp"
#include "runtime/kernels/block/block_integer.hpp"
#include "runtime/kernels/block/block_table.hpp"
#include "runtime/kernels/convolution/direct_table.hpp"
#include "runtime/kernels/gemm/packed_table.hpp"
#include "runtime/kernels/gemm/skinny_table.hpp"
#include "runtime/kernels/instruction_sets.hpp"
#include "runtime/tensor/random.hpp"
#include "tests/unit/kernels/checksum.hpp"
#include "tests/unit/kernels/support.hpp"

using namespace pxl;
using namespace pxl::test;

namespace {

using Lines = std::map<std::string, uint64_t>;

constexpr int64_t count = 1003;

Array operand(DType dtype, uint64_t seed) {
  Array x(dtype, {count});
  Numbers numbers(seed, 14, 7);
  const double extremes[] = {inf, -inf, not_a_number, 0.0, -0.0, 1, -1, 60000, -60000, 88.5, -103.5};
  for (int64_t i = 0; i < count; ++i)
    write_number(dtype, x.mutable_raw(), i, i % 13 == 5 ? extremes[i / 13 % 11] : numbers.next());
  return x;
}

/// Functions whose float64 form is the C library's, which does not promise its last bits.
bool of_c_library(std::string_view name) {
  static const std::set<std::string_view> names = {"erf",     "log2",         "pow",      "tan",
                                                   "geluerf", "geluerf_grad", "erf_grad", "erfinv"};
  return names.contains(name);
}

void add_blocks(const BlockTable& table, Lines& lines) {
  for (const DType dtype : floats) {
    const Array x = operand(dtype, 1), y = operand(dtype, 2);
    const int column = dtype == DType::float32 ? 0 : dtype == DType::float64 ? 1 : dtype == DType::float16 ? 2 : 3;
    std::vector<std::byte> to(count * 8);
    const auto line = [&](std::string_view function, DType result) {
      Sum sum;
      sum.add(result, to.data(), count);
      lines[fmt::format("block {} {}", function, name(dtype))] = sum.value();
    };
    for (int i = 0; i < static_cast<int>(Unary::count); ++i) {
      const auto op = static_cast<Unary>(i);
      const UnaryBlock f = table.unary[i][column];
      if (!f || (dtype == DType::float64 && of_c_library(name(op)))) continue;
      f(x.raw(), to.data(), count);
      line(name(op), result_dtype(op, dtype));
    }
    for (int i = 0; i < static_cast<int>(Parametric::count); ++i) {
      const auto op = static_cast<Parametric>(i);
      table.parametric[i][column](x.raw(), 0.3, 0.5, to.data(), count);
      line(name(op), dtype);
    }
    for (int i = 0; i < static_cast<int>(Binary::count); ++i) {
      const auto op = static_cast<Binary>(i);
      const BinaryBlock f = table.binary[i][column];
      if (!f || (dtype == DType::float64 && of_c_library(name(op)))) continue;
      f.vv(x.raw(), y.raw(), to.data(), count);
      line(name(op), result_dtype(op, dtype));
    }
  }
}

template <class T>
void add_rows(const RowFunctions<T>& f, std::string_view dtype, Lines& lines) {
  Sum softmax, normalise;
  Numbers numbers(3, 6, 2);
  for (const int64_t n : {1, 3, 10, 16, 17, 64, 1000}) {
    std::vector<T> x(static_cast<size_t>(2 * n)), g(x.size()), w(x.size()), to(x.size());
    for (auto* v : {&x, &g, &w})
      for (T& value : *v) value = static_cast<T>(numbers.next());
    f.softmax(x.data(), to.data(), 2, n);
    softmax.add(to.data(), 2 * n);
    f.softmax_grad(g.data(), x.data(), to.data(), 2, n);
    softmax.add(to.data(), 2 * n);
    f.softmax_columns(x.data(), to.data(), 2, n < column_block ? n : column_block, n);
    softmax.add(to.data(), n < column_block ? n : column_block);
    double sums[3];
    f.normalise(x.data(), T(0.25), T(0), T(1.5), w.data(), g.data(), to.data(), n);
    normalise.add(to.data(), n);
    f.normalise_sums(g.data(), x.data(), w.data(), 0.25, 1.5, n, sums);
    normalise.add(sums, 2);
    f.normalise_grad(g.data(), x.data(), w.data(), T(0.25), T(1.5), T(0.125), T(0.75), to.data(), n);
    normalise.add(to.data(), n);
  }
  lines[fmt::format("rows softmax {}", dtype)] = softmax.value();
  lines[fmt::format("rows normalise {}", dtype)] = normalise.value();
}

void add_random(const BulkFunctions& f, Lines& lines) {
  constexpr uint64_t first = 0xfffffff0;  // the counter's first word overflows
  const uint32_t key[] = {7, 42};
  std::vector<uint32_t> words[4];
  for (auto& w : words) w.resize(count);
  uint32_t* const to[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data()};
  f.philox(key, 2, first, to, count);
  for (int64_t i = 0; i < count; ++i) {
    const auto expected = random_words({7, 42}, RandomStream::normal, first + static_cast<uint64_t>(i));
    for (size_t w = 0; w < 4; ++w) CHECK(words[w][static_cast<size_t>(i)] == expected[w]);
  }
  std::vector<double> unit(count);
  f.unit_numbers(words[0].data(), words[1].data(), 1, -0.5, unit.data(), count);
  for (size_t i = 0; i < count; ++i)
    CHECK(unit[i] == 1 - static_cast<double>((uint64_t{words[0][i] >> 5} << 26) + (words[1][i] >> 6)) * 0x1p-54);
  std::vector<double> x(count), angle(count), pairs(2 * count);
  for (size_t i = 0; i < count; ++i) {
    x[i] = (words[0][i] + 1.0) * 0x1p-32;
    angle[i] = words[1][i] * (0x1p-32 * 6.283185307179586);
  }
  x[0] = 1;
  x[1] = 0x1p-53;
  f.box_muller(x.data(), angle.data(), pairs.data(), count);
  for (size_t i = 0; i < count; ++i) {
    const double radius = std::sqrt(-2 * std::log(x[i]));
    CHECK(std::fabs(pairs[2 * i] - radius * std::cos(angle[i])) <= 2e-15 * radius);
    CHECK(std::fabs(pairs[2 * i + 1] - radius * std::sin(angle[i])) <= 2e-15 * radius);
  }
  Sum sum;
  sum.add(pairs.data(), 2 * count);
  lines["bulk normal numbers"] = sum.value();
}

void add_bulk(const BulkFunctions& f, Lines& lines) {
  Numbers numbers(5, 20, 10);
  Sum sums, extremes, conversions;
  for (const int64_t n : {0, 1, 2, 5, 8, 15, 33, 100, 1003}) {
    const std::vector<float> x = numbers.floats(n), y = numbers.floats(n);
    std::vector<double> a(x.begin(), x.end()), b(y.begin(), y.end());
    double product, absolute;
    f.rows32.each_product(x.data(), 1, 0, n < 50 ? n : 50, &product);
    f.rows32.each_absolute_sum(x.data(), 1, 0, n, &absolute);
    const double results[] = {f.sum32(x.data(), n),
                              f.sum64(a.data(), n),
                              f.dot32(x.data(), y.data(), n),
                              f.dot64(a.data(), b.data(), n),
                              product,
                              absolute,
                              f.deviation32(x.data(), 0.5, n),
                              f.deviation64(a.data(), 0.5, n)};
    sums.add(results, 8);
    const double most[] = {f.max32(x.data(), n), f.min32(x.data(), n), f.max64(a.data(), n), f.min64(a.data(), n)};
    extremes.add(most, 4);
    std::vector<uint16_t> half(x.size());
    std::vector<float> back(x.size());
    std::vector<int32_t> whole(x.size());
    f.float16.round(x.data(), half.data(), n);
    f.float16.widen(half.data(), back.data(), n);
    f.float_to_int32(x.data(), whole.data(), n);
    conversions.add_half(half.data(), n);
    conversions.add(back.data(), n);
    conversions.add(whole.data(), n);
  }
  std::vector<uint16_t> all(1 << 16);
  std::vector<float> wide(all.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<uint16_t>(i);
  f.float16.widen(all.data(), wide.data(), std::ssize(all));
  conversions.add(wide.data(), std::ssize(wide));
  std::vector<uint8_t> bytes(256);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  for (auto* convert : {f.float8_143_to_float, f.float8_152_to_float}) {
    convert(bytes.data(), wide.data(), 256);
    conversions.add(wide.data(), 256);
  }
  lines["bulk sums"] = sums.value();
  lines["bulk extremes"] = extremes.value();
  lines["bulk conversions"] = conversions.value();
  add_rows(f.rows32, "float32", lines);
  add_rows(f.rows64, "float64", lines);
}

void add_integers(const IntegerBlocks& blocks, Lines& lines) {
  for (const DType dtype : {DType::int8, DType::uint8, DType::int32, DType::uint32, DType::int64}) {
    Array x(dtype, {count}), y(dtype, {count});
    Numbers numbers(7);
    const auto bytes = static_cast<int64_t>(size_of(dtype));
    for (Array* a : {&x, &y})
      for (int64_t i = 0; i < count * bytes; ++i) a->mutable_raw()[i] = static_cast<std::byte>(numbers.draw() >> 20);
    std::vector<std::byte> to(count * 8);
    Sum sum;
    for (int i = 0; i < static_cast<int>(Unary::count); ++i)
      if (const UnaryBlock f = blocks.unary(static_cast<Unary>(i), dtype)) {
        f(x.raw(), to.data(), count);
        sum.add(result_dtype(static_cast<Unary>(i), dtype), to.data(), count);
      }
    for (int i = 0; i < static_cast<int>(Binary::count); ++i)
      if (const BinaryBlock f = blocks.binary(static_cast<Binary>(i), dtype)) {
        f.vv(x.raw(), y.raw(), to.data(), count);
        sum.add(result_dtype(static_cast<Binary>(i), dtype), to.data(), count);
      }
    lines[fmt::format("integers {}", name(dtype))] = sum.value();
  }
}

std::string set_name(bool fused) { return fused ? "fused" : "plain"; }

void add_forward(const SkinnyFunctions& f, const std::string& set, Lines& lines) {
  Sum forward, stream;
  Numbers numbers(11), codes(23);
  for (const int64_t m : {1, 2, 3, 4, 7, 8, 16})
    for (const int64_t n : {1, 10, 64, 77, 200}) {
      const int64_t k = 101, size = skinny_panels_size(m, n);
      const std::vector<float> x = numbers.floats(m * k), w = numbers.floats((k + 32) * n);
      std::vector<float> panels(static_cast<size_t>(2 * size)), to(static_cast<size_t>(m * n));
      SkinnyForward a;
      a.x = x.data(), a.ldx = k, a.w = w.data(), a.ldw = n, a.m = m, a.n = n;
      for (int64_t s = 0; s < 2; ++s) {
        a.k0 = k * s / 2, a.k1 = k * (s + 1) / 2, a.out = panels.data() + s * size;
        f.forward(a);
      }
      f.join({panels.data(), 2, size, m, n, 0, n, to.data()});
      forward.add(to.data(), m * n);
      for (const NarrowFormat format :
           {NarrowFormat::float32, NarrowFormat::float16, NarrowFormat::int8, NarrowFormat::uint8,
            NarrowFormat::float8_143, NarrowFormat::float8_152, NarrowFormat::int4}) {
        std::vector<std::byte> narrow(static_cast<size_t>((k + 1) * n) * width_of(format));
        if (format == NarrowFormat::float32)
          std::memcpy(narrow.data(), w.data(), narrow.size());
        else
          for (std::byte& b : narrow) b = static_cast<std::byte>(codes.draw() >> 20 & 0x3b);  // no infinities
        SkinnyStream s;
        s.x = x.data(), s.ldx = k, s.format = format, s.w = narrow.data(), s.ldw = n, s.m = m, s.n = n;
        s.k0 = 0, s.k1 = k - 1, s.out = panels.data();
        s.scales = {w.data(), 20, n, 1};
        f.stream(s);
        f.join({panels.data(), 1, size, m, n, 0, n, to.data()});
        stream.add(to.data(), m * n);
      }
    }
  lines["skinny forward " + set] = forward.value();
  lines["skinny stream " + set] = stream.value();
}

void add_backward(const SkinnyFunctions& f, const std::string& set, Lines& lines) {
  Sum dx, dw, updates;
  Numbers numbers(13);
  for (const int64_t m : {1, 2, 3, 4, 5, 8, 16})
    for (const int64_t n : {1, 4, 10, 16, 32, 33, 61, 200}) {
      const int64_t k = 37;
      const std::vector<float> x = numbers.floats(m * k), w = numbers.floats(k * n), dy = numbers.floats(m * n);
      std::vector<float> gradient(static_cast<size_t>(k * n)), to(static_cast<size_t>(m * k));
      SkinnyBackward a;
      a.x = x.data(), a.ldx = k, a.w = w.data(), a.ldw = n, a.dy = dy.data(), a.lddy = n;
      a.m = m, a.n = n, a.k0 = 0, a.k1 = k, a.dx = to.data(), a.lddx = k;
      f.backward(a);  // dx alone, then with the gradient, then with an update in place
      dx.add(to.data(), m * k);
      a.u = gradient.data(), a.ldu = n;
      f.backward(a);
      dx.add(to.data(), m * k);
      dw.add(gradient.data(), k * n);
      a.add = true, a.alpha = -0.125F;
      f.backward(a);
      dw.add(gradient.data(), k * n);
      for (int row = 0; row < CompiledUpdates::count; ++row) {
        std::vector<std::vector<float>> states;
        for (size_t s = 0; s < max_registers; ++s) states.push_back(numbers.floats(k * n));
        for (float& v : states[2]) v = std::fabs(v);
        for (float& v : states[3]) v = std::fabs(v);
        float* registers[max_registers];
        for (size_t s = 0; s < max_registers; ++s) registers[s] = states[s].data();
        FusedUpdateConstants constants;
        constants.fill(0.0625F);
        SkinnyBackward u = a;
        u.u = nullptr, u.add = false, u.dx = nullptr;
        u.update = {row, registers, constants.data()};
        f.backward(u);
        for (const std::vector<float>& s : states) updates.add(s.data(), k * n);
      }
    }
  lines["skinny dx " + set] = dx.value();
  lines["skinny dw " + set] = dw.value();
  lines["skinny updates " + set] = updates.value();
}

void add_packed(const PackedFunctions& f, const std::string& set, Lines& lines) {
  Sum sum;
  Numbers numbers(17);
  for (const int64_t m : {1, 5, 30})
    for (const int64_t n : {1, 7, 70})
      for (const bool transposed : {false, true}) {
        const int64_t k = 300;
        const std::vector<float> a = numbers.floats(m * k), b = numbers.floats(k * n);
        const auto floats_at = [](const WorkspaceMemory& at) { return reinterpret_cast<float*>(at.data()); };
        const WorkspaceMemory packed_b(static_cast<size_t>(f.packed_size(n, k)) * sizeof(float) + 4096),
            packed_a(static_cast<size_t>(f.packed_a_size) * sizeof(float));
        std::vector<float> to(static_cast<size_t>(m * n));
        f.pack({{reinterpret_cast<const std::byte*>(b.data()), transposed ? k : n},
                transposed,
                k,
                n,
                0,
                f.strips(n),
                floats_at(packed_b)});
        f.multiply({.a = {reinterpret_cast<const std::byte*>(a.data()), transposed ? m : k},
                    .transposed = transposed,
                    .m = m,
                    .n = n,
                    .k = k,
                    .b = floats_at(packed_b),
                    .out = to.data(),
                    .ldo = n,
                    .packed_a = floats_at(packed_a)});
        sum.add(to.data(), m * n);
      }
  lines["packed " + set] = sum.value();
}

void add_direct(const DirectFunctions& f, const std::string& set, Lines& lines) {
  Sum outputs, weights;
  Numbers numbers(19);
  for (const int64_t kernel : {1, 2, 3, 4})
    for (const int64_t columns : {1, 5, 8, 14, 16, 33}) {
      const int64_t inputs = 3, channels = 7, rows = 6, row = columns + kernel - 1, plane = (rows + kernel - 1) * row;
      std::vector<int64_t> offsets;
      for (int64_t i = 0; i < kernel * kernel; ++i) offsets.push_back(i / kernel * row + i % kernel);
      const std::vector<float> x = numbers.floats(inputs * plane + 64),
                               w = numbers.floats(channels * inputs * kernel * kernel);
      std::vector<float> y(static_cast<size_t>(channels * rows * columns)), dw(w.size());
      DirectBlock b;
      b.x = x.data(), b.plane = plane, b.row_step = row, b.offsets = offsets.data(), b.taps = std::ssize(offsets);
      b.inputs = inputs, b.outputs = channels, b.rows = rows, b.columns = columns;
      b.w_output = inputs * b.taps, b.w_input = b.taps, b.y_plane = rows * columns, b.y_row = columns;
      f.outputs(b, w.data(), y.data());
      outputs.add(y.data(), std::ssize(y));
      f.weights(b, y.data(), dw.data());
      weights.add(dw.data(), std::ssize(dw));
    }
  lines["direct outputs " + set] = outputs.value();
  lines["direct weights " + set] = weights.value();
}

struct Products {
  bool fused;
  const SkinnyFunctions& skinny;
  const PackedFunctions& packed;
  const DirectFunctions& direct;
};

std::vector<Products> products() {
  std::vector<Products> all;
  for (std::string_view set : usable_instruction_sets())
    all.push_back({set != "baseline", variant_for(set, skinny_variants()), variant_for(set, packed_variants()),
                   variant_for(set, direct_variants())});
  return all;
}

std::string text(const Lines& lines) {
  std::string all;
  for (const auto& [name, sum] : lines) all += fmt::format("{}: {:016x}\n", name, sum);
  return all;
}

}  // namespace

TEST_CASE("kernels have the bits of bits.txt with every instruction set") {
  const FlushSubnormals as_in_runs;
  std::vector<Lines> sets;
  for (const BlockTable* table : usable_variants(blocks_variants())) {
    Lines& lines = sets.emplace_back();
    add_blocks(*table, lines);
    add_bulk(table->bulk, lines);
    add_random(table->bulk, lines);
  }
  for (const IntegerBlocks* table : usable_variants(integer_blocks_variants()))
    add_integers(*table, sets.emplace_back());
  for (const Products& p : products()) {
    Lines& lines = sets.emplace_back();
    const std::string set = set_name(p.fused);
    add_forward(p.skinny, set, lines);
    add_backward(p.skinny, set, lines);
    add_packed(p.packed, set, lines);
    add_direct(p.direct, set, lines);
  }
  const std::string path = PXL_SOURCE_DIR "/tests/unit/kernels/bits.txt";
  if (std::getenv("PXL_UPDATE")) {
    Lines all;
    for (const Lines& lines : sets) all.insert(lines.begin(), lines.end());
    std::ofstream(path) << text(all);
  }
  std::ifstream file(path);
  std::map<std::string, std::string> wanted;
  for (std::string line; std::getline(file, line);)
    wanted[line.substr(0, line.rfind(':'))] = line.substr(line.rfind(':') + 1);
  REQUIRE(!wanted.empty());
  for (size_t i = 0; i < sets.size(); ++i) {
    CAPTURE(i);
    for (const auto& line : sets[i]) {
      const std::string& name = line.first;
      const uint64_t sum = line.second;
      CAPTURE(name);
      CHECK(fmt::format(" {:016x}", sum) == wanted[name]);
    }
  }
}
