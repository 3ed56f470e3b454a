// The settings of a process: one table of environment variables, their accepted values and defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pxl {

enum class Setting : uint8_t {
#define PXL_SETTING(id, name, values, by_default, doc) id,
#include "runtime/base/settings.inc"
#undef PXL_SETTING
};

struct SettingRow {
  std::string_view name;        ///< "PXL_SEED"
  std::string_view values;      ///< "on|off", "1..64", or empty
  std::string_view by_default;  ///< value of a variable that is unset or empty
  std::string_view doc;
};

/// All rows, in enum order.
std::span<const SettingRow> settings_table();

/// The value, or the row's default if the variable is unset or empty. Throws Error (usage) for a value that the row
/// does not accept, with the nearest one.
std::string setting(Setting of);
/// The same for a row with values `on` and `off`.
bool is_on(Setting of);
/// The same for a row with a range; nothing where the default is empty.
std::optional<uint64_t> number_of(Setting of);

/// Throws Error (usage) for the first setting with a value that its row does not accept.
void check_settings();
/// A sentence for each variable of the environment whose name begins with PXL_ and is no setting, with the nearest one.
std::vector<std::string> unknown_settings();

}  // namespace pxl
