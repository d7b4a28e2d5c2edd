// What a key bears on, by its name: of keys that are not known, which conclusions they may upset.
#ifndef ULP_IO_CONFIG_CONCERNS_HPP
#define ULP_IO_CONFIG_CONCERNS_HPP

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/syntax/tree.hpp"

namespace ulp::io {

struct import_run;

enum class concern : std::uint8_t { precision, scale, clipping, accumulation };
constexpr std::size_t concern_count = 4;

// nullopt: none that its name tells of. The last part of a path counts.
[[nodiscard]] std::optional<concern> concern_of(std::string_view key);

// Whether a value is false, 0, no, none, an empty text, nothing.
[[nodiscard]] bool is_false(const config_node& value);

// Of the keys that are not known, notes for those that change nothing that was concluded. Throws input_error, which names them,
// where the format, the scaler or the clipping would be a default in spite of keys that sound as if they set them.
void judge_unknown(import_run& run);

}  // namespace ulp::io

#endif
