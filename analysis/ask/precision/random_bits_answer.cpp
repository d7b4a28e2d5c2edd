#include <ulp/ask/precision/random_bits_answer.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <stdexcept>

#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/update_pairs.hpp>

#include "dump_files.hpp"

namespace ulp {
namespace {

struct counted_format {
  std::string name;
  ulp::format format;
  random_bit_need all;
  std::map<std::string, random_bit_need> by_tensor;
};

// How many pairs are selected.
std::size_t count(const update_pairs& pairs, const selection& selected, std::vector<counted_format>& formats,
                  listener& to) {
  std::size_t taken = 0;
  work reading(to, "tensors", pairs.all().size());
  for (std::size_t i = 0; i < pairs.all().size(); ++i) {
    reading.advance();
    const update_pair& pair = pairs.all()[i];
    tensor_info info;
    info.name = pair.weight;
    info.kind = tensor_kind::weight;
    if (!selected.takes(pair.step) || !selected.takes(info)) continue;
    ++taken;
    pairs.read(i, [&](std::span<const double> weights, std::span<const double> updates) {
      for (counted_format& f : formats) {
        const random_bit_need need = random_bits_needed(weights, updates, f.format);
        f.all += need;
        f.by_tensor[pair.tensor] += need;
      }
    });
  }
  return taken;
}

// Of a format in which no update counts.
std::string why_none(const counted_format& f) {
  lost_updates sum{.numel = f.all.numel, .zero_updates = f.all.zero_updates, .nonfinite = f.all.nonfinite};
  sum.overflowing = {f.all.overflowing, f.all.overflowing};
  const std::vector<std::string> parts = not_counted(sum, f.name);
  return fmt::format("{}: no update counts: {}", f.name, fmt::join(parts, ", "));
}

}  // namespace

random_bits_answer random_bits_over(const random_bits_question& asked, listener& to) {
  random_bits_answer answer;
  answer.share = positive_number(asked.share, "--lose");
  if (answer.share > 1) throw std::invalid_argument(fmt::format("--lose: {} is above 1, which is all", asked.share));
  std::vector<counted_format> formats;
  for (const std::string& name : asked.formats) formats.push_back({name, value_format_named(name), {}, {}});
  const source_options how = asked.run.how_to_read();
  const std::vector<std::string> files = files_of(asked.run.inputs, "a dump of each step");
  if (!are_dumps(files, how))
    throw std::invalid_argument(
        fmt::format("{}: random bits are counted element by element, which needs dumps with weights and updates or "
                    "gradients (.safetensors, .npz, .pt, .npy)",
                    asked.run.inputs.front()));
  const double rate = asked.learning_rate.empty() ? not_known : positive_number(asked.learning_rate, "--lr");
  const std::unique_ptr<update_pairs> pairs = open_update_pairs(files, how, rate);
  for (const std::string& line : pairs->notes()) to.note(line);
  const std::string& first = files.front();
  if (count(*pairs, asked.run.selected(), formats, to) == 0)
    throw std::invalid_argument(
        fmt::format("{}: --tensor, --kind, --steps and --every select no weights with updates", first));
  if (formats.front().all.numel == 0) throw std::invalid_argument(first + ": its weights have no elements");

  std::vector<std::string> none;
  for (const counted_format& f : formats) {
    for (const auto& [tensor, need] : f.by_tensor) answer.of_tensors.push_back({f.name, tensor, need});
    if (f.all.updates == 0)
      none.push_back(why_none(f));
    else
      answer.all.emplace_back(f.name, f.all);
  }
  if (answer.all.empty()) throw std::invalid_argument(fmt::format("{}: {}", first, fmt::join(none, "; ")));
  for (const std::string& line : none) to.note(line);
  return answer;
}

}  // namespace ulp
