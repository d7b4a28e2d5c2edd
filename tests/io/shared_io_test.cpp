// The house's real gradients and its collection of hostile files.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <fstream>
#include <map>
#include <sstream>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>

#include "builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& line, char separator) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, separator);) fields.push_back(field);
  return fields;
}

contents read(const fs::path& path) { return read_all(*open_source({path.string()})); }

std::vector<fs::path> files_ending(const std::string& suffix) {
  std::vector<fs::path> found;
  for (const auto& file : fs::recursive_directory_iterator(shared_dir() / "data"))
    if (file.path().string().ends_with(suffix) && file.path().parent_path().filename() != "malformed")
      found.push_back(file.path());
  return found;
}

// "chartf_good.step00700.safetensors" -> "chartf_good"
std::string run_of(const fs::path& path) { return split(path.filename().string(), '.').front(); }

// Tensors of dumps are named wgrad/X or agrad/X where histograms have X and a kind.
std::string plain_name(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash == 5 ? name.substr(6) : name;
}

std::map<int, std::uint64_t> binades_of(const cell_table& table) {
  std::map<int, std::uint64_t> counts;
  for (const cell& c : table.cells) counts[c.exponent] += c.count;
  return counts;
}

}  // namespace

TEST_CASE("hostile files get the verdict of their index") {
  if (shared_dir().empty()) return;
  const fs::path folder = shared_dir() / "data" / "malformed";
  std::ifstream index(folder / "INDEX.csv");
  std::string line;
  int checked = 0;
  std::getline(index, line);
  while (std::getline(index, line)) {
    const auto fields = split(line, ',');
    const std::string name = fields.at(0);
    const bool is_dump =
        name.starts_with("st_") || name.starts_with("npy_") || name.starts_with("npz_") || name.starts_with("pt_");
    const bool ok = (is_dump || name.starts_with("tf_")) && fields.at(2) == "ok";
    INFO(line);
    const std::string path = (folder / name).string();
    if (ok) {
      CHECK_NOTHROW(read(path));
    } else {
      CHECK_THROWS_AS(read(path), input_error);
    }
    ++checked;
  }
  CHECK(checked == 46);
}

TEST_CASE("every real file opens and reads") {
  if (shared_dir().empty()) return;
  for (const std::string suffix : {".safetensors", ".npz", ".hist.csv.gz"})
    for (const fs::path& path : files_ending(suffix)) {
      INFO(path);
      const contents all = read(path);
      CHECK_FALSE(all.tensors.empty());
      for (const step& s : all.steps) CHECK_FALSE(s.tensors.empty());
    }
}

TEST_CASE("npz and safetensors of one step hold the same tables") {
  if (shared_dir().empty()) return;
  int compared = 0;
  for (const fs::path& path : files_ending(".npz")) {
    const fs::path other = fs::path(path).replace_extension(".safetensors");
    if (!fs::exists(other)) continue;
    const contents a = read(path);
    const contents b = read(other);
    CHECK(a.steps.at(0).key == b.steps.at(0).key);
    REQUIRE(a.tensors.size() == b.tensors.size());
    for (const tensor_info& info : b.tensors) {
      std::string name = info.name;
      name.replace(name.find('/'), 1, "__");
      INFO(name);
      CHECK(a.table(name) == b.table(info.name));
      CHECK(a.tensor(name).shape == info.shape);
      CHECK(a.tensor(name).kind == info.kind);
      ++compared;
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("histograms equal the octaves of the dumps they were made with") {
  if (shared_dir().empty()) return;
  std::map<std::string, contents> histograms;
  int compared = 0;
  for (const fs::path& path : files_ending(".safetensors")) {
    // The half-precision dump's values are rounded anew, weights and micro-batches are other tensors.
    if (path.string().find(".step") == std::string::npos || path.string().find(".half.") != std::string::npos) continue;
    const std::string run = run_of(path);
    if (!histograms.contains(run)) histograms[run] = read(path.parent_path() / (run + ".hist.csv.gz"));
    const contents& histogram = histograms[run];
    const contents dump = read(path);
    const auto row = std::find_if(histogram.steps.begin(), histogram.steps.end(),
                                  [&](const step& s) { return s.key == dump.steps.at(0).key; });
    REQUIRE(row != histogram.steps.end());
    for (const tensor_info& info : dump.tensors) {
      INFO(path << " " << info.name);
      const auto same = std::find_if(row->tensors.begin(), row->tensors.end(), [&](const tensor_row& t) {
        return histogram.tensors[t.tensor].name == plain_name(info.name);
      });
      REQUIRE(same != row->tensors.end());
      const cell_table& expected = dump.table(info.name);
      CHECK(histogram.tensors[same->tensor].kind == info.kind);
      CHECK(binades_of(same->table) == binades_of(expected));
      CHECK(same->table.max_abs == expected.max_abs);
      CHECK(same->table.numel == expected.numel);
      CHECK(same->table.zeros == expected.zeros);
      CHECK(same->table.nonfinite() == expected.nonfinite());
      for (const auto sum : {magnitudes_sum, squares_sum}) {
        const double exact = sum(expected).value;
        CHECK(std::abs(sum(same->table).value - exact) <= 1e-9 * exact);
      }
      ++compared;
    }
  }
  CHECK(compared > 150);
}

TEST_CASE("exact sums of significands equal those recorded with the runs") {
  if (shared_dir().empty()) return;
  int compared = 0;
  for (const fs::path& path : files_ending(".safetensors")) {
    if (path.string().find(".step") == std::string::npos || path.string().find(".half.") != std::string::npos) continue;
    const contents dump = read(path);
    std::map<std::pair<std::string, int>, std::uint64_t> sums;
    for (const tensor_info& info : dump.tensors)
      for (const binade_sums& s : dump.table(info.name).sums)
        sums[{plain_name(info.name), s.exponent}] += static_cast<std::uint64_t>(s.significands);
    std::ifstream in(path.parent_path() / (run_of(path) + ".hist_long.csv"));
    REQUIRE(in);
    const std::string step = std::to_string(dump.steps.at(0).key.step);
    std::map<std::pair<std::string, int>, std::uint64_t> expected;
    std::map<std::string, bool> in_dump;
    for (const tensor_info& info : dump.tensors) in_dump[plain_name(info.name)] = true;
    for (std::string line; std::getline(in, line);) {
      const auto fields = split(line, ',');
      const std::string& exponent = fields.at(3);  // or a class: zero, nan, inf
      if (fields.at(0) != step || !in_dump.contains(fields.at(1)) || !std::isdigit(exponent.back())) continue;
      expected[{fields.at(1), std::stoi(exponent)}] = std::stoull(fields.at(5));
    }
    INFO(path);
    CHECK_FALSE(expected.empty());
    CHECK(sums == expected);
    compared += static_cast<int>(expected.size());
  }
  CHECK(compared > 1000);
}

TEST_CASE("real histograms keep their nan rows, real scalars merge") {
  if (shared_dir().empty()) return;
  const fs::path folder = shared_dir() / "data" / "chartf_fp16hot";
  source_options options;
  options.scalars = (folder / "chartf_fp16hot.scalars.csv").string();
  options.factor_is_loss_scale = true;
  const contents all = read_all(*open_source({(folder / "chartf_fp16hot.hist.csv.gz").string()}, options));
  REQUIRE(all.steps.size() == 1000);
  const step& bad = all.steps[272];
  CHECK(bad.scalars.found_inf == true);
  CHECK(bad.scalars.loss_scale == 131072);
  CHECK(bad.tensors[0].factor == 131072);
  CHECK(bad.tensors[0].table.nans == 96);
  CHECK(all.steps[271].scalars.found_inf == false);
}

TEST_CASE("the inputs of the golden traces are step logs") {
  if (shared_dir().empty()) return;
  int opened = 0;
  for (const auto& file : fs::directory_iterator(shared_dir() / "golden" / "inputs")) {
    INFO(file.path());
    const contents log = read(file.path());
    CHECK(log.description == "step log");
    CHECK_FALSE(log.steps.empty());
    ++opened;
  }
  CHECK(opened > 10);
}
