#include <ulp/io/table/columns.hpp>

#include <stdexcept>

#include "column_names.hpp"

namespace ulp {
namespace {

// The meaning that the text begins with, up to '='; empty where it begins with none.
std::string_view meaning_at(std::string_view text) {
  const std::string_view word = text.substr(0, text.find('='));
  return word.size() < text.size() && io::column_meaning_named(word) ? word : std::string_view{};
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_columns(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> all;
  while (!text.empty()) {
    const std::string_view meaning = meaning_at(text);
    if (meaning.empty())
      throw std::invalid_argument("'" + std::string(text) +
                                  "' is not MEANING=NAME, where the meaning is step, epoch, loss, norm, lr, scale, "
                                  "found_inf, skipped, applied, rank, run, part, key or value");
    text.remove_prefix(meaning.size() + 1);
    std::size_t end = text.find(',');
    while (end != std::string_view::npos && meaning_at(text.substr(end + 1)).empty()) end = text.find(',', end + 1);
    all.emplace_back(meaning, text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return all;
}

}  // namespace ulp
