// Pins ulp record on the house's data: every file becomes a recording whose exact sums are those that were kept with the
// runs; every hostile dump gets the verdict of its index, in one line, soon and in little memory.
#include <sys/resource.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <map>
#include <sstream>

#include <ulp/io/recording/recording.hpp>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/program.hpp"
#include "support/sanitizers.hpp"

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

// Seconds of processor, and the most KiB of memory that any had.
struct spent {
  double seconds = 0;
  long memory = 0;
};
spent by_children() {
  rusage all{};
  getrusage(RUSAGE_CHILDREN, &all);
  const auto in_seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return {in_seconds(all.ru_utime) + in_seconds(all.ru_stime), all.ru_maxrss};
}

// Tensors of dumps are named wgrad/X or agrad/X where histograms have X and a kind.
std::string plain_name(const std::string& name) { return name.find('/') == 5 ? name.substr(6) : name; }

using sums_by_binade = std::map<std::pair<std::string, int>, std::uint64_t>;  // of a tensor and an exponent

// Of those steps of the run's file.
std::map<std::int64_t, sums_by_binade> kept_sums(const fs::path& file,
                                                 const std::map<std::int64_t, sums_by_binade>& of) {
  std::map<std::int64_t, sums_by_binade> kept;
  std::ifstream in(file);
  REQUIRE(in);
  std::string line;
  std::getline(in, line);
  REQUIRE(line == "step,tensor,kind,exponent,count,mant_sum,sum_abs,sum_sq,max_abs,nonfinite");
  while (std::getline(in, line)) {
    const auto fields = split(line, ',');
    const std::int64_t step = std::stoll(fields.at(0));
    const std::string& exponent = fields.at(3);  // or a class: zero, nan, inf
    if (of.contains(step) && std::isdigit(static_cast<unsigned char>(exponent.back())) != 0)
      kept[step][{fields.at(1), std::stoi(exponent)}] = std::stoull(fields.at(5));
  }
  return kept;
}

}  // namespace

TEST_CASE("exact sums of recordings equal those kept with the runs") {
  if (shared_dir().empty()) return;
  const temporary_dir dir;
  std::size_t compared = 0;
  for (const auto& folder : fs::directory_iterator(shared_dir() / "data")) {
    const std::string run = folder.path().filename().string();
    std::string dumps;
    if (folder.is_directory())
      for (const auto& file : fs::directory_iterator(folder.path())) {
        const std::string name = file.path().filename().string();
        if (name.starts_with(run + ".step") && name.ends_with(".safetensors") && !name.ends_with(".half.safetensors"))
          dumps += " '" + file.path().string() + "'";
      }
    if (dumps.empty()) continue;
    INFO(run);
    const std::string recording = (dir / (run + ".ulp")).string();
    REQUIRE(run_ulp("record" + dumps + " -o " + recording).exit_code == 0);
    std::map<std::int64_t, sums_by_binade> recorded;
    std::map<std::string, bool> is_recorded;
    const auto from = open_recording(recording);
    for (const tensor_info& info : from->tensors()) is_recorded[plain_name(info.name)] = true;
    for (step now; from->next(now);)
      for (const tensor_row& row : now.tensors)
        for (const binade_sums& s : row.table.sums)
          recorded[now.key.step][{plain_name(from->tensors()[row.tensor].name), s.exponent}] +=
              static_cast<std::uint64_t>(s.significands);
    auto kept = kept_sums(folder.path() / (run + ".hist_long.csv"), recorded);
    for (auto& [number, sums] : kept) {
      INFO("step " << number);
      std::erase_if(sums, [&](const auto& s) { return !is_recorded.contains(s.first.first); });
      CHECK_FALSE(sums.empty());
      CHECK(sums == recorded[number]);
      compared += sums.size();
    }
    CHECK(kept.size() == recorded.size());
  }
  CHECK(compared > 1000);
}

TEST_CASE("every dump and histogram of the house can be recorded") {
  if (shared_dir().empty()) return;
  const temporary_dir dir;
  int recorded = 0;
  for (const auto& file : fs::recursive_directory_iterator(shared_dir() / "data")) {
    const std::string name = file.path().filename().string();
    const bool is_input = name.ends_with(".safetensors") || name.ends_with(".npz") || name.ends_with(".hist.csv.gz");
    if (!is_input || file.path().parent_path().filename() == "malformed") continue;
    const std::string recording = (dir / (std::to_string(++recorded) + ".ulp")).string();
    const auto made = run_ulp("record '" + file.path().string() + "' -o " + recording);
    INFO(file.path() << made.err);
    CHECK(made.exit_code == 0);
    CHECK(run_ulp("info " + recording).exit_code == 0);
    fs::remove(recording);
  }
  CHECK(recorded >= 15);
}

TEST_CASE("hostile dumps get the verdict of their index on the command line") {
  if (shared_dir().empty()) return;
  const fs::path folder = shared_dir() / "data" / "malformed";
  std::ifstream index(folder / "INDEX.csv");
  std::string line;
  std::getline(index, line);
  int checked = 0;
  while (std::getline(index, line)) {
    const auto fields = split(line, ',');
    const std::string& name = fields.at(0);
    const auto is_kind = [&](const std::string& prefix) { return name.starts_with(prefix); };
    if (!is_kind("st_") && !is_kind("npy_") && !is_kind("npz_") && !is_kind("pt_")) continue;
    const temporary_dir dir;
    const std::string path = (folder / name).string();
    double seconds = 1;
    program_result result;
    for (int run = 0; run < 3 && seconds >= 1; ++run) {  // a busy machine may charge one what it did not use
      fs::remove(dir / "r.ulp");
      const double before = by_children().seconds;
      result = run_ulp("record '" + path + "' -o '" + (dir / "r.ulp").string() + "'");
      seconds = by_children().seconds - before;
    }
    INFO(line << ": " << result.err);
    CHECK(seconds < 1);
    if (fields.at(2) == "ok") {
      CHECK(result.exit_code == 0);
      CHECK(fs::exists(dir / "r.ulp"));
      CHECK(run_ulp("outcomes '" + path + "' --format fp16").exit_code == 0);
    } else {
      for (const auto& refused : {result, run_ulp("outcomes '" + path + "' --format fp16"),
                                  run_ulp("replay '" + path + "' --scaler pytorch --format fp16")}) {
        CHECK(refused.exit_code == 2);
        CHECK(refused.out.empty());
        CHECK(refused.err.starts_with("ulp: " + path + ": "));
        CHECK(std::ranges::count(refused.err, '\n') == 1);
      }
      CHECK(fs::is_empty(dir.path()));
    }
    ++checked;
  }
  CHECK(checked == 37);
  if (!address_sanitized) CHECK(by_children().memory < 200 * 1024);
}

TEST_CASE("a run that was killed twice and resumed is replayed as it went") {
  const fs::path folder = shared_dir() / "data" / "amp";
  if (!fs::exists(folder / "resumed.ulp")) return;
  std::map<std::string, std::vector<std::string>> logged;  // by step, the last line of each
  std::ifstream in(folder / "resumed.log.csv");
  std::string line;
  std::getline(in, line);
  REQUIRE(line == "step,scale,skipped,next_scale,loss");
  while (std::getline(in, line)) logged[split(line, ',').at(0)] = split(line, ',');

  const auto replay = run_ulp("replay " + (folder / "resumed.ulp").string() +
                              " --scaler pytorch --set growth_interval=20 --format fp16 --csv -");
  REQUIRE(replay.exit_code == 0);
  std::istringstream rows(replay.out);
  std::getline(rows, line);
  REQUIRE(line.starts_with("step,found_inf,scale_used,scale_next,skipped"));
  std::size_t steps = 0;
  std::size_t wrong = 0;
  for (; std::getline(rows, line); ++steps) {
    const std::vector<std::string> row = split(line, ',');
    const std::vector<std::string>& truth = logged.at(row.at(0));
    wrong += std::stod(row.at(2)) == std::stod(truth.at(1)) && row.at(4) == truth.at(2) &&
                     std::stod(row.at(3)) == std::stod(truth.at(3))
                 ? 0
                 : 1;
  }
  CHECK(steps == 120);
  CHECK(logged.size() == 120);
  CHECK(wrong == 0);
}
