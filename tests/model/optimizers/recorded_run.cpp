#include "recorded_run.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <ulp/formats/convert.hpp>

#include "support/little.hpp"

namespace ulp::test {
namespace {

// What the file would hold of this moment, by array.
std::map<std::string, std::string> moment_of(const optimizer& o, const std::vector<float>& w, const format& weights) {
  std::map<std::string, std::string> all;
  if (weights == float32) {
    all["w"] = raw(w);
  } else {
    std::vector<std::uint16_t> codes(w.size());
    encode_array(weights, w, codes);
    all["w"] = raw(codes);
  }
  for (const optimizer_state& s : o.state())
    all[s.name] = std::visit([](auto values) { return raw(values); }, s.values);
  return all;
}

std::string compare(const std::string& name, std::int64_t step, const std::string& ours, const std::string& theirs,
                    std::size_t bytes) {
  if (ours.size() != theirs.size())
    return name + " at step " + std::to_string(step) + ": " + std::to_string(ours.size()) + " bytes, not " +
           std::to_string(theirs.size()) + "\n";
  std::size_t differing = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < ours.size(); i += bytes)
    if (ours.compare(i, bytes, theirs, i, bytes) != 0 && differing++ == 0) first = i / bytes;
  if (differing == 0) return "";
  return name + " at step " + std::to_string(step) + ": " + std::to_string(differing) + " of " +
         std::to_string(ours.size() / bytes) + " differ, first " + std::to_string(first) + "\n";
}

}  // namespace

const optimizer_entry* dialect_of(const std::filesystem::path& file) {
  std::string stem = file.stem();
  std::string suffix;
  if (stem.ends_with(".avx2")) {
    suffix = ".avx2";
    stem.resize(stem.size() - suffix.size());
  }
  for (std::size_t end = stem.size(); end != std::string::npos && end > 0; end = stem.rfind('_', end - 1))
    if (const optimizer_entry* const entry = find_optimizer(stem.substr(0, end) + suffix)) return entry;
  return nullptr;
}

std::string differences_of(const std::filesystem::path& file, const arrays& inputs, int& compared) {
  const optimizer_entry* const entry = dialect_of(file);
  if (entry == nullptr) return "no dialect\n";
  const arrays run = read_npz(file);
  const auto grads = (run.contains("grads") ? run : inputs).at("grads");
  const std::size_t width = grads.shape.at(1);
  std::size_t n = width;
  optimizer_setup setup;
  for (const auto& [name, array] : run) {
    if (!array.shape.empty()) continue;
    const double value = array.type == "<i8" ? static_cast<double>(array.as<std::int64_t>()[0]) : array.as<double>()[0];
    if (name == "elements")
      n = static_cast<std::size_t>(value);
    else
      setup.parameters.emplace_back(name, value);
  }
  if (run.at("w").type == "<f4")
    setup.weights = float32;
  else
    setup.weights = file.stem().string().find("_fp16") != std::string::npos ? float16 : bfloat16;
  setup.size = n;
  optimizer o = make_optimizer(*entry, setup);

  const std::vector<float> all_gradients = grads.as<float>();
  std::vector<float> w = inputs.at("w0").as<float>();
  w.resize(n);
  round_array(setup.weights, w);
  std::vector<std::uint16_t> random;
  if (inputs.contains("sr_bits")) random = inputs.at("sr_bits").as<std::uint16_t>();

  const std::vector<std::int64_t> steps = run.at("steps").as<std::int64_t>();
  std::vector<double> norms;
  std::string differences;
  std::vector<float> g(n * o.micro_batches());
  for (std::size_t row = 0; row < steps.size(); ++row) {
    while (o.steps() < steps[row]) {
      const auto step = static_cast<std::size_t>(o.steps());
      for (std::size_t batch = 0; batch < o.micro_batches(); ++batch)
        std::copy_n(all_gradients.begin() + static_cast<std::ptrdiff_t>((step * o.micro_batches() + batch) * width), n,
                    g.begin() + static_cast<std::ptrdiff_t>(batch * n));
      std::span<const std::uint16_t> bits;
      if (!random.empty()) bits = std::span{random}.subspan(step * width, n);
      o.step(g, w, bits);
      norms.push_back(o.gradient_norm());
    }
    const auto moment = moment_of(o, w, setup.weights);
    for (const auto& [name, ours] : moment) {
      const auto theirs = run.find(name);
      if (theirs == run.end()) {
        differences += name + " is not in the file\n";
        continue;
      }
      const std::size_t bytes = theirs->second.bytes.size() / steps.size();
      differences += compare(name, steps[row], ours, theirs->second.bytes.substr(row * bytes, bytes),
                             theirs->second.bytes.size() / std::max<std::size_t>(theirs->second.size(), 1));
    }
    if (row == 0) {
      compared += static_cast<int>(moment.size());
      for (const auto& [name, array] : run)
        if (array.shape.size() == 2 && name != "grads" && !moment.contains(name))
          differences += name + " is not ours\n";
    }
  }
  if (run.contains("grad_norm")) {
    ++compared;
    const std::vector<double> theirs = run.at("grad_norm").as<double>();
    for (std::size_t i = 0; i < std::min(theirs.size(), norms.size()); ++i)
      if (theirs[i] != norms[i]) differences += "grad_norm of step " + std::to_string(i + 1) + "\n";
  }
  return differences;
}

}  // namespace ulp::test
