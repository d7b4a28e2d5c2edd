// Amax histories in checkpoints, with a file that PyTorch 1.13 wrote as TransformerEngine's get_extra_state() does.
#include <ulp/io/amax/amax_rows.hpp>
#include <ulp/io/bytes/error.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::string checkpoint = (source_dir() / "tests/data/framework_dumps/delayed_scaling.pt").string();

std::string error_of(const std::string& path) {
  try {
    static_cast<void>(read_amax_histories(path));
    return "";
  } catch (const input_error& problem) {
    return problem.what();
  }
}

}  // namespace

TEST_CASE("amax histories: slots in use, the newest last") {
  const amax_rows all = read_amax_histories(checkpoint);
  // Of four slots the first gathers the step that is not over: only the gradient has something there.
  CHECK(all.rows == std::vector<amax_row>{{0, "model.fc.GEMM1_WEIGHT", 2},
                                          {1, "model.fc.GEMM1_INPUT", 3},
                                          {1, "model.fc.GEMM1_WEIGHT", 2.5F},
                                          {2, "model.fc.GEMM1_INPUT", 4},
                                          {2, "model.fc.GEMM1_WEIGHT", 2.25F},
                                          {2, "model.fc.GRAD_OUTPUT1", 0.25F},
                                          {2, "model.fc.GRAD_INPUT1", 0.125F},
                                          {3, "model.fc.GRAD_OUTPUT1", 0.5F}});
  REQUIRE(all.notes.size() == 1);
  CHECK(all.notes[0].ends_with(": histories of amax have no steps: their slots are numbered from the oldest, 0"));
}

TEST_CASE("amax histories: a damaged state is an error, whichever byte it is") {
  const playground place;
  const std::string whole = read_file(checkpoint);
  const std::size_t state = whole.find("amax_history_fwd");
  REQUIRE(state != std::string::npos);
  // The archive's checksum finds all.
  for (std::size_t at = state; at < state + 600; at += 7) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    INFO(at);
    CHECK(error_of(place.write("damaged.pt", damaged)).find("damaged.pt: ") != std::string::npos);
  }
}

TEST_CASE("amax histories: a file without them is refused") {
  const std::string other = (source_dir() / "tests/data/torch_1.13.pt").string();
  CHECK(error_of(other).ends_with(
      "torch_1.13.pt: has no _extra_state with something in it, as a state_dict of TransformerEngine's modules has under "
      "delayed scaling; other recipes keep no amax"));
}
