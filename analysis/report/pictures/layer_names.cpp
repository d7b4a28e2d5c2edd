#include <ulp/report/pictures/layer_names.hpp>

#include <algorithm>
#include <cctype>

namespace ulp {
namespace {

constexpr std::string_view separators = "./";

std::string_view without_separator(std::string_view part) {
  if (!part.empty() && separators.find(part.back()) != std::string_view::npos) part.remove_suffix(1);
  return part;
}

struct module {
  std::string_view part;
  std::vector<std::uint32_t> own;  // tensors of just this name
  std::vector<module> below;

  module& of(std::string_view next) {
    const auto found =
        std::ranges::find(below, without_separator(next), [](const module& m) { return without_separator(m.part); });
    if (found == below.end()) return below.emplace_back(module{.part = next, .own = {}, .below = {}});
    if (next.size() > found->part.size()) found->part = next;
    return *found;
  }
  void collect(std::vector<std::uint32_t>& into) const {
    into.insert(into.end(), own.begin(), own.end());
    for (const module& m : below) m.collect(into);
  }
};

struct listing {
  const std::vector<std::string>& names;
  const std::function<bool(const module_row&)>& is_open;
  std::vector<module_row> rows;

  void add_tensor(std::uint32_t tensor, const std::string& label, std::size_t depth) {
    rows.push_back({.path = names[tensor],
                    .label = std::string{without_separator(label)},
                    .depth = depth,
                    .is_module = false,
                    .tensors = {tensor}});
  }

  void add(const module& of, std::string path, std::size_t depth) {
    const module* at = &of;
    std::string label{at->part};
    while (at->own.empty() && at->below.size() == 1) {
      at = &at->below.front();
      label += at->part;
    }
    path += label;
    if (at->below.empty()) {
      for (const std::uint32_t t : at->own) add_tensor(t, label, depth);
      return;
    }
    module_row& row = rows.emplace_back(module_row{.path = std::string{without_separator(path)},
                                                   .label = std::string{without_separator(label)},
                                                   .depth = depth,
                                                   .is_module = true,
                                                   .tensors = {}});
    at->collect(row.tensors);
    if (!is_open(row)) return;
    for (const std::uint32_t t : at->own) add_tensor(t, label, depth + 1);
    for (const module& m : at->below) add(m, path, depth + 1);
  }
};

// With the first letters of its words for each of the first `n` parts: "self_attention." is "sa."; numbers stay.
std::string abbreviated(const std::string& name, std::size_t n) {
  std::string text;
  for (const std::string_view part : parts_of(name)) {
    if (n == 0 || std::isdigit(static_cast<unsigned char>(part.front())) != 0) {
      text += part;
    } else {
      bool begins = true;
      for (const char c : without_separator(part)) {
        if (begins || std::isdigit(static_cast<unsigned char>(c)) != 0) text += c;
        begins = c == '_';
      }
      text += part.substr(without_separator(part).size());
    }
    n -= n > 0 ? 1 : 0;
  }
  return text;
}

}  // namespace

std::vector<std::string_view> parts_of(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find_first_of(separators), name.size() - 1) + 1;
    parts.push_back(name.substr(0, end));
    name.remove_prefix(end);
  }
  return parts;
}

std::vector<module_row> module_rows(const std::vector<std::string>& names, const std::vector<std::uint32_t>& shown,
                                    const std::function<bool(const module_row&)>& is_open) {
  module root;
  for (const std::uint32_t t : shown) {
    module* at = &root;
    for (const std::string_view part : parts_of(names[t])) at = &at->of(part);
    at->own.push_back(t);
  }
  listing all{.names = names, .is_open = is_open, .rows = {}};
  for (const std::uint32_t t : root.own) all.add_tensor(t, names[t], 0);
  for (const module& m : root.below) all.add(m, {}, 0);
  return std::move(all.rows);
}

std::string shortened(const std::string& name, const std::vector<std::string>& all,
                      const std::function<bool(const std::string&)>& fits) {
  if (fits(name)) return name;
  const std::vector<std::string_view> parts = parts_of(name);
  std::string best;
  std::size_t most = 0;  // letters kept
  std::size_t before = 0;
  for (std::size_t from = 0; from < parts.size(); before += parts[from++].size()) {
    std::size_t end = before;
    for (std::size_t to = from; to < parts.size(); ++to) {
      end += parts[to].size();
      const std::size_t kept = name.size() - (end - before);
      if (kept <= most) break;
      const std::string_view head = std::string_view{name}.substr(0, before);
      const std::string_view tail = std::string_view{name}.substr(end);
      std::string text = std::string{without_separator(head)} + "…" + std::string{tail};
      if (!fits(text)) continue;
      const bool alone = std::ranges::none_of(all, [&](const std::string& other) {
        return other != name && other.size() >= kept && other.starts_with(head) && other.ends_with(tail);
      });
      if (!alone) continue;
      best = std::move(text);
      most = kept;
    }
    // Names that all lose their beginning are read most easily.
    if (from == 0 && !best.empty()) return best;
  }
  for (std::size_t n = 1; best.empty() && n <= parts.size(); ++n) {
    std::string text = abbreviated(name, n);
    const bool alone = std::ranges::none_of(
        all, [&](const std::string& other) { return other != name && abbreviated(other, n) == text; });
    if (alone && fits(text)) best = std::move(text);
  }
  return best;
}

}  // namespace ulp
