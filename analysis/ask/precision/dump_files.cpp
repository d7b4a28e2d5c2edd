#include "dump_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

namespace ulp {
namespace {

namespace fs = std::filesystem;

// "batch9" before "batch10": numbers by their value.
bool comes_before(const std::string& a, const std::string& b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < a.size() && k < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[k])) {
      if (a[i] != b[k]) return a[i] < b[k];
      ++i, ++k;
      continue;
    }
    const auto number = [&](const std::string& text, std::size_t& at) {
      while (at < text.size() && text[at] == '0') ++at;
      const std::size_t begin = at;
      while (at < text.size() && is_digit(text[at])) ++at;
      return text.substr(begin, at - begin);
    };
    const std::string x = number(a, i);
    const std::string y = number(b, k);
    if (x.size() != y.size()) return x.size() < y.size();
    if (x != y) return x < y;
  }
  return std::pair{a.size() - i, a} < std::pair{b.size() - k, b};
}

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& inputs, std::string_view of) {
  std::vector<std::string> files;
  for (const std::string& input : inputs) {
    if (!fs::is_directory(input)) {
      files.push_back(input);
      continue;
    }
    std::vector<std::string> inside;
    for (const fs::directory_entry& entry : fs::directory_iterator(input))
      if (entry.is_regular_file()) inside.push_back(entry.path().string());
    if (inside.empty()) inside = dumps_of_framework(input);
    if (inside.empty()) throw input_error(input, "", fmt::format("holds no file; give a folder with {}", of));
    std::ranges::sort(inside, comes_before);
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

number_file open_numbers(const std::string& path, const run_text& run, listener& to) {
  number_file file(path, run.how_to_read().limits);
  tell_notes(file, to);
  return file;
}

void tell_notes(const number_file& file, listener& to) {
  for (const std::string& line : file.notes()) to.note(fmt::format("{}: {}", file.path(), line));
}

}  // namespace ulp
