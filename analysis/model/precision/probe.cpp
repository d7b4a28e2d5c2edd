#include <ulp/model/precision/probe.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include <ulp/formats/arithmetic.hpp>
#include <ulp/formats/random_bits.hpp>

namespace ulp {
namespace {

constexpr std::size_t random_rows = 128;
constexpr std::size_t most_pairs = 192;

std::uint32_t code_of(const format& f, bool negative, int exponent, std::uint64_t fraction) {
  const auto field = static_cast<std::uint64_t>(std::clamp(exponent, f.emin(), f.emax()) + f.bias);
  const std::uint64_t code = field << f.fraction_bits | (fraction & f.fraction_mask());
  return static_cast<std::uint32_t>(f.sign_code(negative) | std::min(code, f.max_finite_code()));
}

// In some rows runs of products are large or small together, so that partial sums are, too: else float32 adds those
// of a float16 accumulator exactly, in any order. In others products are among float32's subnormals, where a format has
// such numbers. Sums stay in the range of float16, which some accumulators have.
void add_random_row(probe_operands& to, std::size_t row) {
  const format& f = to.of;
  const auto word = [&](std::uint64_t stream, std::uint64_t index) {
    return random_word(0x9E3779B9, stream, index, 0);
  };
  const bool in_runs = row % 8 == 3 || row % 8 == 5 || row % 8 == 7;
  const std::size_t run = std::size_t{16} << (row / 8 % 4);
  const int binades = in_runs ? 2 : row % 8 == 0 ? 1 : row % 8 == 1 ? 4 : 14;
  const bool one_sign = row % 16 >= 12 && !in_runs;
  const int usual = row % 16 == 1 && f.emin() < -100 ? -69 : 3;
  for (std::vector<std::uint32_t>* const side : {&to.a, &to.b})
    for (std::size_t k = 0; k < to.depth; ++k) {
      const std::uint64_t index = (row * to.depth + k) * 2 + (side == &to.b ? 1 : 0);
      const std::uint32_t bits = word(0, index);
      constexpr std::array levels{5, 0, -5, -6, -7};
      const int highest = in_runs ? levels[word(2, row * to.depth + k / run) % levels.size()] : usual;
      const auto below = static_cast<int>(word(1, index) % static_cast<std::uint32_t>(binades));
      const bool negative = !one_sign && side == &to.a && bits >> 31 != 0;
      side->push_back(code_of(f, negative, std::min(highest, f.emax() - 1) - below, bits));
    }
}

// Exponents of the large and the small product, and how a product is made of two numbers: half of the exponent each.
struct pair_numbers {
  int large;
  int small;
};
pair_numbers numbers_of(const format& f) {
  // Beyond the 25 bits that units keep, in float16's range, and so that as many small ones as there are stay exact.
  return {std::min(14, 2 * f.emax() - 2), std::max(-14, 2 * f.emin())};
}
void put_product(probe_operands& to, std::size_t at, bool negative, int exponent) {
  const int half = exponent >= 0 ? exponent / 2 : -(-exponent / 2);
  to.a[at] = code_of(to.of, negative, half, 0);
  to.b[at] = code_of(to.of, false, exponent - half, 0);
}

void add_pair_row(probe_operands& to, std::size_t taken_away_at) {
  const pair_numbers numbers = numbers_of(to.of);
  const std::size_t begin = to.a.size();
  to.a.resize(begin + to.depth);
  to.b.resize(begin + to.depth);
  for (std::size_t k = 0; k < to.depth; ++k)
    put_product(to, begin + k, k == taken_away_at, k == 0 || k == taken_away_at ? numbers.large : numbers.small);
}

// Where the large number is taken away: everywhere, or at the first places and others as far apart as must be.
std::vector<std::size_t> places(std::size_t depth) {
  std::vector<std::size_t> all;
  const std::size_t dense = std::min(depth - 1, most_pairs / 2);
  for (std::size_t k = 1; k <= dense; ++k) all.push_back(k);
  const std::size_t rest = depth - 1 - dense;
  const std::size_t count = std::min(rest, most_pairs - dense);
  for (std::size_t i = 1; i <= count; ++i) all.push_back(dense + i * rest / count);
  return all;
}

bool same(double x, double y) { return x == y || (std::isnan(x) && std::isnan(y)); }

std::uint64_t added(std::uint64_t x, std::uint64_t y) { return add(binary32, x, y).code; }

// What gives the same sums is the same: parts of one sum each are the sums of one part.
grouped_parts normal(grouped_parts parts) {
  if (std::ranges::all_of(parts, [](const auto& part) { return part.size() == 1; })) {
    std::vector<group_list> sums;
    for (auto& part : parts) sums.push_back(std::move(part.front()));
    parts.assign(1, std::move(sums));
  }
  if (parts.size() == 1 && parts.front().size() == 1) parts.clear();
  return parts;
}

std::vector<group_list> in_runs(std::uint32_t begin, std::uint32_t end, std::uint32_t run) {
  std::vector<group_list> all;
  for (std::uint32_t g = begin; g < end; ++g) {
    if ((g - begin) % run == 0) all.emplace_back();
    all.back().push_back(g);
  }
  return all;
}
std::vector<group_list> in_turn(std::uint32_t begin, std::uint32_t end, std::uint32_t sums) {
  std::vector<group_list> all(std::min(sums, end - begin));
  for (std::uint32_t g = begin; g < end; ++g) all[(g - begin) % sums].push_back(g);
  return all;
}

// How groups are spread over sums, and its name.
struct spread {
  std::string name;
  std::vector<group_list> (*of)(std::uint32_t, std::uint32_t, std::uint32_t);
  std::uint32_t size;
};
std::vector<spread> spreads(std::uint32_t groups, bool is_unit) {
  std::vector<spread> all{{"one sum", in_runs, groups}};
  if (!is_unit) return all;
  for (const std::uint32_t n : {1u, 2u, 4u, 8u, 16u, 32u})
    if (n < groups)
      all.push_back({"every " + std::to_string(n) + (n == 1 ? " group" : " groups") + " added in float32", in_runs, n});
  for (const std::uint32_t n : {2u, 4u, 8u})
    if (n < groups) all.push_back({std::to_string(n) + " accumulators in turn, added in float32", in_turn, n});
  return all;
}

constexpr std::uint32_t all_products = 0xFFFFFFFF;  // in one block

// The same arithmetic under several names, once.
struct named_order {
  std::vector<std::string> names;
  dot_order order;
};
bool adds_alike(const dot_order& x, const dot_order& y) {
  const accumulation& a = x.how;
  const accumulation& b = y.how;
  return x.then == y.then && a.products == b.products && a.sums == b.sums && a.accumulator == b.accumulator &&
         a.outer == b.outer && a.order == b.order && a.align_bits == b.align_bits && a.align == b.align &&
         a.align_floor == b.align_floor && a.rounding == b.rounding && a.late == b.late &&
         a.exact_group == b.exact_group && a.infinite_overflow == b.infinite_overflow;
}
std::vector<named_order> orders_in(const format& of) {
  std::vector<named_order> all;
  const bool products_are_exact =
      2 * of.precision() <= 24 && 2 * of.min_quantum_exponent() >= -149 && 2 * of.emax() + 1 <= 127;
  all.push_back({{"exact"}, {.name = "exact", .how = {.order = {sum_order::blocks, all_products}}}});
  for (dot_order& order : dot_orders(of, "the operands' format", 64)) {
    if (order.basis == dot_basis::assumed) continue;
    if (products_are_exact && order.how.products == binary32) order.how.products.reset();
    const auto alike = std::ranges::find_if(all, [&](const named_order& n) { return adds_alike(n.order, order); });
    if (alike == all.end())
      all.push_back({{order.name}, order});
    else
      alike->names.push_back(order.name);
  }
  return all;
}

}  // namespace

probe_operands probes(const format& of, std::size_t depth) {
  if (depth < 2) throw std::invalid_argument("probe: dot products of fewer than 2 products have no order");
  probe_operands x{.of = of, .depth = depth, .a = {}, .b = {}};
  const std::vector<std::size_t> pairs = places(depth);
  const std::size_t rows = (random_rows + pairs.size() + 63) / 64 * 64;
  x.pairs = pairs.size();
  for (std::size_t row = 0; row < rows - x.pairs; ++row) add_random_row(x, row);
  for (const std::size_t place : pairs) add_pair_row(x, place);
  return x;
}

std::vector<kernel_candidate> kernel_candidates(const format& of, std::size_t depth, std::span<const format> outputs) {
  std::vector<kernel_candidate> all;
  for (const named_order& named : orders_in(of)) {
    const sum_order::kinds kind = named.order.how.order.kind;
    const bool is_exact = named.order.how.order == sum_order{sum_order::blocks, all_products};
    const bool is_unit =
        (kind == sum_order::blocks && !is_exact) || (kind == sum_order::tree_chunks && !named.order.how.outer);
    const std::size_t group = is_unit ? named.order.how.order.size : 1;
    const auto groups = static_cast<std::uint32_t>((depth + group - 1) / group);
    std::map<grouped_parts, std::vector<std::string>> ways;
    for (const std::uint32_t split : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 12u, 16u, 32u}) {
      const std::uint32_t size = (groups + split - 1) / split;
      if ((groups + size - 1) / size != split) continue;
      for (const spread& s : spreads(groups, is_unit)) {
        if (s.of == in_runs && split > 1 && s.size >= size && s.size != groups) continue;  // no sum of its own
        grouped_parts parts;
        for (std::uint32_t g = 0; g < groups; g += size) parts.push_back(s.of(g, std::min(g + size, groups), s.size));
        ways[normal(std::move(parts))].push_back(split == 1 ? s.name : s.name + ", split in " + std::to_string(split));
      }
    }
    for (auto& [parts, names] : ways) {
      const kernel_candidate one{named.names, named.order, group, parts, names, {}};
      all.push_back(one);
      for (const format& output : outputs) {
        const format& own = parts.empty() ? named.order.result() : binary32;
        if (own == output) continue;
        all.push_back(one);
        all.back().output = output;
      }
    }
  }
  return all;
}

double result_of(const kernel_candidate& kernel, const format& of, std::span<const std::uint32_t> a,
                 std::span<const std::uint32_t> b) {
  const dot_order& order = kernel.order;
  const auto sum_of = [&](std::span<const std::uint32_t> x, std::span<const std::uint32_t> y) {
    const std::uint64_t code = dot({of, x}, {of, y}, order.how).code;
    return order.then ? convert(*order.then, order.how.result(), code).code : code;
  };
  std::uint64_t code = 0;
  format in = order.result();
  if (kernel.parts.empty()) {
    code = sum_of(a, b);
  } else {
    std::vector<std::uint32_t> x;
    std::vector<std::uint32_t> y;
    std::uint64_t total = 0;
    for (const auto& part : kernel.parts) {
      std::uint64_t of_part = 0;
      for (const group_list& groups : part) {
        x.clear();
        y.clear();
        for (const std::uint32_t g : groups)
          for (std::size_t k = g * kernel.group; k < std::min((g + 1) * kernel.group, a.size()); ++k) {
            x.push_back(a[k]);
            y.push_back(b[k]);
          }
        of_part = added(of_part, convert(binary32, order.result(), sum_of(x, y)).code);
      }
      total = added(total, of_part);
    }
    code = total;
    in = binary32;
  }
  if (kernel.output) {
    code = convert(*kernel.output, in, code).code;
    in = *kernel.output;
  }
  return to_double(in, code);
}

std::vector<probed_kernel> kernels_that_give(const probe_operands& x, std::span<const double> results,
                                             std::size_t& candidates) {
  if (results.size() != x.rows()) throw std::invalid_argument("probe: there is not a result for each row");
  std::vector<format> outputs;
  for (const format& f : {ieee_format(5, 10), ieee_format(8, 7)})
    if (std::ranges::all_of(results, [&](double r) { return same(to_double(f, encode(f, r).code), r); }))
      outputs.push_back(f);
  const auto differs = [&](const kernel_candidate& kernel, std::size_t row) {
    const auto a = std::span{x.a}.subspan(row * x.depth, x.depth);
    const auto b = std::span{x.b}.subspan(row * x.depth, x.depth);
    return !same(result_of(kernel, x.of, a, b), results[row]);
  };
  std::vector<kernel_candidate> all = kernel_candidates(x.of, x.depth, outputs);
  candidates = all.size();
  std::vector<probed_kernel> found;
  for (const kernel_candidate& kernel : all) {
    std::size_t row = 0;
    while (row < x.rows() && !differs(kernel, row)) ++row;
    if (row == x.rows()) found.push_back({kernel, 0});
  }
  if (!found.empty()) return found;

  // A few rows tell which are worth all of them.
  constexpr std::size_t few = 16;
  const auto differing = [&](const kernel_candidate& kernel, std::size_t rows) {
    std::size_t count = 0;
    for (std::size_t row = 0; row < rows; ++row) count += differs(kernel, row) ? 1 : 0;
    return count;
  };
  std::vector<std::pair<std::size_t, std::size_t>> nearest;
  for (std::size_t i = 0; i < all.size(); ++i) nearest.emplace_back(differing(all[i], few), i);
  std::ranges::sort(nearest);
  for (std::size_t i = 0; i < std::min<std::size_t>(nearest.size(), 5); ++i) {
    const kernel_candidate& near = all[nearest[i].second];
    found.push_back({near, differing(near, x.rows())});
  }
  std::ranges::stable_sort(found, {}, &probed_kernel::differing);
  return found;
}

std::vector<pair_reach> reaches_of(const probe_operands& x, std::span<const double> results) {
  if (results.size() != x.rows()) throw std::invalid_argument("probe: there is not a result for each row");
  const double small = std::ldexp(1.0, numbers_of(x.of).small);
  std::vector<pair_reach> all;
  const std::vector<std::size_t> pairs = places(x.depth);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const double kept = results[x.rows() - pairs.size() + i] / small;
    std::optional<std::size_t> products;
    if (kept >= 0 && kept <= static_cast<double>(x.depth - 2) && kept == std::floor(kept))
      products = x.depth - static_cast<std::size_t>(kept);
    if (all.empty() || all.back().products != products)
      all.push_back({pairs[i], pairs[i], products});
    else
      all.back().last = pairs[i];
  }
  return all;
}

}  // namespace ulp
