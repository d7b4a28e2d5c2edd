#include <ulp/ask/precision/optimizer8_answer.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>
#include <utility>
#include <variant>

#include <ulp/ask/questions/recipe_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/blocks.hpp>
#include <ulp/formats/codebooks.hpp>

#include "gradient_steps.hpp"

namespace ulp {
namespace {

struct named_part {
  std::string name;
  std::size_t size = 0;
};

std::uint64_t used_of(std::uint64_t numel, std::uint64_t elements) {
  return elements == 0 ? numel : std::min(numel, elements);
}

// What the elements of the only tensor belong to; without --parts each tensor is one.
std::vector<named_part> parts_of(const std::vector<std::string>& texts, const gradient_steps& run,
                                 std::uint64_t elements) {
  std::vector<named_part> parts;
  std::size_t first = 0;
  for (const std::string& text : texts) {
    const auto [name, value] = key_and_value(text, "--parts");
    std::size_t size = 0;
    const auto [end, problem] = std::from_chars(value.data(), value.data() + value.size(), size);
    if (problem != std::errc{} || end != value.data() + value.size() || size == 0)
      throw std::invalid_argument(fmt::format("--parts: '{}' is not NAME=N, a number of elements", text));
    parts.push_back({name, size});
    first += size;
  }
  if (parts.empty()) return parts;
  if (run.tensors().size() != 1)
    throw std::invalid_argument(
        fmt::format("--parts: names what one flat tensor holds; there are {}", run.tensors().size()));
  const std::uint64_t numel = used_of(run.tensors().front().numel, elements);
  if (first != numel)
    throw std::invalid_argument(
        fmt::format("--parts: {} elements, and '{}' has {}", first, run.tensors().front().name, numel));
  return parts;
}

// A recipe over all tensors.
struct candidate {
  std::string text;
  optimizer_recipe recipe;
  std::vector<drifting_tensor> tensors;
};

std::vector<candidate> candidates_of(const optimizer8_question& asked) {
  std::vector<optimizer_recipe> recipes;
  for (const std::string& text : asked.recipes) recipes.push_back(recipe_of(text, "--dialect"));
  for (const std::string& text : asked.settings) {
    const auto [name, value] = key_and_value(text, "--set");
    set_parameter(recipes, name, value, "--set " + text);
  }
  std::vector<candidate> all;
  for (std::size_t i = 0; i < recipes.size(); ++i) all.push_back({asked.recipes[i], recipes[i], {}});
  if (all.empty()) throw std::invalid_argument("--dialect: name at least one");
  return all;
}

// Codes of a state and what they mean.
struct known_codes {
  std::span<const std::uint8_t> codes;
  std::span<const float> map;
  std::size_t block_size = 0;
};

known_codes state_codes(const optimizer& o, const char* name) {
  for (const optimizer_state& s : o.state())
    if (s.name == name && s.codec != nullptr)
      if (const auto* const codes = std::get_if<std::span<const std::uint8_t>>(&s.values))
        return {*codes, s.codec->map(), s.block_size};
  return {};
}

template <class Span>
std::uint64_t differing(const Span& a, const Span& b) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += a[i] != b[i] ? 1 : 0;
  return n;
}

// Whether equal codes stand for equal parts of their block's largest.
bool are_comparable(const known_codes& a, const known_codes& b) {
  return !a.codes.empty() && a.codes.size() == b.codes.size() && a.block_size == b.block_size &&
         std::ranges::equal(a.map, b.map);
}

// nullopt where one of them has no such codes.
std::optional<code_differences> differences_of(const drifting_tensor& a, const drifting_tensor& b) {
  const known_codes m = state_codes(a.low(), "m_codes");
  const known_codes v = state_codes(a.low(), "v_codes");
  const known_codes other_m = state_codes(b.low(), "m_codes");
  const known_codes other_v = state_codes(b.low(), "v_codes");
  if (!are_comparable(m, other_m) || !are_comparable(v, other_v)) return std::nullopt;
  return code_differences{differing(m.codes, other_m.codes), differing(v.codes, other_v.codes),
                          differing(a.weights(), b.weights())};
}

std::vector<drift_row> rows_of(const candidate& c, const std::vector<named_part>& parts, const candidate* reference) {
  std::vector<drift_row> rows;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    const drifting_tensor& t = c.tensors[i];
    if (!parts.empty()) {
      for (std::size_t p = 0; p < parts.size(); ++p)
        rows.push_back({.recipe = c.text, .tensor = parts[p].name, .drift = t.drift(p)});
      continue;
    }
    rows.push_back({.recipe = c.text, .tensor = t.name(), .drift = t.drift()});
    if (reference != nullptr) rows.back().codes = differences_of(t, reference->tensors[i]);
  }
  return rows;
}

bool has_codes(const drifting_tensor& t) { return !state_codes(t.low(), "m_codes").codes.empty(); }

// torchao keeps the states of a tensor that is no multiple of the block as the weights are.
std::uint64_t unquantized_in(const candidate& c) {
  const bool means_codes = c.text.starts_with("ao_") && c.recipe.dialect->states.starts_with("m_codes") &&
                           c.text.find("_state=") == std::string::npos;
  return means_codes ? c.tensors.size() - static_cast<std::size_t>(std::ranges::count_if(c.tensors, has_codes)) : 0;
}

small_tensors small_tensors_in(const std::vector<candidate>& all, const gradient_steps& run,
                               const std::vector<named_part>& parts) {
  small_tensors found;
  std::set<std::string_view> libraries;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    std::set<std::string_view> quantize;
    for (const candidate& c : all)
      if (has_codes(c.tensors[i])) quantize.insert(c.recipe.dialect->family);
    if (quantize.empty()) continue;
    std::vector<named_part> of = parts;
    if (of.empty()) of.push_back({run.tensors()[i].name, static_cast<std::size_t>(run.tensors()[i].numel)});
    const std::size_t before = found.names.size();
    for (const named_part& p : of)
      if (p.size > 0 && p.size < least_quantized) found.names.push_back(p.name);
    if (found.names.size() > before) libraries.insert(quantize.begin(), quantize.end());
  }
  found.libraries.assign(libraries.begin(), libraries.end());
  return found;
}

drift_row total_of(const candidate& c, const std::vector<drift_row>& rows, const candidate* reference) {
  drift_row all{.recipe = c.text};
  all.tensors = c.tensors.size();
  all.unquantized = unquantized_in(c);
  for (const drift_row& r : rows) all.drift += r.drift;
  std::vector<float> ratios;
  std::uint64_t reference_m = 0;
  code_differences sum;
  for (std::size_t i = 0; i < c.tensors.size(); ++i) {
    c.tensors[i].append_ratios(ratios);
    if (reference == nullptr) continue;
    if (const auto d = differences_of(c.tensors[i], reference->tensors[i])) {
      ++reference_m;
      sum.m += d->m;
      sum.v += d->v;
      sum.weights += d->weights;
    }
  }
  if (reference_m > 0) all.codes = sum;
  all.drift.median_ratio = median_of(ratios);
  const auto worse = [](const drift_row& a, const drift_row& b) {
    return std::pair{a.drift.runaway, a.drift.relative()} < std::pair{b.drift.runaway, b.drift.relative()};
  };
  if (rows.size() > 1 && all.drift.deviation > 0) all.worst = std::ranges::max_element(rows, worse)->tensor;
  return all;
}

void expect_moments(const candidate& c) {
  std::vector<float> none;
  const optimizer twin = make_optimizer(float32_twin(c.recipe), 0, "", 0);
  if (!read_state(twin, "m", none) || !read_state(twin, "v", none))
    throw std::invalid_argument(fmt::format(
        "--quantizers: {} keeps no first and second moments, which are quantized; name a dialect of Adam first",
        c.text));
}

// The float32 moments of the end in the codes of every quantizer, beside those of bitsandbytes' default.
std::vector<quantizer_row> quantizer_rows(const candidate& c, std::size_t block_size) {
  std::vector<quantizer_row> rows;
  for (const block_row& q : block_rows()) {
    if (!std::holds_alternative<codebook_rule>(q.elements)) continue;
    const block_codec m_codec(q.quantizer, dynamic_map(true));
    const block_codec v_codec(q.quantizer, dynamic_map(false));
    const block_codec default_m(block_quantizer::bnb_default, dynamic_map(true));
    const block_codec default_v(block_quantizer::bnb_default, dynamic_map(false));
    quantizer_row made{.quantizer = &q};
    for (const drifting_tensor& t : c.tensors) {
      const std::size_t n = q.whole_blocks_only ? t.weights().size() / block_size * block_size : t.weights().size();
      std::vector<float> m(t.weights().size());
      std::vector<float> v(t.weights().size());
      if (!read_state(t.twin(), "m", m) || !read_state(t.twin(), "v", v)) continue;
      m.resize(n);
      v.resize(n);
      const auto codes = [&](const block_codec& codec, std::span<const float> x, std::vector<float>& back) {
        std::vector<std::uint8_t> made_codes(n);
        std::vector<float> absmax(block_count(n, block_size));
        codec.quantize(x, block_size, made_codes, absmax);
        back.resize(n);
        codec.dequantize(made_codes, absmax, block_size, back);
        return made_codes;
      };
      std::vector<float> m_back, v_back, unused;
      made.m_differ += differing(codes(m_codec, m, m_back), codes(default_m, m, unused));
      made.v_differ += differing(codes(v_codec, v, v_back), codes(default_v, v, unused));
      for (std::size_t i = 0; i < n; ++i) made.zeroed += v_back[i] == 0 && m_back[i] != 0 ? 1 : 0;
      made.elements += n;
    }
    rows.push_back(made);
  }
  return rows;
}

std::size_t block_size_in(const candidate& c) {
  for (const auto& p : make_optimizer(c.recipe, 0, "", 0).parameters())
    if (p.name == "block_size")
      if (const double* const value = std::get_if<double>(&p.value)) return static_cast<std::size_t>(*value);
  return 256;
}

// Each recipe with the first weights of every tensor; returns how many elements there are.
std::uint64_t begin(std::vector<candidate>& all, const optimizer8_question& asked, const gradient_steps& run,
                    const std::vector<named_part>& parts) {
  std::vector<std::size_t> sizes;
  for (const named_part& p : parts) sizes.push_back(p.size);
  std::uint64_t elements = 0;
  for (std::size_t i = 0; i < run.tensors().size(); ++i) {
    std::vector<float> first = run.first_weights(i);
    first.resize(static_cast<std::size_t>(used_of(first.size(), asked.elements)));
    elements += first.size();
    for (candidate& c : all) {
      try {
        c.tensors.emplace_back(c.recipe, run.tensors()[i].name, first, asked.seed, sizes);
      } catch (const std::invalid_argument& problem) {
        throw std::invalid_argument(fmt::format("--dialect: {}", problem.what()));
      }
    }
  }
  return elements;
}

void step_all(std::vector<candidate>& all, const optimizer8_question& asked, gradient_steps& run, listener& to) {
  const std::uint64_t mark = asked.mark > 0 ? asked.mark : std::max<std::uint64_t>(run.count() / 4, 1);
  if (asked.mark > run.count())
    throw std::invalid_argument(fmt::format("--mark: step {} is beyond the {} of the input", asked.mark, run.count()));
  work stepping(to, "steps", run.count());
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t step = 1; step <= run.count(); ++step) {
    run.next(gradients);
    for (candidate& c : all)
      for (std::size_t i = 0; i < c.tensors.size(); ++i) {
        const std::size_t n = c.tensors[i].weights().size();
        c.tensors[i].step(std::span{gradients[i]}.first(n), run.random().first(std::min(n, run.random().size())));
        if (step == mark) c.tensors[i].mark();
      }
    stepping.advance();
  }
}

recipe_drift drift_of(const candidate& c, const std::vector<named_part>& parts, const candidate* reference,
                      const gradient_steps& run) {
  recipe_drift made{.recipe = c.recipe, .all = {}, .tensors = rows_of(c, parts, reference)};
  made.all = total_of(c, made.tensors, reference);
  const auto number_of = [&](std::int64_t place) {
    return place > 0 ? run.number(static_cast<std::uint64_t>(place - 1)) : 0;
  };
  made.all.nonfinite_step = number_of(made.all.drift.first_nonfinite_gradient);
  made.all.zeroed_step = number_of(made.all.drift.first_zeroed);
  made.all.of_one_dump = run.is_stack();
  for (drift_row& r : made.tensors) r.zeroed_step = number_of(r.drift.first_zeroed);
  return made;
}

}  // namespace

std::vector<std::string> usual_recipes() {
  return {"bnb_cpu_default_adam8bit",
          "bnb_cpu_native_adam8bit",
          "bnb_cuda_text_adam8bit",
          "ao_adam8bit",
          "ao_adam4bit",
          "ao_adamfp8",
          "ao_adam8bit:fp32:m_state=bfloat16:v_state=bfloat16",
          "torch_adam:bf16",
          "bnb_cpu_default_adam32bit:bf16",
          "bnb_cpu_default_adam32bit:bf16:stochastic",
          "bnb_cpu_default_adam32bit:bf16:kahan"};
}

optimizer8_answer optimizer8_over(const optimizer8_question& asked, listener& to) {
  std::vector<candidate> all = candidates_of(asked);
  if (asked.quantizers) expect_moments(all.front());
  gradient_steps run({.run = asked.run, .weights = asked.weights}, to);
  const std::vector<named_part> parts = parts_of(asked.parts, run, asked.elements);
  if (!run.knows_weights())
    to.note(
        "the first weights are not known, and taken as zeros: give --w0 FILE; how many updates 16-bit weights lose "
        "depends on them");
  optimizer8_answer answer{.steps = run.count(), .elements = begin(all, asked, run, parts)};
  step_all(all, asked, run, to);
  const auto reference = std::ranges::find_if(all, [](const candidate& c) { return has_codes(c.tensors.front()); });
  const candidate* const first = reference == all.end() ? nullptr : &*reference;
  for (const candidate& c : all) answer.recipes.push_back(drift_of(c, parts, first == &c ? nullptr : first, run));
  answer.small = small_tensors_in(all, run, parts);
  if (asked.quantizers)
    answer.quantizers = quantizer_rows(all.front(), block_size_in(first == nullptr ? all.front() : *first));
  return answer;
}

}  // namespace ulp
