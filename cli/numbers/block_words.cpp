#include "block_words.hpp"

#include <fmt/format.h>

#include <charconv>

#include "command.hpp"

namespace ulp::cli {

const block_format& block_format_named(const std::string& name, std::string_view option) {
  const parsed<const block_format*> row = read_block_format(name);
  if (!row.value) throw usage_error(fmt::format("{}: {}; `ulp formats --blocks` lists them", option, row.error));
  return **row.value;
}

int axis_named(const std::string& text) {
  int axis = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), axis);
  if (error != std::errc{} || end != text.data() + text.size())
    throw usage_error(fmt::format("--axis: '{}' is no integer", text));
  return axis;
}

}  // namespace ulp::cli
