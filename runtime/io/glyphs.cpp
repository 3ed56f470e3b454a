// The table of glyphs. Points were placed by hand after common school and everyday forms.
#include "runtime/io/glyphs.hpp"

namespace pxl {
namespace {

using P = GlyphPoint;

constexpr P d0a0[] = {{0.55f, 0.0f}, {0.22f, 0.13f}, {0.06f, 0.5f}, {0.2f, 0.88f}, {0.5f, 1.0f},
                      {0.8f, 0.86f}, {0.94f, 0.5f},  {0.8f, 0.12f}, {0.52f, 0.0f}};
constexpr GlyphStroke d0a[] = {{d0a0}};

constexpr P d0b0[] = {{0.7f, 0.06f}, {0.4f, 0.02f}, {0.14f, 0.3f},  {0.1f, 0.68f}, {0.36f, 0.98f},
                      {0.7f, 0.86f}, {0.88f, 0.5f}, {0.78f, 0.14f}, {0.5f, 0.04f}, {0.36f, 0.14f}};
constexpr GlyphStroke d0b[] = {{d0b0}};

constexpr P d0c0[] = {{0.36f, 0.02f}, {0.14f, 0.4f},  {0.2f, 0.84f},  {0.5f, 1.0f},
                      {0.8f, 0.76f},  {0.84f, 0.34f}, {0.62f, 0.04f}, {0.3f, 0.08f}};
constexpr GlyphStroke d0c[] = {{d0c0}};

constexpr P d1a0[] = {{0.52f, 0.0f}, {0.5f, 0.5f}, {0.48f, 1.0f}};
constexpr GlyphStroke d1a[] = {{d1a0}};

constexpr P d1b0[] = {{0.3f, 0.24f}, {0.44f, 0.14f}, {0.55f, 0.0f}};
constexpr P d1b1[] = {{0.55f, 0.0f}, {0.54f, 0.5f}, {0.53f, 1.0f}};
constexpr GlyphStroke d1b[] = {{d1b0}, {d1b1}};

constexpr P d1c0[] = {{0.3f, 0.22f}, {0.54f, 0.0f}};
constexpr P d1c1[] = {{0.54f, 0.0f}, {0.53f, 0.5f}, {0.52f, 1.0f}};
constexpr P d1c2[] = {{0.26f, 1.0f}, {0.54f, 0.99f}, {0.8f, 1.0f}};
constexpr GlyphStroke d1c[] = {{d1c0}, {d1c1}, {d1c2}};

constexpr P d2a0[] = {{0.1f, 0.26f}, {0.3f, 0.04f},  {0.62f, 0.02f}, {0.82f, 0.24f},
                      {0.7f, 0.54f}, {0.38f, 0.82f}, {0.1f, 1.0f}};
constexpr P d2a1[] = {{0.1f, 1.0f}, {0.5f, 0.96f}, {0.94f, 0.98f}};
constexpr GlyphStroke d2a[] = {{d2a0}, {d2a1}};

constexpr P d2b0[] = {{0.14f, 0.2f},  {0.4f, 0.0f},   {0.74f, 0.1f}, {0.76f, 0.38f}, {0.5f, 0.7f},  {0.2f, 0.96f},
                      {0.06f, 0.88f}, {0.22f, 0.76f}, {0.5f, 0.88f}, {0.74f, 1.0f},  {0.96f, 0.88f}};
constexpr GlyphStroke d2b[] = {{d2b0}};

constexpr P d2c0[] = {{0.12f, 0.16f}, {0.36f, 0.02f}, {0.66f, 0.08f}, {0.72f, 0.34f}, {0.46f, 0.66f}, {0.12f, 0.94f}};
constexpr P d2c1[] = {{0.12f, 0.94f}, {0.4f, 0.86f}, {0.64f, 0.98f}, {0.92f, 0.94f}};
constexpr GlyphStroke d2c[] = {{d2c0}, {d2c1}};

constexpr P d3a0[] = {{0.12f, 0.12f}, {0.42f, 0.0f}, {0.76f, 0.12f}, {0.74f, 0.36f}, {0.4f, 0.47f}};
constexpr P d3a1[] = {{0.4f, 0.47f}, {0.76f, 0.56f}, {0.88f, 0.78f}, {0.58f, 1.0f}, {0.1f, 0.9f}};
constexpr GlyphStroke d3a[] = {{d3a0}, {d3a1}};

constexpr P d3b0[] = {{0.1f, 0.06f}, {0.48f, 0.03f}, {0.84f, 0.04f}};
constexpr P d3b1[] = {{0.84f, 0.04f}, {0.62f, 0.24f}, {0.42f, 0.42f}};
constexpr P d3b2[] = {{0.42f, 0.42f}, {0.78f, 0.5f}, {0.88f, 0.76f}, {0.56f, 1.0f}, {0.1f, 0.92f}};
constexpr GlyphStroke d3b[] = {{d3b0}, {d3b1}, {d3b2}};

constexpr P d3c0[] = {{0.16f, 0.1f},  {0.5f, 0.0f},   {0.74f, 0.16f}, {0.64f, 0.4f}, {0.46f, 0.48f},
                      {0.66f, 0.54f}, {0.82f, 0.76f}, {0.56f, 0.98f}, {0.12f, 0.94f}};
constexpr GlyphStroke d3c[] = {{d3c0}};

constexpr P d4a0[] = {{0.2f, 0.02f}, {0.16f, 0.3f}, {0.1f, 0.54f}};
constexpr P d4a1[] = {{0.1f, 0.54f}, {0.5f, 0.56f}, {0.92f, 0.52f}};
constexpr P d4a2[] = {{0.74f, 0.04f}, {0.72f, 0.5f}, {0.7f, 1.0f}};
constexpr GlyphStroke d4a[] = {{d4a0}, {d4a1}, {d4a2}};

constexpr P d4b0[] = {{0.64f, 0.0f}, {0.34f, 0.34f}, {0.04f, 0.66f}};
constexpr P d4b1[] = {{0.04f, 0.66f}, {0.5f, 0.66f}, {0.96f, 0.64f}};
constexpr P d4b2[] = {{0.64f, 0.0f}, {0.65f, 0.5f}, {0.64f, 1.0f}};
constexpr GlyphStroke d4b[] = {{d4b0}, {d4b1}, {d4b2}};

constexpr P d4c0[] = {{0.18f, 0.04f}, {0.12f, 0.36f}, {0.3f, 0.52f}, {0.6f, 0.46f}, {0.78f, 0.3f}};
constexpr P d4c1[] = {{0.8f, 0.02f}, {0.76f, 0.5f}, {0.68f, 1.0f}};
constexpr GlyphStroke d4c[] = {{d4c0}, {d4c1}};

constexpr P d5a0[] = {{0.86f, 0.02f}, {0.56f, 0.03f}, {0.26f, 0.04f}};
constexpr P d5a1[] = {{0.26f, 0.04f}, {0.22f, 0.24f}, {0.18f, 0.44f}};
constexpr P d5a2[] = {{0.18f, 0.44f}, {0.54f, 0.36f}, {0.86f, 0.6f}, {0.74f, 0.92f}, {0.4f, 1.0f}, {0.08f, 0.9f}};
constexpr GlyphStroke d5a[] = {{d5a0}, {d5a1}, {d5a2}};

constexpr P d5b0[] = {{0.9f, 0.04f}, {0.56f, 0.02f}, {0.32f, 0.1f},  {0.26f, 0.34f},
                      {0.56f, 0.5f}, {0.74f, 0.74f}, {0.52f, 0.98f}, {0.12f, 0.94f}};
constexpr GlyphStroke d5b[] = {{d5b0}};

constexpr P d5c0[] = {{0.28f, 0.1f}, {0.22f, 0.28f}, {0.2f, 0.46f}};
constexpr P d5c1[] = {{0.2f, 0.46f}, {0.56f, 0.4f}, {0.84f, 0.64f}, {0.66f, 0.96f}, {0.12f, 0.96f}};
constexpr P d5c2[] = {{0.28f, 0.1f}, {0.6f, 0.08f}, {0.9f, 0.0f}};
constexpr GlyphStroke d5c[] = {{d5c0}, {d5c1}, {d5c2}};

constexpr P d6a0[] = {{0.74f, 0.02f}, {0.42f, 0.18f}, {0.16f, 0.58f}, {0.24f, 0.92f}, {0.54f, 1.0f},
                      {0.84f, 0.82f}, {0.7f, 0.58f},  {0.4f, 0.58f},  {0.2f, 0.78f}};
constexpr GlyphStroke d6a[] = {{d6a0}};

constexpr P d6b0[] = {{0.5f, 0.0f},  {0.28f, 0.36f}, {0.18f, 0.72f}, {0.4f, 0.98f},
                      {0.72f, 0.9f}, {0.78f, 0.66f}, {0.52f, 0.56f}, {0.24f, 0.7f}};
constexpr GlyphStroke d6b[] = {{d6b0}};

constexpr P d6c0[] = {{0.34f, 0.0f},  {0.16f, 0.42f}, {0.16f, 0.8f}, {0.46f, 1.0f},
                      {0.84f, 0.86f}, {0.78f, 0.62f}, {0.46f, 0.6f}, {0.2f, 0.84f}};
constexpr GlyphStroke d6c[] = {{d6c0}};

constexpr P d7a0[] = {{0.08f, 0.06f}, {0.5f, 0.06f}, {0.9f, 0.04f}};
constexpr P d7a1[] = {{0.9f, 0.04f}, {0.6f, 0.5f}, {0.4f, 1.0f}};
constexpr GlyphStroke d7a[] = {{d7a0}, {d7a1}};

constexpr P d7b0[] = {{0.1f, 0.22f}, {0.12f, 0.08f}, {0.5f, 0.08f}, {0.88f, 0.02f}};
constexpr P d7b1[] = {{0.88f, 0.02f}, {0.66f, 0.44f}, {0.54f, 1.0f}};
constexpr GlyphStroke d7b[] = {{d7b0}, {d7b1}};

constexpr P d7c0[] = {{0.08f, 0.06f}, {0.5f, 0.06f}, {0.88f, 0.04f}};
constexpr P d7c1[] = {{0.88f, 0.04f}, {0.62f, 0.5f}, {0.44f, 1.0f}};
constexpr P d7c2[] = {{0.34f, 0.5f}, {0.58f, 0.49f}, {0.86f, 0.48f}};
constexpr GlyphStroke d7c[] = {{d7c0}, {d7c1}, {d7c2}};

constexpr P d7d0[] = {{0.1f, 0.1f}, {0.46f, 0.03f}, {0.84f, 0.1f}, {0.78f, 0.34f}, {0.56f, 0.68f}, {0.46f, 1.0f}};
constexpr GlyphStroke d7d[] = {{d7d0}};

constexpr P d8a0[] = {{0.8f, 0.16f}, {0.48f, 0.0f},  {0.18f, 0.2f},  {0.46f, 0.46f}, {0.82f, 0.74f},
                      {0.5f, 1.0f},  {0.14f, 0.78f}, {0.48f, 0.48f}, {0.78f, 0.22f}};
constexpr GlyphStroke d8a[] = {{d8a0}};

constexpr P d8b0[] = {{0.5f, 0.0f},   {0.22f, 0.12f}, {0.26f, 0.38f}, {0.5f, 0.46f},
                      {0.76f, 0.34f}, {0.76f, 0.1f},  {0.48f, 0.0f}};
constexpr P d8b1[] = {{0.5f, 0.46f}, {0.16f, 0.62f}, {0.2f, 0.92f}, {0.5f, 1.0f},
                      {0.82f, 0.9f}, {0.82f, 0.62f}, {0.52f, 0.46f}};
constexpr GlyphStroke d8b[] = {{d8b0}, {d8b1}};

constexpr P d8c0[] = {{0.5f, 0.48f},  {0.2f, 0.26f}, {0.44f, 0.02f}, {0.76f, 0.16f}, {0.58f, 0.44f},
                      {0.24f, 0.72f}, {0.4f, 0.98f}, {0.72f, 0.88f}, {0.68f, 0.62f}, {0.46f, 0.46f}};
constexpr GlyphStroke d8c[] = {{d8c0}};

constexpr P d9a0[] = {{0.8f, 0.2f}, {0.5f, 0.02f}, {0.18f, 0.2f}, {0.24f, 0.46f}, {0.56f, 0.46f}, {0.82f, 0.16f}};
constexpr P d9a1[] = {{0.82f, 0.16f}, {0.8f, 0.6f}, {0.7f, 1.0f}};
constexpr GlyphStroke d9a[] = {{d9a0}, {d9a1}};

constexpr P d9b0[] = {{0.84f, 0.14f}, {0.5f, 0.0f}, {0.2f, 0.18f}, {0.26f, 0.44f}, {0.6f, 0.44f}, {0.82f, 0.12f}};
constexpr P d9b1[] = {{0.82f, 0.12f}, {0.82f, 0.56f}, {0.62f, 0.94f}, {0.22f, 0.96f}};
constexpr GlyphStroke d9b[] = {{d9b0}, {d9b1}};

constexpr P d9c0[] = {{0.7f, 0.08f},  {0.4f, 0.04f},  {0.22f, 0.26f}, {0.42f, 0.44f},
                      {0.68f, 0.32f}, {0.74f, 0.08f}, {0.68f, 0.5f},  {0.56f, 1.0f}};
constexpr GlyphStroke d9c[] = {{d9c0}};

constexpr Glyph table[] = {
    {0, 4, d0a}, {0, 2, d0b}, {0, 1, d0c}, {1, 4, d1a}, {1, 2, d1b}, {1, 1, d1c}, {2, 3, d2a}, {2, 3, d2b},
    {2, 1, d2c}, {3, 4, d3a}, {3, 2, d3b}, {3, 1, d3c}, {4, 3, d4a}, {4, 2, d4b}, {4, 2, d4c}, {5, 3, d5a},
    {5, 2, d5b}, {5, 1, d5c}, {6, 4, d6a}, {6, 2, d6b}, {6, 1, d6c}, {7, 3, d7a}, {7, 2, d7b}, {7, 1, d7c},
    {7, 1, d7d}, {8, 4, d8a}, {8, 2, d8b}, {8, 1, d8c}, {9, 3, d9a}, {9, 2, d9b}, {9, 2, d9c},
};

}  // namespace

std::span<const Glyph> glyphs() { return table; }

}  // namespace pxl
