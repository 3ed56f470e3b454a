// NumPy's .npz files: zip archives of .npy files, by libzip.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/tensor/named_array.hpp"

namespace pxl {

/// The arrays in the order of the archive; a member "w.npy" is "w". Throws Error (Fault::unreadable) for a damaged
/// archive, and for members that are not .npy files. The same holds for an archive that expands to more than 100 times
/// its size and 1 GiB.
std::vector<NamedArray> load_npz(const std::string& path);

/// The names and specs of the arrays, from the directory of the archive and the headers of its members. Throws Error
/// for more than 64 members too.
std::vector<std::pair<std::string, TensorSpec>> load_npz_headers(const std::string& path);

/// Members are stored without compression, as by numpy.savez. The same arrays give the same bytes.
void save_npz(const std::string& path, const std::vector<NamedArray>& arrays);

}  // namespace pxl
