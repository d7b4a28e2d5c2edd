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

TEST_CASE("amax histories: as an io.BytesIO with a file of torch.save, as versions before 1.0 have them") {
  const std::string older = (source_dir() / "tests/data/framework_dumps/delayed_scaling_bytes_io.pt").string();
  CHECK(read_amax_histories(older).rows == read_amax_histories(checkpoint).rows);
  const std::string whole = read_file(older);
  const playground place;
  for (std::size_t at = 0; at < whole.size(); at += 3) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    static_cast<void>(error_of(place.write("a.pt", damaged)));
  }
}

TEST_CASE("amax histories: what is damaged or malicious is an error, and nothing else") {
  const std::string whole = read_file(checkpoint);
  const std::size_t begin = whole.find("\x80\x04\x95");  // one frame, with its length
  REQUIRE(begin != std::string::npos);
  const auto frame = number_at<std::uint64_t>(whole, begin + 3);
  const std::string state = whole.substr(begin, 11 + frame);
  const playground place;
  const auto error_with = [&](const std::string& bytes) {
    const std::string size = little(bytes.size(), 4);
    const std::string text =
        "X" + little(7, 4) + "storage" + "ctorch\nByteStorage\nX" + little(1, 4) + "0X" + little(3, 4) + "cpuJ" + size;
    const std::string tensor = "ctorch._utils\n_rebuild_tensor_v2\n((" + text + "tQK" + little(0, 1) + "J" + size +
                               "\x85K\x01\x85\x89Nt" + "R";
    const std::string pickle = "\x80\x02}X" + little(15, 4) + "fc._extra_state" + tensor + "s.";
    return error_of(place.write(
        "a.pt", zip({{.name = "a/data.pkl", .contents = pickle}, {.name = "a/data/0", .contents = bytes}})));
  };
  REQUIRE(error_with(state).empty());
  for (std::size_t size = 1; size < state.size(); size += 3) CHECK_FALSE(error_with(state.substr(0, size)).empty());
  for (std::size_t at = 0; at < state.size(); at += 3) {
    std::string damaged = state;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    static_cast<void>(error_with(damaged));
  }
  // Nothing is called: what would be made is not a history.
  CHECK(error_with("\x80\x04\x8C\x05posix\x8C\x06system\x93\x8C\x04true\x85R.")
            .ends_with("has no amax in its 1 _extra_state: nothing was run"));
}

TEST_CASE("amax histories: a file without them is refused") {
  const std::string other = (source_dir() / "tests/data/torch_1.13.pt").string();
  CHECK(error_of(other).ends_with(
      "torch_1.13.pt: has no _extra_state with something in it, as a state_dict of TransformerEngine's modules has under "
      "delayed scaling; other recipes keep no amax"));
}
