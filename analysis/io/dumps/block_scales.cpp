#include "block_scales.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <ulp/io/bytes/error.hpp>

#include "bytes/text.hpp"

namespace ulp::io {
namespace {

constexpr std::uint64_t usual_extent = 128;     // of DeepSeek-V3's blocks, the last of a row or column being cut off
constexpr std::uint64_t most_scales = 1 << 28;  // bytes of them, which are held in memory

constexpr std::string_view way_out = "--raw-codes reads codes and scales as tensors of their own";

using shape = std::vector<std::uint64_t>;

std::string text_of_shape(const shape& of) {
  std::string text;
  for (const std::uint64_t n : of) text += (text.empty() ? "" : ", ") + std::to_string(n);
  return "[" + text + "]";
}
std::string described(const stored_tensor& e) {
  return in_quotes(e.name) + " (" + e.type + " " + text_of_shape(e.shape) + ")";
}

bool is_float8(const stored_tensor& e) { return e.as == stored_as::numbers && size_of(e.number) == 1; }
bool may_be_codes(const stored_tensor& e) {
  return is_float8(e) || e.as == stored_as::bytes || e.as == stored_as::pairs || e.as == stored_as::nameless;
}

unsigned kind_of_scales(const stored_tensor& e) {
  switch (e.as) {
    case stored_as::numbers:
      if (e.number == dtype::float8_e4m3fn) return e4m3_scales;
      return size_of(e.number) == 2 || e.number == dtype::float32 ? float_scales : 0U;
    case stored_as::e8m0: return e8m0_scales;
    case stored_as::bytes: return byte_scales;
    case stored_as::nameless: return e8m0_scales | e4m3_scales;
    case stored_as::pairs:
    case stored_as::other: break;
  }
  return 0U;
}

// The extents of the blocks that numbers of the shape `of` have one of `scales` for; nullopt where there are none.
std::optional<shape> block_of_any(const shape& of, const shape& scales) {
  if (checked_product(scales) == 1) return of;
  if (scales.size() > of.size() || scales.empty()) return std::nullopt;
  shape block;
  for (std::size_t i = 0; i < of.size(); ++i) {
    if (i >= scales.size()) {  // of each first index, as (N,) for (N, K)
      block.push_back(of[i]);
      continue;
    }
    const bool is_whole = scales.size() < of.size();
    const bool is_usual = !is_whole && of[i] / usual_extent + (of[i] % usual_extent != 0 ? 1 : 0) == scales[i];
    if (!is_usual && (scales[i] == 0 || of[i] % scales[i] != 0)) return std::nullopt;
    if (is_whole && of[i] != scales[i]) return std::nullopt;
    block.push_back(is_usual ? std::min(usual_extent, of[i]) : of[i] / scales[i]);
  }
  return block;
}

// One for each group of the last dimension; ModelOpt's MXFP4 has them in a column.
std::optional<shape> block_of_groups(const shape& of, const shape& scales, std::uint64_t group) {
  if (of.empty() || of.back() % group != 0) return std::nullopt;
  shape expected = of;
  expected.back() /= group;
  const shape column{checked_product(expected).value_or(0), 1};
  if (scales != expected && scales != column) return std::nullopt;
  shape block(of.size(), 1);
  block.back() = group;
  return block;
}

std::optional<shape> block_of(scale_extent extent, const shape& of, const shape& scales) {
  if (checked_product(of) == 0) return shape(of.size(), 1);
  switch (extent) {
    case scale_extent::any: return block_of_any(of, scales);
    case scale_extent::of_16: return block_of_groups(of, scales, 16);
    case scale_extent::of_32:
    case scale_extent::of_bytes: break;
  }
  return block_of_groups(of, scales, 32);
}

// Of the numbers of these codes; nullopt where there cannot be any.
std::optional<shape> shape_of_numbers(const scale_convention& by, shape codes) {
  if (by.codes == code_kind::float8) return codes;
  if (codes.empty()) return std::nullopt;
  if (by.extent == scale_extent::of_bytes) {
    constexpr std::uint64_t bytes_of_block = 16;
    if (codes.size() < 2 || codes.back() != bytes_of_block) return std::nullopt;
    codes.pop_back();
    codes.back() *= bytes_of_block;
  }
  codes.back() *= 2;
  return checked_product(codes) ? std::optional{codes} : std::nullopt;
}

// Up to and with the last separator.
std::size_t module_size(std::string_view name) {
  const std::size_t last = name.find_last_of("./");
  return last == std::string_view::npos ? 0 : last + 1;
}

bool sounds_like_scale(std::string_view name) {
  return name.find("scale") != std::string_view::npos || name.find("scaling") != std::string_view::npos;
}

// Of what goes into or comes out of a layer, of a cache or of attention: no scales of weights.
bool is_of_activations(std::string_view words) {
  constexpr std::array<std::string_view, 18> those{"input", "inputs", "in",   "output", "outputs",    "out",
                                                   "act",   "acts",   "k",    "v",      "q",          "kv",
                                                   "qkv",   "attn",   "prob", "probs",  "activation", "activations"};
  while (!words.empty()) {
    const std::size_t end = std::min(words.find_first_of("_.-:"), words.size());
    if (std::ranges::find(those, words.substr(0, end)) != those.end()) return true;
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return false;
}

// The names of a file's scales.
class scale_names {
 public:
  explicit scale_names(std::unordered_set<std::string_view> all) : all_(std::move(all)) {
    for (const std::string_view name : all_) {
      const std::size_t module = module_size(name);
      if (!sounds_like_scale(name.substr(module))) continue;
      scales_.push_back(name);
      if (!is_of_activations(name.substr(module))) of_weights_[name.substr(0, module)].push_back(name);
    }
    std::ranges::sort(scales_);
    for (auto& [module, names] : of_weights_) std::ranges::sort(names);
  }

  // Those that say something of these codes, by their names.
  [[nodiscard]] std::vector<std::string_view> beside(std::string_view codes) const {
    const std::size_t module = module_size(codes);
    const std::string_view local = codes.substr(module);
    std::vector<std::string_view> found;
    add_after(codes.substr(0, module + stem_of(local).size()), "_:-", found);
    add_after(codes, ".", found);
    for (const std::string_view alone : {"scale", "scales", "scale_inv"})
      if (const auto there = all_.find(std::string{codes.substr(0, module)}.append(alone)); there != all_.end())
        found.push_back(*there);
    if (local.starts_with("weight")) {
      if (const auto of = of_weights_.find(codes.substr(0, module)); of != of_weights_.end())
        for (const std::string_view name : of->second)
          if (!belongs_to_longer(name, module)) found.push_back(name);
      // MODULE_scale beside MODULE.weight.
      if (module > 0) add_after(codes.substr(0, module - 1), "_", found);
    }
    std::ranges::sort(found);
    found.erase(std::unique(found.begin(), found.end()), found.end());
    std::erase(found, codes);
    return found;
  }

 private:
  static std::string_view stem_of(std::string_view local) {
    for (const std::string_view ending : {"_packed", "_blocks"})
      if (local.size() > ending.size() && local.ends_with(ending)) return local.substr(0, local.size() - ending.size());
    return local;
  }
  // Names of scales that go on after `start` with one of the separators.
  void add_after(std::string_view start, std::string_view separators, std::vector<std::string_view>& to) const {
    for (const char separator : separators) {
      const std::string with = std::string{start} + separator;
      for (auto name = std::ranges::lower_bound(scales_, std::string_view{with});
           name != scales_.end() && name->starts_with(with); ++name)
        if (!is_of_activations(name->substr(with.size())) && !belongs_to_longer(*name, with.size()))
          to.push_back(*name);
    }
  }
  // Whether a part of the name, longer than so much, names another tensor: gate_up_scale beside gate and gate_up.
  [[nodiscard]] bool belongs_to_longer(std::string_view name, std::size_t than) const {
    for (std::size_t i = than + 1; i < name.size(); ++i) {
      if (name[i] != '_' && name[i] != ':' && name[i] != '-') continue;
      const std::string_view part = name.substr(0, i);
      if (!sounds_like_scale(part.substr(module_size(part))) && all_.contains(part)) return true;
    }
    return false;
  }

  std::unordered_set<std::string_view> all_;
  std::vector<std::string_view> scales_;                                            // in order
  std::unordered_map<std::string_view, std::vector<std::string_view>> of_weights_;  // by module
};

class recognition {
 public:
  recognition(const stored_file& file, const model_index* index, const std::optional<format>& bytes_are)
      : file_(file), all_stored_(file.stored()), index_(index), bytes_are_(bytes_are), names_(all_names(file, index)) {
    for (std::size_t i = 0; i < all_stored_.size(); ++i) by_name_.emplace(all_stored_[i].name, i);
  }

  void run() {
    all_.resize(all_stored_.size());
    for (std::size_t i = 0; i < all_stored_.size(); ++i) {
      const stored_tensor& e = all_stored_[i];
      const std::string_view local = std::string_view{e.name}.substr(module_size(e.name));
      if (!may_be_codes(e) || sounds_like_scale(local)) continue;
      const auto beside = names_.beside(e.name);
      if (!beside.empty())
        recognise(i, beside);
      else if (is_single(e))
        plain_.push_back(i);
      else if (local.starts_with("weight") || local.ends_with("_packed") || local.ends_with("blocks"))
        has_open_bytes_ = true;
    }
    refuse_plain_beside_scaled();
    refuse_one_name_twice();
  }

  [[nodiscard]] std::vector<std::optional<scaled_tensor>> take() { return std::move(all_); }
  // Whether there are codes, or what may be codes, without scales.
  [[nodiscard]] bool is_open() const { return !plain_.empty() || has_open_bytes_; }

 private:
  // Whether it would be read as numbers without scales, each byte one.
  [[nodiscard]] bool is_single(const stored_tensor& e) const {
    return is_float8(e) || (bytes_are_ && (e.as == stored_as::bytes || e.as == stored_as::nameless));
  }
  [[nodiscard]] bool holds(const stored_tensor& e, code_kind kind) const {
    if (kind == code_kind::float8) return is_single(e) || e.as == stored_as::nameless;
    return e.as == stored_as::pairs || (e.as == stored_as::bytes && !bytes_are_);
  }
  static std::unordered_set<std::string_view> all_names(const stored_file& file, const model_index* index) {
    std::unordered_set<std::string_view> all;
    for (const stored_tensor& e : file.stored()) all.insert(e.name);
    if (index != nullptr)
      for (const auto& [name, place] : index->elsewhere()) all.insert(name);
    return all;
  }
  [[nodiscard]] std::optional<placed_tensor> find(const std::string& name) const {
    if (const auto here = by_name_.find(name); here != by_name_.end())
      return placed_tensor{nullptr, here->second, all_stored_[here->second]};
    if (index_ != nullptr && index_->elsewhere().contains(name)) return index_->find(name);
    return std::nullopt;
  }

  // Why conventions that have these names do not fit, the nearer the later.
  struct reasons {
    std::string wrong_type;
    std::string wrong_shape;
    std::string incomplete;
    [[nodiscard]] const std::string& best() const {
      return !incomplete.empty() ? incomplete : !wrong_shape.empty() ? wrong_shape : wrong_type;
    }
  };

  void recognise(std::size_t i, const std::vector<std::string_view>& beside) {
    const stored_tensor& codes = all_stored_[i];
    reasons why;
    bool has_names = false;
    for (const scale_convention& by : scale_conventions()) {
      if (!holds(codes, by.codes) || !codes.name.ends_with(by.of_codes)) continue;
      const std::string base = codes.name.substr(0, codes.name.size() - by.of_codes.size());
      const std::string scales = base + std::string{by.of_scales};
      if (std::ranges::find(beside, scales) == beside.end()) continue;
      has_names = true;
      if (codes.as == stored_as::nameless && !bytes_are_) {
        why.incomplete = "and " + codes.type +
                         " does not say of which format its codes are: save it as .safetensors, or "
                         "name the format by --from of ulp convert";
        break;
      }
      if (by.codes == code_kind::float4_pairs && !codes.lies_by.empty()) {
        why.incomplete = "and its bytes do not lie row by row: save it with contiguous()";
        break;
      }
      if (auto found = fitted(codes, by, base, scales, beside, why)) {
        all_[i] = std::move(found);
        return;
      }
    }
    if (!has_names && !is_single(codes)) return;  // integers of some other scheme, which are not decoded
    std::vector<std::string> names;
    for (const std::string_view name : beside) {
      const auto there = find(std::string{name});
      names.push_back(there ? described(there->entry) : in_quotes(std::string{name}));
    }
    const std::string& reason = why.best();
    throw input_error(file_.path(), "tensor " + described(codes),
                      "has " + joined(names) + " beside it, " +
                          (reason.empty() ? "and no convention that is known says what that scales" : reason) +
                          ": it is not decoded without its scales; " + std::string{way_out});
  }

  std::optional<scaled_tensor> fitted(const stored_tensor& codes, const scale_convention& by, const std::string& base,
                                      const std::string& scales, const std::vector<std::string_view>& beside,
                                      reasons& why) const {
    scaled_tensor made{.by = &by,
                       .name = base + std::string{by.of_numbers},
                       .shape = {},
                       .block = {},
                       .scales = {},
                       .second = {},
                       .used_up = {},
                       .bytes_are = {}};
    if (by.codes == code_kind::float8 && !is_float8(codes)) made.bytes_are = bytes_are_;
    made.scales = *find(scales);
    const stored_tensor& of = made.scales.entry;
    if ((kind_of_scales(of) & by.scales) == 0) {
      why.wrong_type = "and as scales " + in_quotes(of.name) + " has the wrong type";
      return std::nullopt;
    }
    const auto numbers = shape_of_numbers(by, codes.shape);
    const auto block = numbers ? block_of(by.extent, *numbers, of.shape) : std::nullopt;
    if (!block || of.bytes > most_scales) {
      why.wrong_shape = "and the shape of " + in_quotes(of.name) + " fits no blocks of it";
      return std::nullopt;
    }
    made.shape = *numbers;
    made.block = *block;
    std::vector<std::string> known{scales};
    if (by.second != second_level::none) {
      const std::string second = base + std::string{by.of_second};
      made.second = find(second);
      if (!made.second) {
        why.incomplete =
            "and " + in_quotes(second) + ", by which " + std::string{by.whose} + " scales the tensor, is missing";
        return std::nullopt;
      }
      if (made.second->entry.number != dtype::float32 || made.second->entry.bytes != sizeof(float)) {
        why.incomplete = "and " + in_quotes(second) + " is not one float32 number";
        return std::nullopt;
      }
      known.push_back(second);
    }
    for (const std::string_view name : beside)
      if (std::ranges::find(known, name) == known.end()) {
        why.incomplete = "which do not go together in any convention that is known";
        return std::nullopt;
      }
    for (const std::string& name : known)
      if (const auto here = by_name_.find(name); here != by_name_.end()) made.used_up.push_back(here->second);
    return made;
  }

  void refuse_plain_beside_scaled() const {
    std::unordered_map<std::string_view, std::size_t> scaled;  // by their names in their modules
    const auto local = [&](std::size_t i) {
      const std::string_view name = all_stored_[i].name;
      return name.substr(module_size(name));
    };
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i] && is_single(all_stored_[i])) scaled.emplace(local(i), i);
    for (const std::size_t i : plain_) {
      const auto other = scaled.find(local(i));
      if (other == scaled.end()) continue;
      throw input_error(file_.path(), "tensor " + described(all_stored_[i]),
                        "has no scales beside it, as " + in_quotes(all_stored_[other->second].name) + " has in " +
                            in_quotes(all_[other->second]->scales.entry.name) +
                            ": if they lie in another file of the model, keep that file and the index "
                            "(model.safetensors.index.json) in the same folder; " +
                            std::string{way_out});
    }
  }

  void refuse_one_name_twice() const {
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (all_[i] && !(names.insert(all_[i]->name).second &&
                       (all_[i]->name == all_stored_[i].name || !by_name_.contains(all_[i]->name))))
        throw input_error(
            file_.path(), "tensor " + described(all_stored_[i]),
            "decodes to " + in_quotes(all_[i]->name) + ", which there is already; " + std::string{way_out});
  }

  const stored_file& file_;
  const std::vector<stored_tensor>& all_stored_;
  const model_index* index_;
  std::optional<format> bytes_are_;  // codes, each one
  std::unordered_map<std::string_view, std::size_t> by_name_;
  scale_names names_;
  std::vector<std::optional<scaled_tensor>> all_;
  std::vector<std::size_t> plain_;  // codes without scales
  bool has_open_bytes_ = false;
};

}  // namespace

std::vector<std::optional<scaled_tensor>> scaled_tensors_of(const stored_file& file, const read_limits& limits,
                                                            open_stored_file open,
                                                            const std::optional<format>& bytes_are) {
  if (limits.raw_codes || std::ranges::none_of(file.stored(), may_be_codes))
    return std::vector<std::optional<scaled_tensor>>(file.stored().size());
  // The index is read where the file alone does not tell.
  try {
    recognition alone(file, nullptr, bytes_are);
    alone.run();
    if (!alone.is_open() || open == nullptr) return alone.take();
  } catch (const input_error&) {
    if (open == nullptr) throw;
    const model_index index(file.path(), limits, open);
    if (index.elsewhere().empty()) throw;
  }
  const model_index index(file.path(), limits, open);
  recognition of_model(file, &index, bytes_are);
  of_model.run();
  return of_model.take();
}

std::vector<bool> used_up_by(const std::vector<std::optional<scaled_tensor>>& scaled) {
  std::vector<bool> used_up(scaled.size());
  for (const auto& s : scaled)
    if (s)
      for (const std::size_t i : s->used_up) used_up[i] = true;
  return used_up;
}

dump_reader::tensor tensor_of(const scaled_tensor& of, const stored_tensor& codes) {
  return {.name = of.name,
          .type = dtype::float32,
          .shape = of.shape,
          .numel = checked_product(of.shape).value(),
          .row_by_row = codes.lies_by.empty()};
}

std::string text_of(const scaled_tensor& of) {
  const scale_convention& by = *of.by;
  std::string text =
      by.codes == code_kind::float8 ? "values are codes times their " : "values are codes, two in a byte, times their ";
  text += by.of_scales;
  if (by.second != second_level::none)
    text += (by.second == second_level::divides ? " over " : " times ") + std::string{by.of_second};
  if (of.block != of.shape)
    for (std::size_t i = 0; i < of.block.size(); ++i)
      text += (i == 0 ? ", one for each block of " : "x") + std::to_string(of.block[i]);
  text += ", as in " + std::string{by.whose};
  for (const placed_tensor* const t : {&of.scales, of.second ? &*of.second : nullptr})
    if (t != nullptr && t->file) {
      text += "; scales are in " + t->file->path();
      break;
    }
  return text;
}

}  // namespace ulp::io
