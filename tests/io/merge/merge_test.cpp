// Pins merging: any order and any grouping of shards gives what recording the whole gradients gives; what cannot be added
// is refused by name; incomplete steps stay incomplete until the missing rank comes.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/io/merge/merge.hpp>
#include <ulp/io/merge/ranks.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

constexpr std::uint32_t world = 4;
constexpr std::int64_t steps = 5;

// The values of the whole tensors at a step: bfloat16 codes of one, floats of the other.
struct gradients {
  std::vector<std::uint16_t> codes;
  std::vector<float> floats;
};

gradients gradients_at(std::int64_t number) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number) + 1);
  gradients g;
  for (int i = 0; i < 64; ++i) g.codes.push_back(static_cast<std::uint16_t>(random()));
  for (int i = 0; i < 96; ++i) g.floats.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(random())));
  return g;
}

// Every part-th value from `part` on; of shards, the size of the whole is not known.
step row_at(std::int64_t number, std::uint32_t part, std::uint32_t parts, bool keep_codes = true) {
  const gradients g = gradients_at(number);
  std::map<std::uint32_t, std::uint64_t> counts;
  std::vector<float> floats;
  for (std::size_t i = part; i < g.codes.size(); i += parts) ++counts[g.codes[i]];
  for (std::size_t i = part; i < g.floats.size(); i += parts) floats.push_back(g.floats[i]);
  step s;
  s.key.step = number;
  s.scalars.loss_scale = 1024;
  s.ranks = {part};
  tensor_row low{.tensor = 0, .type = dtype::bfloat16, .factor = 1024};
  for (const auto& [code, n] : counts) low.codes.push_back({code, n});
  cell_counter counter;
  counter.add(bfloat16, low.codes);
  low.table = counter.take();
  if (!keep_codes) low.codes.clear();
  tensor_row full{
      .tensor = 1, .type = dtype::float32, .factor = 1024, .table = count_cells(std::span{std::as_const(floats)})};
  s.tensors = {low, full};
  return s;
}

const std::vector<tensor_info> whole{{.name = "low", .kind = tensor_kind::weight_grad, .shape = {8, 8}, .numel = 64},
                                     {.name = "full", .kind = tensor_kind::weight_grad, .shape = {96}, .numel = 96}};
std::vector<tensor_info> in_parts(std::uint64_t parts) {
  std::vector<tensor_info> tensors = whole;
  for (tensor_info& t : tensors) t.shape = {t.numel / parts}, t.numel = 0;
  return tensors;
}

run_header header_of(std::uint32_t rank, std::uint32_t ranks = world, const std::string& run = "r") {
  return {
      .run_id = run, .rank = rank, .world = ranks, .reduction = "reduced", .layout = ranks > 1 ? "shard" : "replica"};
}

class workshop {
 public:
  [[nodiscard]] std::string write(const std::string& name, const run_header& header, const std::vector<step>& rows,
                                  const std::vector<tensor_info>& tensors) const {
    const std::string path = (dir_ / name).string();
    recording_writer writer(path, recording_writer::mode::create, header);
    for (const step& row : rows) writer.write(row, tensors);
    return path;
  }
  [[nodiscard]] std::string shard(std::uint32_t rank, const std::function<void(step&)>& change = {}) const {
    std::vector<step> rows;
    for (std::int64_t n = 0; n < steps; ++n) {
      rows.push_back(row_at(n, rank, world));
      if (change) change(rows.back());
    }
    return write("shard" + std::to_string(++files_), header_of(rank), rows, in_parts(world));
  }
  [[nodiscard]] std::vector<std::string> shards() const {
    std::vector<std::string> all;
    for (std::uint32_t rank = 0; rank < world; ++rank) all.push_back(shard(rank));
    return all;
  }
  // A run of one rank, steps first to last.
  [[nodiscard]] std::string run(const std::string& id, std::int64_t first, std::int64_t last) const {
    std::vector<step> rows;
    for (std::int64_t n = first; n <= last; ++n) rows.push_back(row_at(n, 0, 1));
    return write("run" + std::to_string(++files_), header_of(0, 1, id), rows, whole);
  }
  [[nodiscard]] std::string merged(const std::vector<std::string>& paths, const merge_options& options = {}) const {
    const auto from = open_merged(paths, options);
    const std::string path = (dir_ / ("merged" + std::to_string(++files_))).string();
    recording_writer writer(path, recording_writer::mode::create, from->header());
    step row;
    while (from->next(row)) writer.write(row, from->tensors());
    return path;
  }
  // The folder is cut from it.
  [[nodiscard]] std::string error(const std::vector<std::string>& paths, const merge_options& options = {}) const {
    try {
      static_cast<void>(merged(paths, options));
    } catch (const input_error& problem) {
      std::string text = problem.what();
      const std::string folder = dir_.path().string() + "/";
      for (std::size_t at = text.find(folder); at != std::string::npos; at = text.find(folder))
        text.erase(at, folder.size());
      return text;
    }
    return "";
  }

 private:
  temporary_dir dir_;
  mutable int files_ = 0;
};

std::string digest(const std::string& path) { return digest_of(*open_recording(path)); }

std::vector<step> rows_of(source& from) {
  std::vector<step> rows;
  step row;
  while (from.next(row)) rows.push_back(row);
  return rows;
}

}  // namespace

TEST_CASE("any order and any grouping of shards gives the whole") {
  const workshop w;
  const std::string truth = digest(w.run("whole", 0, steps - 1));
  std::vector<std::string> paths = w.shards();
  CHECK(digest_of(*open_merged(paths)) == truth);
  std::mt19937 random(7);
  for (int round = 0; round < 12; ++round) {
    std::vector<std::string> left = paths;
    while (left.size() > 1) {  // two or three at a time, in any order
      std::shuffle(left.begin(), left.end(), random);
      const std::size_t n = std::min<std::size_t>(left.size(), 2 + random() % 2);
      const std::string together = w.merged({left.end() - static_cast<std::ptrdiff_t>(n), left.end()});
      left.resize(left.size() - n);
      left.push_back(together);
    }
    CHECK(digest(left.front()) == truth);
    const auto from = open_recording(left.front());
    CHECK(from->header().run_id == "r");
    CHECK(from->header().world == world);
    for (const tensor_info& t : from->tensors()) CHECK(t.numel == (t.name == "low" ? 64 : 96));
    for (const step& row : rows_of(*from)) {
      CHECK(row.ranks == std::vector<std::uint32_t>{0, 1, 2, 3});
      CHECK(row.tensors[0].codes.empty() == (from->tensors()[row.tensors[0].tensor].name == "full"));
    }
  }
}

TEST_CASE("codes stay where all shards have them, and are cells with those of others") {
  const workshop w;
  std::vector<std::string> paths = w.shards();
  paths[2] = w.shard(2, [](step& s) { s = row_at(s.key.step, 2, world, false); });
  step row;
  REQUIRE(open_merged(paths)->next(row));
  step expected = row_at(0, 0, 1);
  CHECK(row.tensors[0].codes.empty());
  CHECK(row.tensors[0].table == expected.tensors[0].table);
  CHECK(row.tensors[1].table == expected.tensors[1].table);
  // A shard without elements has no codes to lose.
  const std::string empty = w.shard(3, [](step& s) {
    s.tensors[0].codes.clear();
    s.tensors[0].table = {};
  });
  REQUIRE(open_merged({w.shard(0), empty})->next(row));
  CHECK(row.tensors[0].codes == row_at(0, 0, world).tensors[0].codes);
}

TEST_CASE("a code that several shards have is there once, with the counts of all") {
  const workshop w;
  const auto with_codes = [&](std::uint32_t rank, const std::vector<code_count>& codes) {
    return w.shard(rank, [&](step& s) {
      cell_counter counter;
      counter.add(bfloat16, codes);
      s.tensors[0].codes = codes;
      s.tensors[0].table = counter.take();
    });
  };
  step row;
  REQUIRE(
      open_merged({with_codes(0, {{0x3F80, 2}, {0x4000, 1}}), with_codes(1, {{0x3F80, 3}, {0x4040, 1}})})->next(row));
  CHECK(row.tensors[0].codes == std::vector<code_count>{{0x3F80, 5}, {0x4000, 1}, {0x4040, 1}});
}

TEST_CASE("shards have as many elements together as a table may have") {
  const workshop w;
  const auto zeros = [&](std::uint32_t rank, std::uint64_t count) {
    return w.shard(rank, [&](step& s) {
      s.tensors = {{.tensor = 0, .type = dtype::float32, .factor = 1024}};
      s.tensors[0].table.numel = s.tensors[0].table.zeros = count;
    });
  };
  constexpr std::uint64_t half = max_numel / 2;
  const std::string a = zeros(0, half);
  step row;
  REQUIRE(open_merged({a, zeros(1, half)})->next(row));
  CHECK(row.tensors[0].table.numel == max_numel);
  CHECK(w.error({a, zeros(1, half + 1)}) ==
        "shard3: step 0, tensor 'low': has more than the 2^40 elements that a table may have, with those of shard1");
}

TEST_CASE("of how many parts a gradient is a sum is known where all shards say the same") {
  const workshop w;
  const auto of_parts = [&](std::uint32_t rank, std::uint8_t rounded) {
    return w.shard(rank, [&](step& s) { s.tensors[1].parts = {.rounded = rounded}; });
  };
  const std::string a = of_parts(0, 4);
  const std::string b = of_parts(1, 4);
  step row;
  REQUIRE(open_merged({a, b})->next(row));
  CHECK(row.tensors[1].parts == gradient_parts{.rounded = 4});
  REQUIRE(open_merged({a, b, of_parts(2, 3)})->next(row));
  CHECK_FALSE(row.tensors[1].parts.known());
}

TEST_CASE("a step that lacks a rank is kept and marked until the rank comes") {
  const workshop w;
  std::vector<step> without;
  for (std::int64_t n = 0; n < steps; ++n)
    if (n != 3) without.push_back(row_at(n, 1, world));
  const std::string holey = w.write("holey", header_of(1), without, in_parts(world));
  const std::string missing = w.write("missing", header_of(1), {row_at(3, 1, world)}, in_parts(world));
  const auto from = open_merged({w.shard(3), holey, w.shard(0), w.shard(2)});
  CHECK(from->notes() ==
        std::vector<std::string>{"1 of 5 steps lacks ranks, the first is step 3, which has ranks 0,2,3 "
                                 "of 4: kept as they are, and marked"});
  const std::string path = w.merged({w.shard(3), holey, w.shard(0), w.shard(2)});
  const auto rows = rows_of(*open_recording(path));
  REQUIRE(rows.size() == steps);
  for (const step& row : rows) CHECK(is_complete(from->header(), row.ranks) == (row.key.step != 3));
  CHECK(rows[3].ranks == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(rows[3].tensors[1].table.numel == 72);
  CHECK(digest_of(*open_merged({path, missing})) == digest(w.run("whole", 0, steps - 1)));
  CHECK(open_merged({path, missing})->notes().empty());
}

TEST_CASE("a shard given twice is refused") {
  const workshop w;
  const auto paths = w.shards();
  const std::string pair = w.merged({paths[0], paths[1]});
  CHECK(w.error({pair, paths[1]}) ==
        "shard2: step 0: has the data of rank 1, some of which merged5 has too: was a recording given twice? for a run "
        "that was restarted from an earlier step, give --later-wins");
}

TEST_CASE("reduced replicas must be equal") {
  const workshop w;
  const auto replica = [&](const std::string& name, std::uint32_t rank, float value) {
    step row;
    row.key.step = 8;
    row.scalars.loss = 2.0 + rank;  // each rank's own
    row.ranks = {rank};
    const std::vector<float> values{1.0F, value};
    row.tensors = {{.tensor = 1, .type = dtype::float32, .table = count_cells(std::span{values})}};
    run_header header = header_of(rank, 2);
    header.layout = "replica";
    return w.write(name, header, {row}, whole);
  };
  const std::string a = replica("a", 0, 2.0F);
  const std::string b = replica("b", 1, 2.0F);
  const auto from = open_merged({b, a});
  const auto rows = rows_of(*from);
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].ranks == std::vector<std::uint32_t>{0, 1});
  CHECK(rows[0].tensors[0].table.numel == 2);
  CHECK(rows[0].scalars.loss == 3.0);
  CHECK(from->notes() ==
        std::vector<std::string>{"loss or gradient norm differ between ranks in 1 step: the largest is kept"});
  CHECK(rows_of(*open_merged({a, b, a}))[0].tensors[0].table.numel == 2);
  CHECK(w.error({a, replica("c", 1, 3.0F)})
            .starts_with("c: step 8, tensor 'full': has other counts than in a: replicas"));
}

TEST_CASE("reduced replicas of other codes are not equal where their tables are") {
  const workshop w;
  // Significands from 1 to 2: 1 + 5 + 6 = 2 + 3 + 7, their squares as well, and all lie in one interval of the cells.
  const auto row_with = [](std::uint32_t rank, const std::vector<std::uint32_t>& fractions) {
    step row;
    row.ranks = {rank};
    row.tensors = {{.tensor = 0, .type = dtype::bfloat16}};
    for (const std::uint32_t f : fractions) row.tensors[0].codes.push_back({0x3F80 + f, 1});
    cell_counter counter;
    counter.add(bfloat16, row.tensors[0].codes);
    row.tensors[0].table = counter.take();
    return row;
  };
  const step one = row_with(0, {0, 1, 5, 6, 0x60});
  const step other = row_with(1, {0, 2, 3, 7, 0x60});
  REQUIRE(one.tensors[0].table == other.tensors[0].table);
  const auto write = [&](const std::string& name, const step& row) {
    run_header header = header_of(row.ranks[0], 2);
    header.layout = "replica";
    return w.write(name, header, {row}, whole);
  };
  CHECK(w.error({write("a", one), write("b", other)})
            .starts_with("b: step 0, tensor 'low': has other counts than in a: replicas"));
}

TEST_CASE("what reduced gradients cannot tell is said of several ranks alone") {
  for (const char* const layout : {"replica", "shard"}) {
    rank_coverage ranks({.rank = 0, .world = 4, .reduction = "reduced", .layout = layout});
    CHECK(ranks.note("run.ulp").starts_with("run.ulp: holds gradients that were reduced over 4 ranks"));
  }
  CHECK(rank_coverage({.rank = 0, .world = 1, .reduction = "reduced", .layout = "replica"}).note("run.ulp").empty());
  CHECK(rank_coverage({.rank = 0, .world = 4, .reduction = "local", .layout = "replica"}).note("run.ulp").empty());
}

TEST_CASE("local gradients of several ranks are counted together") {
  const workshop w;
  const auto local = [&](const std::string& name, std::uint32_t rank) {
    run_header header = header_of(rank, 2);
    header.layout = "replica";
    header.reduction = "local";
    step row = row_at(0, rank, 1);  // both have whole tensors
    return w.write(name, header, {row}, whole);
  };
  const std::string a = local("a", 0);
  run_header header = open_recording(a)->header();
  CHECK_FALSE(is_complete(header, {0}));
  const auto rows = rows_of(*open_merged({a, local("b", 1)}));
  CHECK(is_complete(header, rows[0].ranks));
}

TEST_CASE("runs of other steps follow one another, and overlapping ones are refused unless the later wins") {
  const workshop w;
  const std::string first = w.run("a", 0, 3);
  const std::string second = w.run("b", 4, 7);
  const std::string again = w.run("c", 2, 7);
  const std::string truth = digest(w.run("all", 0, 7));
  CHECK(digest_of(*open_merged({second, first})) == truth);
  CHECK(open_merged({second, first})->header().run_id == "a+b");
  CHECK(w.error({first, again}) ==
        "run3: step 2: is in run1 too, and these are different runs ('a' and 'c'): the ranks of one run are recorded "
        "with one --run-id; for a run that was restarted from an earlier step, give --later-wins");
  const auto from = open_merged({first, again}, {.later_wins = true});
  CHECK(from->notes() ==
        std::vector<std::string>{first + ": 2 steps from step 2 on left out, where a later one takes over"});
  CHECK(digest_of(*from) == truth);
  CHECK_THROWS_AS(open_merged({again, first}, {.later_wins = true}), input_error);
  CHECK(w.error({first, w.run("d", 0, 7)}, {.later_wins = true}) ==
        "run1: nothing is left of it: run5, given later, takes over from step 0 on; leave it out, or change the order");
}

TEST_CASE("where the later wins, the ranks of one run still belong together") {
  const workshop w;
  const auto from = open_merged(w.shards(), {.later_wins = true});
  CHECK(from->notes().empty());
  CHECK(digest_of(*from) == digest(w.run("whole", 0, steps - 1)));
}

TEST_CASE("runs of other worlds follow one another where their steps are whole") {
  const workshop w;
  std::vector<step> later;
  for (std::int64_t n = steps; n < 2 * steps; ++n) later.push_back(row_at(n, 0, 1));
  const std::string alone = w.write("alone", header_of(0, 1, "later"), later, whole);
  std::vector<std::string> paths = w.shards();
  const std::string truth = digest(w.run("all", 0, 2 * steps - 1));
  const std::string together = w.merged(paths);
  const auto from = open_merged({alone, together});
  CHECK(from->header().layout == "replica");
  CHECK(digest_of(*from) == truth);
  paths.push_back(alone);
  CHECK(digest_of(*open_merged(paths)) == truth);
  CHECK(w.error({paths[0], alone}).find("merge all ranks of each run first") != std::string::npos);
}

TEST_CASE("what ranks of a step must share is compared") {
  const workshop w;
  const std::string a = w.shard(0);
  const auto with = [&](const std::function<void(step&)>& change) { return w.error({a, w.shard(1, change)}); };
  CHECK(with([](step& s) { s.scalars.loss_scale = 512; }).find("step 0: logs another loss scale than shard1") !=
        std::string::npos);
  CHECK(with([](step& s) {
          s.tensors[1].factor = 512;
        }).find("step 0, tensor 'full': its factor is 512, and is 1024 in") != std::string::npos);
  CHECK(with([](step& s) { s.tensors[1].type = dtype::float64; }).find("its values are float64, and float32 in") !=
        std::string::npos);
  step row;
  const std::string overflowed = w.shard(2, [](step& s) {
    s.scalars.found_inf = true;
    s.scalars.applied = false;
  });
  const std::string fine = w.shard(3, [](step& s) {
    s.scalars.found_inf = false;
    s.scalars.applied = true;
  });
  REQUIRE(open_merged({a, fine, overflowed})->next(row));
  CHECK(row.scalars.found_inf == true);
  CHECK(row.scalars.applied == false);
}

TEST_CASE("of what each rank logs for itself the largest is kept, whichever rank it is") {
  const workshop w;
  const auto logs = [&](std::uint32_t rank, double loss, double norm) {
    return w.shard(rank, [&](step& s) {
      s.scalars.loss = loss;
      s.scalars.grad_norm = norm;
    });
  };
  step row;
  REQUIRE(open_merged({logs(0, 5, 1), logs(1, 3, 2), logs(2, not_known, not_known)})->next(row));
  CHECK(row.scalars.loss == 5);
  CHECK(row.scalars.grad_norm == 2);
  // Of step logs, where NaN is more than any number.
  const auto largest = [&](const std::vector<std::optional<double>>& of_ranks) {
    std::vector<std::string> paths;
    for (const std::optional<double>& x : of_ranks)
      paths.push_back(w.shard(static_cast<std::uint32_t>(paths.size()), [&](step& s) {
        s.tensors.clear();
        s.max_abs = x;
      }));
    step merged;
    REQUIRE(open_merged(paths)->next(merged));
    return merged.max_abs;
  };
  CHECK(largest({2, 3, 1}) == 3);
  CHECK(largest({2, {}}) == 2);
  CHECK(largest({{}, 2}) == 2);
  CHECK_FALSE(largest({{}, {}}));
  CHECK(std::isnan(largest({2, not_known, 3}).value_or(0)));
  CHECK(std::isnan(largest({not_known, 2}).value_or(0)));
}

TEST_CASE("headers and tensors that do not fit are refused, empty recordings told") {
  const workshop w;
  const std::string a = w.shard(0);
  run_header other = header_of(1, 3);
  CHECK(w.error({a, w.write("b", other, {row_at(0, 1, 3)}, in_parts(world))})
            .starts_with("b: header: belongs to the same run as shard1 and says rank 1 of 3"));
  std::vector<tensor_info> roles = in_parts(world);
  roles[1].role = tensor_role::low;
  CHECK(w.error({a, w.write("c", header_of(1), {row_at(0, 1, world)}, roles)}) ==
        "c: tensor 'full': its role is low, and unknown in shard1: record both alike");
  // Whole tensors that are said to be shards.
  CHECK(w.error({w.write("d", header_of(0, 2, "x"), {row_at(0, 0, 1)}, whole), w.write("e", header_of(1, 2, "x"), {[] {
                                                                                         step s = row_at(0, 0, 1);
                                                                                         s.ranks = {1};
                                                                                         return s;
                                                                                       }()},
                                                                                       whole)})
            .find("128 elements in the shards of all ranks, and 64 in all") != std::string::npos);
  const std::string empty = w.write("none", header_of(2), {}, whole);
  CHECK(open_merged({a, empty})->notes().front().ends_with("none: holds no step"));
  CHECK(w.error({empty}) == "none: holds no step: there is nothing to merge");
  CHECK(w.error({}) == "input: none is given");
}

TEST_CASE("names of ranks") {
  CHECK(name_of_ranks({3}) == "rank 3");
  CHECK(name_of_ranks({0, 1}) == "ranks 0,1");
  CHECK(name_of_ranks({0, 1, 2, 5, 7, 8}) == "ranks 0-2,5,7,8");
}
