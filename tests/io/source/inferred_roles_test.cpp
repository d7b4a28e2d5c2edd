// Pins what opening a source with `infer` says of gradients whose roles, formats or sums nobody recorded.
#include "support/catch.hpp"

#include <cmath>
#include <span>

#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "support/files.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

enum class value { low, sum, kept };

// The largest value of step n, scaled by 1024.
float largest(value of, int n) {
  const float low = std::ldexp(1 + static_cast<float>(n * 37 % 1024) / 1024, 3);
  switch (of) {
    case value::low: return low;
    case value::sum: return low + std::ldexp(1.0F, n % 4 == 0 ? -7 : -12);  // a float16 number in some steps
    default: return 8 + 0.1234567F * static_cast<float>(n + 1);
  }
}

struct opened {
  std::vector<tensor_info> tensors;
  step first;
  std::vector<std::string> notes;
};

// Of tensors that are as told, in steps that no scaler skipped.
opened open(const std::vector<value>& of, const tensor_info& told, source_options options = {}, int steps = 40) {
  const temporary_dir dir;
  const std::string path = (dir / "run.ulp").string();
  {
    std::vector<tensor_info> tensors(of.size(), told);
    recording_writer to(path, recording_writer::mode::create);
    for (int n = 0; n < steps; ++n) {
      step now;
      now.key.step = n;
      now.scalars.loss_scale = 1024;
      for (std::uint32_t i = 0; i < of.size(); ++i) {
        tensors[i].name = "layer." + std::to_string(i) + ".weight";
        const std::vector<float> values{largest(of[i], n), -0x1p-10F};
        now.tensors.push_back({.tensor = i,
                               .type = dtype::float32,
                               .factor = 1024,
                               .table = count_cells(std::span<const float>{values})});
      }
      to.write(now, tensors);
    }
    to.close();
  }
  options.infer = true;
  const auto from = open_source({path}, options);
  opened result;
  REQUIRE(from->next(result.first));
  result.tensors = from->tensors();
  result.notes = from->notes();
  return result;
}

bool noted(const opened& o, const std::string& what) {
  for (const std::string& note : o.notes)
    if (note.find(what) != std::string::npos) return true;
  return false;
}

const tensor_info unknown{.kind = tensor_kind::weight_grad};

}  // namespace

TEST_CASE("inferred roles: what went through float16, by itself or as a sum, and what did not") {
  const opened run = open({value::low, value::sum, value::kept}, unknown);
  CHECK(run.tensors[0].role == tensor_role::low);
  CHECK(run.tensors[0].through == "float16");
  CHECK_FALSE(run.first.tensors[0].parts.is_sum());
  CHECK(run.tensors[1].role == tensor_role::low);
  CHECK(run.first.tensors[1].parts.is_sum());
  CHECK(run.tensors[2].role == tensor_role::float32);
  CHECK(noted(run, "2 gradients went through float16 (1 as sums of rounded parts), 1 is kept in float32"));
}

TEST_CASE("inferred roles: the option that is printed gives what was inferred") {
  const opened run = open({value::low, value::sum, value::kept}, unknown);
  REQUIRE(noted(run, "--role '^(layer.0.weight|layer.1.weight)$=low'"));
  source_options options;
  options.roles.emplace_back(regex("^(layer.0.weight|layer.1.weight)$"), tensor_role::low);
  const opened told = open({value::low, value::sum, value::kept}, unknown, options);
  CHECK(told.tensors[1].role == tensor_role::low);
  CHECK(told.tensors[1].through == "float16");
  CHECK(told.first.tensors[1].parts.is_sum());
  CHECK(
      noted(told, "1 gradient of role low is a float32 sum of parts that were rounded to float16, as the values show"));
}

TEST_CASE("inferred roles: gradients that went through no 16 bits are said to have not") {
  const opened run = open({value::kept, value::kept}, unknown);
  CHECK(run.tensors[0].role == tensor_role::unknown);
  CHECK(run.tensors[0].through == "float32");
  CHECK(noted(run, "went through no 16-bit format"));
}

TEST_CASE("inferred roles: what is recorded stays, and few steps tell nothing") {
  tensor_info kept = unknown;
  kept.role = tensor_role::float32;
  CHECK(open({value::low}, kept).notes.empty());
  const opened few = open({value::low, value::sum}, unknown, {}, 29);
  CHECK(few.tensors[0].role == tensor_role::unknown);
  CHECK(few.notes.empty());
}
