#include "weights.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/formats/catalog.hpp>

#include "findings.hpp"

namespace ulp {
namespace {

struct layer {
  std::string weight;  // as the input calls it
  std::map<std::int64_t, lost_updates> by_step;
  lost_updates all;
};

std::map<std::string, layer> layers_of(const counted_weights& all, std::size_t of_case) {
  std::map<std::string, layer> layers;
  for (const weights_item& item : all.items) {
    layer& of = layers[item.tensor];
    of.weight = item.weight;
    of.by_step[item.step] += item.of[of_case].lost;
    of.all += item.of[of_case].lost;
  }
  return layers;
}

// The first step from which on the layer loses much in each that has updates; nullopt where the last does not.
std::optional<std::int64_t> loses_from(const layer& of, bool is_drawn) {
  std::optional<std::int64_t> from;
  for (const auto& [step, lost] : of.by_step) {
    if (lost.updates.high == lost.open_zeros) continue;  // none that is certain
    if (!(share_in(lost, is_drawn).low > much_of_a_tensor))
      from.reset();
    else if (!from)
      from = step;
  }
  return from;
}

std::size_t count_layers(const counted_weights& all) {
  std::set<std::string> names;
  for (const weights_item& item : all.items) names.insert(item.tensor);
  return names.size();
}

}  // namespace

value_range share_in(const lost_updates& lost, bool is_drawn) {
  return is_drawn ? lost.expected_share() : lost.lost_share();
}

lost_updates sum_of(const counted_weights& all, std::size_t of_case) {
  lost_updates sum;
  for (const weights_item& item : all.items) sum += item.of[of_case].lost;
  return sum;
}

bool is_beyond(const counted_weights& all, std::size_t of_case) {
  return std::ranges::any_of(all.items, [&](const weights_item& i) { return i.of[of_case].beyond; });
}

bool has_other_type(const counted_weights& all, std::size_t of_case) {
  const format& asked = all.cases[of_case].how.format;
  return std::ranges::any_of(all.items, [&](const weights_item& i) {
    return (i.weight_type == dtype::bfloat16 && asked != bfloat16) ||
           (i.weight_type == dtype::float16 && asked != float16);
  });
}

lost_layers layers_that_lose(const counted_weights& all, std::size_t of_case) {
  lost_layers found;
  found.is_mean = all.cases[of_case].is_drawn();
  const std::map<std::string, layer> layers = layers_of(all, of_case);
  std::vector<std::pair<double, std::string>> losing;
  std::optional<std::int64_t> from;
  for (const auto& [name, of] : layers)
    if (const auto first = loses_from(of, found.is_mean)) {
      losing.emplace_back(-share_in(of.all, found.is_mean).low, name);
      from = std::max(from.value_or(*first), *first);
    }
  std::ranges::sort(losing);
  for (const auto& [share, name] : losing) {
    found.layers.push_back(name);
    found.of.push_back(layers.at(name).all);
  }
  if (!found.layers.empty()) found.worst = layers.at(found.layers.front()).weight;
  lost_updates sum;
  std::int64_t first_step = all.items.front().step;
  for (const weights_item& item : all.items) {
    first_step = std::min(first_step, item.step);
    const bool is_named = std::ranges::find(found.layers, item.tensor) != found.layers.end();
    if (found.layers.empty() || (is_named && item.step >= *from)) sum += item.of[of_case].lost;
  }
  found.from = from.value_or(first_step);
  found.from_the_first = found.from == first_step;
  found.share = share_in(sum, found.is_mean);
  return found;
}

lost_layers layers_that_may_lose(const counted_weights& all, std::size_t of_case) {
  lost_layers found;
  found.is_mean = all.cases[of_case].is_drawn();
  const std::map<std::string, layer> layers = layers_of(all, of_case);
  std::vector<std::pair<double, std::string>> losing;
  for (const auto& [name, of] : layers)
    if (const double share = share_in(of.all, found.is_mean).high; share > much_of_a_tensor)
      losing.emplace_back(-share, name);
  std::ranges::sort(losing);
  lost_updates sum;
  for (const auto& [share, name] : losing) {
    found.layers.push_back(name);
    found.of.push_back(layers.at(name).all);
    sum += found.of.back();
  }
  found.from = std::ranges::min(all.items, {}, &weights_item::step).step;
  if (!found.layers.empty()) found.worst = layers.at(found.layers.front()).weight;
  found.share = share_in(sum, found.is_mean);
  return found;
}

std::string layers_text(const lost_layers& lost, std::size_t layers) {
  const std::string since = lost.from_the_first ? "" : fmt::format(" from step {} on", lost.from);
  if (lost.layers.empty() || lost.layers.size() == layers)
    return (layers != 1 ? "all layers" : lost.layers.empty() ? "the layer" : lost.layers.front()) + since;
  const std::size_t named = std::min(most_named, lost.layers.size());
  const std::size_t more = lost.layers.size() - named;
  return fmt::format("{}{} (of {}){}",
                     fmt::join(lost.layers.begin(), lost.layers.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                     more > 0 ? fmt::format(" and {} more", more) : "", count_text(layers, "layer"), since);
}

std::string layers_text(const lost_layers& lost, const counted_weights& all) {
  return layers_text(lost, count_layers(all));
}

std::string lost_text(const lost_layers& lost, const counted_weights& all) {
  return fmt::format("{}{} of the updates of {}", lost.is_mean ? "on average " : "", range_text(lost.share),
                     layers_text(lost, all));
}

std::string loss_text(const counted_weights& all, std::size_t of_case) {
  const typed_treatment& asked = all.cases[of_case];
  const lost_updates sum = sum_of(all, of_case);
  if (sum.numel == 0) return asked.format_name + ": there is no weight";
  if (sum.updates.high == 0)
    return fmt::format("{}: no update counts: {}", asked.format_name,
                       fmt::join(not_counted(sum, asked.format_name), ", "));
  const value_range share = share_in(sum, asked.is_drawn());
  const std::string mean = asked.is_drawn() ? "on average " : "";
  const std::map<std::string, layer> layers = layers_of(all, of_case);
  const auto share_of = [&](const auto& named) {
    const double s = share_in(named.second.all, asked.is_drawn()).high;
    return std::isnan(s) ? -1 : s;
  };
  const auto& [name, most] = *std::ranges::max_element(layers, {}, share_of);
  if (share.high == 0) return asked.format_name + ": no update is lost";
  if (layers.size() == 1)
    return fmt::format("{}: {}{} of the updates of {} are lost", asked.format_name, mean, range_text(share), name);
  return fmt::format("{}: {}{} of the updates are lost, most in {} ({} of {})", asked.format_name, mean,
                     range_text(share), name, range_text(share_in(most.all, asked.is_drawn())),
                     grouped(most.all.updates.high));
}

std::vector<std::string> conclusions_of(const counted_weights& all, const imported_config& said) {
  if (!said.weights_kept_in)
    return {fmt::format("{} does not say what weights are kept in: the table is of weights without a master copy",
                        said.framework)};
  if (*said.weights_kept_in == "float32")
    return {
        "your configuration keeps float32 weights, or a master copy of them: updates are not lost by rounding to a "
        "16-bit format; the table says what would be lost without it"};
  const format kept = format_named(*said.weights_kept_in);
  std::vector<std::string> lines;
  for (std::size_t c = 0; c < all.cases.size(); ++c) {
    const typed_treatment& asked = all.cases[c];
    if (asked.how.format != kept) continue;
    if (sum_of(all, c).updates.high == 0) {
      lines.push_back(fmt::format("your configuration keeps weights in {}: no weight has an update that counts",
                                  asked.format_name));
      continue;
    }
    if (is_beyond(all, c)) {
      lines.push_back(
          fmt::format("your configuration keeps weights in {0} without a master copy, but these weights are not all "
                      "numbers of {0}: they "
                      "were kept in another type, or are of another run. In {0} they would lose {1}",
                      asked.format_name, lost_text(layers_that_lose(all, c), all)));
      continue;
    }
    if (has_other_type(all, c)) {
      lines.push_back(fmt::format(
          "your configuration keeps weights in {0} without a master copy, but these weights are recorded in "
          "another type of 16 bits, so they are of another run. In {0} they would lose {1}",
          asked.format_name, lost_text(layers_that_lose(all, c), all)));
      continue;
    }
    lines.push_back(fmt::format("your configuration keeps weights in {} without a master copy: {} were lost",
                                asked.format_name, lost_text(layers_that_lose(all, c), all)));
  }
  if (lines.empty())
    return {fmt::format("your configuration keeps weights in {} without a master copy, which --format leaves out",
                        *said.weights_kept_in)};
  return lines;
}

}  // namespace ulp
