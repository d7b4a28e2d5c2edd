// Folders of dumps as TransformerEngine and Megatron-LM write them; tests/python/framework_dumps_test.py wrote those in
// tests/data, and .npz files of the same tensors.
#include <filesystem>

#include <ulp/io/bytes/error.hpp>
#include <ulp/io/inputs/open.hpp>
#include <ulp/io/recording/recording.hpp>
#include <ulp/model/cells/cell_counter.hpp>

#include "io/builders.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

namespace {

const std::filesystem::path data = source_dir() / "tests/data/framework_dumps";
using names = std::vector<std::string>;

std::unique_ptr<source> open_data(const std::string& name, const source_options& options = {}) {
  return open_source({(data / name).string()}, options);
}

// Of .npz files, whose names do not tell.
source_options kinds_of_te() {
  source_options options;
  options.kinds = {{regex("_activation$"), tensor_kind::activation}, {regex("_wgrad$"), tensor_kind::weight_grad}};
  return options;
}

std::string one_tensor() { return read_file(data / "tensor_dumps/rank_0/iter_000100/qkv_wgrad.pt"); }
std::string quantized_only() { return read_file(data / "tensor_dumps/rank_0/iter_000100/proj_weight.pt"); }

}  // namespace

TEST_CASE("folders of dumps: a rank of TransformerEngine's dumps is what .npz files of its tensors are") {
  for (const std::string rank : {"0", "1"}) {
    CHECK(digest_of(*open_data("tensor_dumps/rank_" + rank)) ==
          digest_of(*open_data("te_rank" + rank + "_step100.npz", kinds_of_te())));
  }
}

TEST_CASE("folders of dumps: the ranks of TransformerEngine's dumps are counted together") {
  const auto from = open_data("tensor_dumps");
  const run_header header = from->header();
  CHECK(header.rank == 0);
  CHECK(header.world == 2);
  CHECK(header.reduction == "local");
  const contents read = read_all(*from);
  CHECK(read.description == "TransformerEngine dump");
  REQUIRE(read.steps.size() == 1);
  CHECK(read.steps[0].key.step == 100);
  CHECK(read.steps[0].ranks == std::vector<std::uint32_t>{0, 1});
  REQUIRE(read.tensors.size() == 2);
  CHECK(read.tensor("qkv_activation").kind == tensor_kind::activation);
  CHECK(read.tensor("qkv_activation").shape.empty());  // 3 rows, and 2
  CHECK(read.tensor("qkv_wgrad").kind == tensor_kind::weight_grad);
  CHECK(read.tensor("qkv_wgrad").shape == std::vector<std::uint64_t>{3, 2});
  cell_table both = read_all(*open_data("tensor_dumps/rank_0")).table("qkv_activation");
  both.merge(read_all(*open_data("tensor_dumps/rank_1")).table("qkv_activation"));
  CHECK(both.numel == 10);
  CHECK(read.table("qkv_activation") == both);
  CHECK(open_data("tensor_dumps/rank_1")->header().rank == 1);
}

TEST_CASE("folders of dumps: quantized tensors are not read, and said once") {
  const contents read = read_all(*open_data("tensor_dumps"));
  REQUIRE(read.notes.size() == 1);
  CHECK(read.notes[0].find("tensor_dumps/rank_0/iter_000100/proj_weight.pt and 3 more: not read: 'quantized' "
                           "(transformer_engine.pytorch.tensor.float8_tensor._make_float8_tensor_in_reduce_ex)") !=
        std::string::npos);
  const playground place;
  place.write("tensor_dumps/rank_0/iter_000001/proj_weight.pt", quantized_only());
  CHECK(
      place.error(names{"tensor_dumps"}).find("holds no readable tensor; not read: 'quantized' (transformer_engine.") !=
      std::string::npos);
  // Nowhere else.
  CHECK(place.error("proj_weight.pt", quantized_only()).find("names 'transformer_engine.pytorch.") !=
        std::string::npos);
}

TEST_CASE("folders of dumps: no object is made, whatever it is") {
  const playground place;
  const auto text = [](const std::string& t) { return "X" + little(t.size(), 4) + t; };
  const auto open = [&](const std::string& object) {
    const std::string pickle = "\x80\x02}" + text("quantized") + object + "s.";
    place.write("tensor_dumps/rank_0/iter_000001/fc_weight.pt", zip({{.name = "a/data.pkl", .contents = pickle}}));
    return place.open(names{"tensor_dumps"}, empty_allowed()).notes.at(0);
  };
  const std::string made = place.path("made");
  // A call, an object with a state, and what is appended to it and set in it.
  CHECK(open("cposix\nsystem\n" + text("touch " + made) + "\x85R").ends_with("not read: 'quantized' (posix.system)"));
  CHECK(open("ca\nlist\n)\x81}b(K" + little(1, 1) + "eNa").ends_with("not read: 'quantized' (a.list)"));
  CHECK(open("ca\ndict\n)\x81NNs(NNu").ends_with("not read: 'quantized' (a.dict)"));
  CHECK(open("]ca\nb\na").ends_with("not read: 'quantized.0' (a.b)"));
  CHECK_FALSE(std::filesystem::exists(made));
}

TEST_CASE("folders of dumps: Megatron-LM's dumps are what an .npz of its tensors is") {
  const std::string expected = digest_of(*open_data("megatron_step100.npz"));
  const auto all = open_source(
      {(data / "wgrads").string(), (data / "dgrads").string(), (data / "activations/iter_0000100").string()}, {});
  CHECK(all->description() == "Megatron-LM dump");
  REQUIRE(all->notes().size() == 1);
  CHECK(all->notes()[0].find("megatron.core.packed_seq_params.PackedSeqParams") != std::string::npos);
  CHECK(digest_of(*all) == expected);
  const contents wgrads = read_all(*open_data("wgrads"));
  REQUIRE(wgrads.tensors.size() == 2);
  CHECK(wgrads.tensors[0].name == "wgrad/mp_rank_00_001/model_chunk0.decoder.layers.0.mlp.linear_fc1.weight");
  CHECK(wgrads.tensors[0].kind == tensor_kind::weight_grad);
}

TEST_CASE("folders of dumps: the shards of a step keep apart") {
  const playground place;
  const std::string bytes = read_file(data / "wgrads/iter_0000100/mp_rank_00_001.pth");
  for (const std::string shard : {"00_000", "00_001", "01_001"})
    place.write("save/wgrads/iter_0000007/mp_rank_" + shard + ".pth", bytes);
  place.write("save/iter_0000007/mp_rank_00/model_optim_rng.pt", "a checkpoint beside them");
  const contents read = place.open(names{"save"});
  REQUIRE(read.steps.size() == 1);
  CHECK(read.steps[0].key.step == 7);
  CHECK(read.steps[0].ranks == std::vector<std::uint32_t>{0});
  CHECK(read.tensors.size() == 6);
  CHECK(read.notes.empty());
}

TEST_CASE("folders of dumps: files are known by their folders, and other names are other tensors") {
  const playground place;
  place.write("tensor_dumps/rank_3/iter_000005/fc_dgrad.pt", one_tensor());
  const contents read = place.open(names{"tensor_dumps/rank_3/iter_000005/fc_dgrad.pt"});
  CHECK(read.steps.at(0).key.step == 5);
  CHECK(read.steps.at(0).ranks == std::vector<std::uint32_t>{3});
  CHECK(read.tensor("fc_dgrad").kind == tensor_kind::activation_grad);
  // The same file elsewhere is any dump.
  CHECK(place.open("dumps/rank_3/iter_000005/fc_dgrad.pt", one_tensor()).tensors.at(0).name == "high_precision");
}

TEST_CASE("folders of dumps: what cannot be is refused") {
  const playground place;
  place.write("a/tensor_dumps/rank_0/iter_000001/fc_wgrad.pt", one_tensor());
  place.write("a/wgrads/iter_0000001/mp_rank_00.pth", one_tensor());
  CHECK(
      place.error(names{"a"}) ==
      "a/wgrads/iter_0000001/mp_rank_00.pth: is a dump of Megatron-LM, and a/tensor_dumps/rank_0/iter_000001/fc_wgrad.pt "
      "one of TransformerEngine: record the folders of the one and of the other apart");
  place.write("b/tensor_dumps/rank_0/iter_000001/fc_wgrad.pt", one_tensor().substr(0, 300));
  CHECK(place.error(names{"b"}).starts_with("b/tensor_dumps/rank_0/iter_000001/fc_wgrad.pt: "));
  place.write("c/tensor_dumps/rank_4294967296/iter_000001/fc_wgrad.pt", one_tensor());
  CHECK(place.error(names{"c"}) ==
        "c/tensor_dumps/rank_4294967296/iter_000001/fc_wgrad.pt: its folders say the rank '4294967296', which is too "
        "large");
  // Ranks whose tensors have other types.
  place.write("d/tensor_dumps/rank_0/iter_000001/fc_activation.pt", one_tensor());
  place.write("d/tensor_dumps/rank_1/iter_000001/fc_activation.pt",
              read_file(data / "tensor_dumps/rank_0/iter_000100/qkv_activation.pt"));
  CHECK(place.error(names{"d"}) ==
        "d/tensor_dumps/rank_1/iter_000001/fc_activation.pt: tensor 'fc_activation': its values are bfloat16, and "
        "float32 in d/tensor_dumps/rank_0/iter_000001/fc_activation.pt: all ranks must have a tensor in the same type; "
        "name the folder of one rank");
}
