// What the writer and the readers of recordings share: identity, tables, keys as text. docs/recording-format.md is the law.
#ifndef ULP_IO_SCHEMA_HPP
#define ULP_IO_SCHEMA_HPP

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ulp/model/step.hpp>

#include "payload.hpp"
#include "sqlite.hpp"

namespace ulp::io {

inline constexpr std::int64_t application_id = 0x756C7072;  // "ulpr"
inline constexpr std::int64_t format_version = 1;

// "3,4,5" and back; empty for none.
template <typename Number>
std::string join(const std::vector<Number>& numbers) {
  std::string text;
  for (const Number n : numbers) text += (text.empty() ? "" : ",") + std::to_string(n);
  return text;
}

template <typename Number>
std::vector<Number> split(std::string_view text) {
  std::vector<Number> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    Number n{};
    const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), n);
    if (error != std::errc{} || end != item.data() + item.size()) throw payload_error("a list that is none");
    numbers.push_back(n);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return numbers;
}

// "step 7 attempt 1", for errors and digests.
[[nodiscard]] std::string describe(const step_key& key);

// The key in the first three columns of a row.
[[nodiscard]] step_key key_at(const statement& row);

// Refuses what is no recording of ours before any of its content is used.
void check_identity(database& db);

[[nodiscard]] std::vector<tensor_info> read_tensors(const database& db);

}  // namespace ulp::io

#endif
