// Pins docs/output.md: what the commands print for programs has the keys of that page, all of them and no others.
#include "support/catch.hpp"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include <ulp/io/arrays/npz.hpp>

#include "io/builders.hpp"
#include "support/files.hpp"
#include "support/program.hpp"

using namespace ulp::test;

namespace {

using keys = std::set<std::string>;

// "`a`, `b` `_low`" names a, b and b_low.
keys keys_in(const std::string& cell) {
  keys all;
  std::string last;
  std::stringstream in(cell);
  for (std::string word; std::getline(in, word, '`') && std::getline(in, word, '`');) {
    if (!word.starts_with('_')) last = word;
    all.insert(word.starts_with('_') ? last + word : word);
  }
  return all;
}

// Of each table of the page: under its heading, then what of it the table is about ("ulp replay steps").
std::map<std::string, keys> documented() {
  std::map<std::string, keys> all;
  std::stringstream page(read_file((source_dir() / "docs/output.md").string()));
  std::string section;
  std::string name;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) section = line.substr(3);
    if (line.starts_with("| key")) {
      const keys of = keys_in(line);
      name = section + (of.empty() ? "" : " " + *of.begin());
    }
    if (line.starts_with("| `")) all[name].merge(keys_in(line.substr(0, line.find('|', 1))));
  }
  REQUIRE(all.size() > 10);
  return all;
}

// The same of what the commands print.
struct printed {
  std::map<std::string, keys> json;
  std::map<std::string, keys> csv;

  void see(const std::string& name, const nlohmann::json& row) {
    for (const auto& [key, value] : row.items())
      if (key != "schema" && key != "notes") json[name].insert(key);
  }

  // Numbers of advice hold objects, some of them under names that are no keys.
  void see_nested(const std::string& name, const nlohmann::json& row) {
    static const keys by_name{"formats", "scales", "tensors", "groups", "other_kinds", "kinds", "histories", "rules"};
    see(name, row);
    for (const auto& [key, value] : row.items()) {
      if (!value.is_object()) continue;
      if (!by_name.contains(key)) see_nested(name, value);
      if (by_name.contains(key))
        for (const auto& [any, one] : value.items()) see_nested(name, one);
    }
  }

  // `rows`: of an object, the key that they are under.
  void see_json(const std::string& name, const std::string& text, const std::string& rows = "") {
    const auto all = nlohmann::json::parse(text);
    CHECK((all.is_array() ? all.at(0) : all).at("schema").get<std::string>().ends_with("/1"));
    if (all.is_array()) {
      for (const auto& row : all) {
        see(name, row);
        if (row.contains("numbers")) see_nested(name + " numbers", row.at("numbers"));
      }
      return;
    }
    CHECK(all.size() == 4);
    CHECK(all.at("notes").is_array());
    see(name + " summary", all.at("summary"));
    for (const auto& row : all.at(rows)) see(name + " " + rows, row);
  }

  void see_csv(const std::string& name, const std::string& text) {
    std::stringstream header(text.substr(0, text.find('\n')));
    for (std::string key; std::getline(header, key, ',');) csv[name].insert(key);
  }
};

const std::string digits = "tests/data/octaves/digits.ulp";

// A histogram CSV of 250 steps and six layers, one value each: 2^exponent, NaN or zero.
enum class lost { no, nan, zero };
template <typename Exponent, typename Lost>
std::string histogram(Exponent exponent, Lost is_lost) {
  std::ostringstream csv;
  csv.precision(17);
  csv << "step,tensor,kind,n,zero,nan,inf,max_abs,e_min,counts\n";
  for (int step = 0; step < 250; ++step)
    for (int layer = 0; layer < 6; ++layer) {
      csv << step << ",layers." << layer << ".weight,weight_grad,4,";
      const lost how = is_lost(step, layer);
      if (how == lost::nan) csv << "0,4,0,0,0,\n";
      if (how == lost::zero) csv << "4,0,0,0,0,\n";
      if (how != lost::no) continue;
      const int e = exponent(step, layer);
      csv << "0,0,0," << std::ldexp(1.0, e) << ',' << e << ",4\n";
    }
  return csv.str();
}

// One of each cause of ulp advise.
std::vector<std::string> runs_with_causes() {
  const auto level = [](int, int) { return 0; };
  const auto never = [](int, int) { return lost::no; };
  std::string log = "step,found_inf,scale\n";
  double scale = 65536;
  for (int step = 0; step < 200; ++step) {
    const bool overflow = step % 8 == 7;
    log += std::to_string(step) + (overflow ? ",1," : ",0,") + std::to_string(scale) + "\n";
    if (overflow) scale = std::max(1.0, scale / 2);
  }
  return {histogram(level, [](int, int) { return lost::zero; }),
          histogram([](int step, int) { return step < 100 ? 0 : std::min(40, step - 99); },
                    [](int step, int) { return step < 200 ? lost::no : lost::nan; }),
          histogram([](int step, int) { return step == 100 ? 20 : 0; }, never),
          histogram(level, [](int step, int) { return step < 100 ? lost::no : lost::nan; }),
          histogram(level, [](int step, int layer) { return step < 100 || layer > 2 ? lost::no : lost::nan; }),
          histogram(level, [](int step, int layer) { return step < 100 || layer > 2 ? lost::no : lost::zero; }),
          histogram([](int, int layer) { return 8 * layer; }, never),
          histogram(level, [](int, int layer) { return layer > 2 ? lost::no : lost::zero; }),
          log,
          "step,found_inf,scale\n0,1,64\n1,1,32\n2,1,16\n3,1,8\n4,1,4\n5,0,2\n6,0,2\n",
          "step,found_inf,scale\n0,0,64\n1,1,64\n2,0,0\n3,0,0\n4,0,0\n"};
}

// Inputs and options that between them have every key.
printed all_commands() {
  const temporary_dir dir;
  const std::string damaged = (dir / "damaged.ulp").string();
  REQUIRE(run_ulp("record " + digits + " --steps :4 -o " + damaged).exit_code == 0);
  std::string bytes = read_file(damaged);
  bytes.replace(bytes.size() - 300, 256, 256, '~');  // in the last page: rows
  write_file(damaged, bytes);
  // float16: zeros and a few units of its least number.
  write_file((dir / "least.npy").string(), npy(npy_dict("<f2", "(4,)"), std::string("\0\0\1\0\2\0\5\0", 8)));
  std::string log = "step,maxabs\n";
  for (int step = 0; step < 100; ++step) log += std::to_string(step) + (step < 40 ? ",nan\n" : ",1\n");
  write_file((dir / "log.csv").string(), log);

  const std::string weights = "examples/weights.step00100.safetensors";
  const std::string rate = (dir / "rate.csv").string();
  const std::string half = (dir / "half.yaml").string();
  write_file(rate, "step,lr\n100,0.05\n");
  write_file(half, "trainer:\n  precision: bf16-true\n");
  // bfloat16: 1 and 2, of which one moved.
  write_file((dir / "unmoved.safetensors").string(),
             safetensors(R"({"weight/w":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]},)"
                         R"("update/w":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
                         std::string("\x80\x3f\0\x40\0\0\0\0\0\0\x80\x3f", 12)));

  write_file((dir / "nan.safetensors").string(),
             safetensors(R"({"weight/w":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]}})", "\xc0\x7f"));

  printed all;
  int number = 0;
  for (const std::string& text : runs_with_causes()) {
    const std::string path = (dir / ("cause" + std::to_string(number++) + ".csv")).string();
    write_file(path, text);
    const bool is_log = text.starts_with("step,found_inf");
    const auto advised = run_ulp("advise " + path + (is_log ? "" : " --factor 1") + " --json");
    REQUIRE(advised.exit_code == 0);
    const auto first = nlohmann::json::parse(advised.out).at(0);
    CAPTURE(number, first.at("conclusion"));
    CHECK(first.at("numbers").at("cause") != "healthy");
    all.see_json("ulp advise", advised.out);
  }
  const std::vector<std::tuple<std::string, std::string, std::string>> tables = {
      {"ulp outcomes", "outcomes " + digits + " --format fp16 --by kind", ""},
      {"ulp outcomes of blocks", "outcomes examples/digits.step00100.safetensors --format mxfp8", ""},
      {"ulp outcomes", "outcomes " + digits + " --format fp16 --by group --group all=. --rounding sr", ""},
      {"ulp replay", "replay " + digits + " --scaler pytorch --format fp16 --clip-value 1 --group NAME=.", "steps"},
      {"ulp replay", "replay tests/data/golden/inputs/loop_walk.csv --scaler deepspeed --format fp16", "steps"},
      {"ulp sweep --recipe", "sweep " + digits + " --recipe te_delayed,te_current --set amax_history_len=1,16", ""},
      {"ulp sweep --recipe of blocks", "sweep examples/digits.step00100.safetensors --recipe mxfp8", ""},
      {"ulp sweep", "sweep " + digits + " --scaler pytorch,cerebras --format fp16", ""},
      {"ulp compare", "compare " + digits + " examples/digits.ulp", "tensors"},
      {"ulp compare", "compare " + digits + " examples/digits.ulp --align loss", "tensors"},
      {"ulp info", "info " + digits, "tensors"},
      {"ulp plan", "plan " + digits + " --hardware cs", "tensors"},
      {"ulp watch", "watch " + digits + " --scaler pytorch", "tensors"},
      {"ulp advise", "advise " + digits + " --group conv=^conv --group fc=^fc", ""},
      {"ulp advise", "advise " + digits + " --format float8_e4m3fn", ""},
      {"ulp advise", "advise examples/digits.step00100.safetensors --format mxfp8", ""},
      {"ulp advise", "advise " + (dir / "log.csv").string(), ""},
      {"ulp advise", "advise " + (dir / "least.npy").string(), ""},
      {"ulp advise", "advise " + weights + " --scalars " + rate + " --config " + half, ""},
      {"ulp advise", "advise " + (dir / "unmoved.safetensors").string(), ""},
      {"ulp advise", "advise " + (dir / "nan.safetensors").string(), ""},
      {"ulp precision weights", "precision weights " + weights + " --lr 0.05 --format bf16 --curvature 1", ""},
      {"ulp check", "check " + damaged, ""},
      {"ulp formats", "formats", ""},
      {"ulp formats --blocks", "formats --blocks", ""},
      {"ulp diff", "diff " + (dir / "least.npy").string() + " --to mxfp8 --dialects torchao,te", ""},
      {"ulp scalers", "scalers", ""},
      {"ulp scalers NAME", "scalers pytorch", ""},
      {"ulp precision optimizer", "precision optimizer", ""},
      {"ulp precision optimizer --dialect NAME", "precision optimizer --dialect torch_sgd", ""},
      {"ulp precision optimizer INPUT",
       "precision optimizer tests/data/golden_optim/inputs.npz --dialect torch_sgd -o " + (dir / "o.npz").string(),
       "steps"},
      {"ulp precision accumulate", "precision accumulate examples/microbatches32.safetensors --format bf16", ""},
      {"ulp precision dot", "precision dot --generate normal --length 8 --rows 2 --format bf16", ""},
      {"ulp matmul",
       "matmul examples/digits.step00100.safetensors --a wgrad/fc2.weight --b wgrad/fc1.weight --unit H100 --format "
       "fp16",
       ""},
      {"ulp precision random-bits",
       "precision random-bits examples/weights.step00100.safetensors --lr 0.05 --format bf16", ""},
      {"ulp precision random-bits tensor",
       "precision random-bits examples/weights.step00100.safetensors --lr 0.05 --format bf16 --by-tensor", ""},
      {"ulp selfcheck", "selfcheck", ""},
      {"ulp precision optimizer8", "precision optimizer8 tests/data/golden_optim/inputs.npz", ""},
      {"ulp precision optimizer8 --quantizers", "precision optimizer8 tests/data/golden_optim/inputs.npz --quantizers",
       ""},
      {"ulp selfcheck closed-loop", "selfcheck closed-loop --model mlp --steps 5 --seeds 2", "loops"},
      {"ulp selfcheck closed-loop --recipe",
       "selfcheck closed-loop --recipe te_delayed:hybrid --model mlp --steps 5 --seeds 2", "kinds"},
      {"ulp selfcheck closed-loop --recipe of blocks",
       "selfcheck closed-loop --recipe mxfp8 --model mlp --steps 5 --seeds 2", "tensors"},
      {"ulp selfcheck optimizers",
       "selfcheck optimizers --model mlp --steps 5 --seeds 2 --modes torch_adam:bf16,ao_adam8bit", "modes"},
      {"ulp selfcheck optimizers",
       "selfcheck optimizers --model mlp --steps 5 --seeds 2 --by-layer --modes torch_adam:bf16,ao_adam8bit", "layers"},
  };
  for (const auto& [name, arguments, rows] : tables) {
    CAPTURE(arguments);
    all.see_json(name, run_ulp(arguments + " --json").out, rows);
    all.see_csv(rows.empty() ? name : name + " " + rows, run_ulp(arguments + " --csv -").out);
  }
  all.see_json(
      "ulp convert",
      run_ulp("convert " + (dir / "least.npy").string() + " --to cb16 -o " + (dir / "o.npy").string() + " --json").out,
      "tensors");
  all.see_json(
      "ulp convert to blocks",
      run_ulp("convert " + (dir / "least.npy").string() + " --to mxfp8 -o " + (dir / "o.npz").string() + " --json").out,
      "tensors");
  // A probe's own operands are results of no kernel; one that gave them has the same keys.
  const std::string probe = (dir / "probe.npz").string();
  CHECK(run_ulp("probe --format fp16 -k 2 -o " + probe).exit_code == 0);
  const std::string results = (dir / "results.npy").string();
  const std::vector<float> zeros(192);
  ulp::write_npy(results, "<f4", {192}, {reinterpret_cast<const char*>(zeros.data()), zeros.size() * sizeof(float)});
  all.see_json("ulp probe", run_ulp("probe " + probe + " --results " + results + " --json").out, "");
  all.see_json("ulp verify --block",
               run_ulp("verify --block mxfp8 tests/data/golden_blocks/torchao_mxe4m3_floor.npz --json").out);
  all.see_json("ulp inspect", run_ulp("inspect 0.1 --format fp16 --json").out);
  all.see_json("ulp verify", run_ulp("verify --op add --format fp16 --json", "3C00 3C00 4000 00\n").out);
  for (const std::string& input : {digits, std::string("tests/data/live_scales.ulp")}) {
    const std::string recipe = "replay " + input + " --recipe te_delayed";
    all.see_json("ulp replay --recipe", run_ulp(recipe + " --json").out, "tensors");
    all.see_csv("ulp replay --recipe --csv", run_ulp(recipe + " --csv -").out);
  }
  const std::string per_tensor = (dir / "t.csv").string();
  CHECK(
      run_ulp("replay " + digits + " --scaler pytorch --format fp16 --steps :2 --per-tensor " + per_tensor).exit_code ==
      0);
  all.see_csv("ulp replay --per-tensor", read_file(per_tensor));
  return all;
}

// In CSV a key stands for its bounds, or they for it; the mean of a drawn count is in JSON alone.
bool is_covered(const std::string& key, const keys& by) {
  for (const std::string end : {"_low", "_high", "_mean"})
    if (key.ends_with(end) && is_covered(key.substr(0, key.size() - end.size()), by)) return true;
  return by.contains(key) || by.contains(key + "_low");
}

}  // namespace

TEST_CASE("docs/output.md has every key that a command prints, and no other") {
  const auto page = documented();
  const printed all = all_commands();
  for (const auto& [name, of_page] : page) {
    CAPTURE(name);
    REQUIRE((all.json.contains(name) || all.csv.contains(name)));
    if (all.json.contains(name)) CHECK(all.json.at(name) == of_page);
    if (!all.csv.contains(name)) continue;
    for (const std::string& key : all.csv.at(name)) {
      CAPTURE(key);
      CHECK(of_page.contains(key));
    }
    for (const std::string& key : of_page) {
      CAPTURE(key);
      CHECK(is_covered(key, all.csv.at(name)));
    }
  }
  for (const auto& [name, of_json] : all.json) {
    CAPTURE(name);
    CHECK(page.contains(name));
  }
}
