#include <ulp/io/bytes/limits.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <stdexcept>
#include <system_error>

#include "text.hpp"

namespace ulp {
namespace {

constexpr std::array names{
    limit_name{"tensors", &read_limits::tensors, "tensors"},
    limit_name{"header", &read_limits::header, "bytes"},
    limit_name{"header-share", &read_limits::header_share, "percent"},
    limit_name{"inflate-ratio", &read_limits::inflate_ratio, "for each"},
    limit_name{"text", &read_limits::text, "bytes"},
    limit_name{"rows", &read_limits::rows, "rows"},
};

using io::in_quotes;

}  // namespace

std::span<const limit_name> limit_names() noexcept { return names; }

void set_limit(read_limits& limits, std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    throw std::invalid_argument(in_quotes(text) + " is not of the form NAME=N or NAME=none");
  const std::string_view name = text.substr(0, equals);
  const std::string_view value = text.substr(equals + 1);
  const auto* const row = std::ranges::find(names, name, &limit_name::name);
  if (row == names.end()) {
    std::string known;
    for (const limit_name& l : names) known += (known.empty() ? "" : ", ") + std::string{l.name};
    throw std::invalid_argument("unknown limit " + in_quotes(name) + ": one of " + known);
  }
  std::uint64_t number = read_limits::none;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  if (value != "none" && (error != std::errc{} || stop != end))
    throw std::invalid_argument(in_quotes(value) + " is neither a whole number nor none");
  limits.*(row->value) = number;
}

std::string wrong_with_rows(const read_limits& limits, std::uint64_t rows, std::uint64_t elements) {
  if (rows == 0 || elements == 0)
    return "has no elements: " + std::to_string(rows) + " rows of " + std::to_string(elements) +
           "; each row is a step or micro-batch, so give an array whose rows hold gradients";
  if (rows <= limits.rows) return "";
  return "has " + std::to_string(rows) + " rows, each a step or micro-batch; " + limit_text(limits, &read_limits::rows);
}

std::string limit_text(const read_limits& limits, std::uint64_t read_limits::*limit) {
  const auto* const row = std::ranges::find(names, limit, &limit_name::value);
  const std::string name(row->name);
  return "the limit is " + std::to_string(limits.*limit) + " " + std::string(row->unit) + "; --limit " + name +
         "=N raises it, --limit " + name + "=none lifts it, for files that you trust";
}

}  // namespace ulp
