// Pins counts under scales that follow a tensor's largest magnitude to rounding every value of every dump.
#include "support/catch.hpp"

#include <ulp/formats/catalog.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include <cmath>

#include "model/replay/scaled_truth.hpp"
#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("every dump under scales that are no powers of two: ranges hold the truth") {
  const auto shared = shared_dir();
  if (shared.empty()) return;
  range_check seen;
  std::size_t files = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(shared / "data")) {
    if (file.path().extension() != ".safetensors" || file.path().parent_path().filename() == "malformed" ||
        read_file(file.path()).find("weight_scale_inv") != std::string::npos)
      continue;
    ++files;
    for (const auto& [name, values] : read_raw(file.path())) {
      step now;
      now.tensors.push_back({.type = dtype::float32, .factor = 1, .table = count_cells(values)});
      for (const format& to : {float8_e4m3fn, float8_e5m2})
        for (const auto& [policy, parameter, value] : {std::tuple{"te_current_cuda", "epsilon", 0.0},
                                                       {"te_current_cuda", "fp8_max", 1000.0},
                                                       {"te_current_cuda", "fp8_max", 100.0},
                                                       {"torchao_dynamic", "eps", 1e-12},
                                                       {"static_fp8", "scale", 3000.0}}) {
          const treatment how{.format = to, .rounding = {.overflow = overflow_mode::saturate}};
          fp8_replayer replay(
              uniform_recipe({how, make_fp8_scaler(*find_fp8_scaler(policy), to, {{parameter, value}})}), {});
          const fp8_row row = replay.advance(now, {{.name = name}}).front();
          seen.see(row.counts, count_scaled(values, how, row.scales.used, false));
        }
    }
  }
  WARN(files << " dumps, " << seen.counts << " counts, " << 100 * seen.exact / seen.counts << " % exact");
  CHECK(files >= 10);
  CHECK(seen.wrong == 0);
}
