#include "fixture.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "support/program.hpp"

namespace ulp::test {

std::string digits_path() { return (source_dir() / "tests/data/octaves/digits.ulp").string(); }

const std::shared_ptr<const gui::loaded_run>& digits() {
  static const auto run = gui::load_run({.inputs = {digits_path()}}, [](double) {});
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
  if (&run != digits().get()) return {.spec = spec, .result = gui::replay_run(run, spec, [](double) {}), .failure = {}};
  auto found = std::ranges::find(known, spec, &gui::replay_entry::spec);
  if (found == known.end())
    found = known.insert(found, {.spec = spec, .result = gui::replay_run(run, spec, [](double) {}), .failure = {}});
  return *found;
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
