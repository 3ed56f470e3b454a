// Sounds: WAV, FLAC and Ogg files, by libsndfile.
#pragma once

#include <string>

#include "runtime/tensor/array.hpp"

namespace pxl {

struct Sound {
  Array samples;     ///< float32 [frames] of one channel, [frames, channels] of several; full scale is -1 to 1
  int64_t rate = 0;  ///< frames a second
};

/// Throws Error (Fault::unreadable) for a damaged file, and for more than `max_decoded_bytes` of samples.
Sound read_sound(const std::string& path);

/// Writes 16-bit PCM as a WAV file. Samples are clipped to full scale.
void write_wav(const std::string& path, const Sound& sound);

}  // namespace pxl
