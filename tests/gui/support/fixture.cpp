#include "fixture.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>

#include "support/program.hpp"

namespace ulp::test {

std::string digits_path() { return (source_dir() / "tests/data/octaves/digits.ulp").string(); }

const std::shared_ptr<const gui::loaded_run>& digits() {
  static const auto run = gui::load_run({.inputs = {digits_path()}}, ulp::nobody());
  return run;
}

scenario_text skipping_spec() {
  scenario_text spec = ulp::gui::usual_scenario();
  spec.parameters = {"init_scale=16777216", "growth_interval=100"};
  return spec;
}

scenario_text in_format(const std::string& name) {
  scenario_text spec = gui::usual_scenario();
  spec.format = name;
  return spec;
}

gui::replay_entry replayed(const gui::loaded_run& run, const scenario_text& spec) {
  static std::vector<gui::replay_entry> known;
  if (&run != digits().get()) return {.spec = spec, .result = gui::replay_run(run, spec, ulp::nobody()), .failure = {}};
  auto found = std::ranges::find(known, spec, &gui::replay_entry::spec);
  if (found == known.end())
    found = known.insert(found, {.spec = spec, .result = gui::replay_run(run, spec, ulp::nobody()), .failure = {}});
  return *found;
}

std::string safetensors_of(const std::vector<dumped_tensor>& tensors) {
  std::string header;
  std::string bytes;
  for (const dumped_tensor& t : tensors) {
    const std::size_t begin = bytes.size();
    for (const float value : t.values) {
      const auto bits = std::bit_cast<std::uint32_t>(value);
      for (int byte = t.is_bfloat16 ? 2 : 0; byte < 4; ++byte) bytes += static_cast<char>(bits >> (8 * byte) & 0xFF);
    }
    header += (header.empty() ? "{\"" : ",\"") + t.name + R"(":{"dtype":")" + (t.is_bfloat16 ? "BF16" : "F32") +
              R"(","shape":[)" + std::to_string(t.values.size()) + R"(],"data_offsets":[)" + std::to_string(begin) +
              "," + std::to_string(bytes.size()) + "]}";
  }
  header += "}";
  std::string all;
  for (int byte = 0; byte < 8; ++byte) all += static_cast<char>(header.size() >> (8 * byte) & 0xFF);
  return all + header + bytes;
}

std::string weights_that_stop(const temporary_dir& dir) {
  const std::vector<float> ones(2, 1.0F);
  std::string inputs;
  std::string rates = "step,lr\n";
  for (int step = 0; step < 8; ++step) {
    std::vector<dumped_tensor> all{{"weight/block.a", ones, true},
                                   {"wgrad/block.a", std::vector<float>(2, step < 4 ? 0.5F : 0x1p-7F)}};
    if (step != 2) {
      all.push_back({"weight/block.b", ones, true});
      all.push_back({"wgrad/block.b", std::vector<float>(2, 0.5F)});
    }
    const auto path = dir / ("w.step0000" + std::to_string(step) + ".safetensors");
    write_file(path, safetensors_of(all));
    inputs += " " + path.string();
    rates += std::to_string(step) + ",0.1\n";
  }
  write_file(dir / "lr.csv", rates);
  const std::string made = (dir / "weights.ulp").string();
  const program_result r =
      run_ulp("record" + inputs + " --scalars " + (dir / "lr.csv").string() + " --joint --factor 1 -o " + made);
  if (r.exit_code != 0) throw std::runtime_error(r.err);
  return made;
}

std::string npy_of(const std::vector<float>& values) {
  std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }";
  dict.resize(117, ' ');
  std::string bytes = "\x93NUMPY";
  bytes += {'\x01', '\x00', '\x76', '\x00'};  // 118 bytes of header
  bytes += dict + "\n";
  for (const float v : values) {
    const auto bits = std::bit_cast<std::uint32_t>(v);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(bits >> shift & 0xFF));
  }
  return bytes;
}

std::vector<std::filesystem::path> bad_inputs(const std::filesystem::path& dir) {
  const std::string whole = read_file(digits_path());
  std::string garbled = whole;
  for (std::size_t i = 100; i < garbled.size(); ++i) garbled[i] = static_cast<char>(i * 37);
  std::string foreign = whole;
  foreign.replace(68, 4, "fish");
  const std::vector<std::pair<std::string, std::string>> files{
      {"cut.ulp", whole.substr(0, whole.size() / 3)},
      {"garbled.ulp", garbled},
      {"foreign.db", foreign},
      {"picture.ulp", "\x89PNG\r\n\x1A\n" + std::string(200, '\0')},
      {"empty.ulp", ""},
      {"letter.csv", "Dear Sir or Madam,\nplease find enclosed nothing.\n"}};
  std::vector<std::filesystem::path> all;
  for (const auto& [name, bytes] : files) {
    all.push_back(dir / name);
    write_file(all.back(), bytes);
  }
  all.push_back(dir / "folder.ulp");
  std::filesystem::create_directory(all.back());
  all.push_back(dir / "absent.ulp");
  return all;
}

}  // namespace ulp::test
