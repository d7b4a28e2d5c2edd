// What configurations say of how 8-bit floats are scaled.
#include <ulp/io/config/config_import.hpp>

#include "io/config/importer.hpp"
#include "support/catch.hpp"

using namespace ulp;
using namespace ulp::test;

TEST_CASE("float8: Megatron-LM's arguments and defaults") {
  const importer read;
  const std::string rest = "--bf16 --num-layers 24 --lr 1e-4 ";
  const auto float8_of = [&](const std::string& arguments) {
    CHECK(read(rest + arguments, "c", {}, "Megatron-LM") == "none in bfloat16, norm 1");
    return read.last().float8;
  };
  CHECK_FALSE(float8_of(""));
  CHECK_FALSE(float8_of("--fp8-recipe delayed --fp8-margin 1"));
  CHECK(float8_of("--fp8-format hybrid") == said_float8{.recipe = "delayed",
                                                        .format = "hybrid",
                                                        .history = 1,
                                                        .algorithm = "most_recent",
                                                        .margin = 0,
                                                        .kept_out = {}});
  CHECK(float8_of("--fp8-format e4m3 --fp8-amax-history-len 1024 --fp8-amax-compute-algo max --fp8-margin 2") ==
        said_float8{
            .recipe = "delayed", .format = "e4m3", .history = 1024, .algorithm = "max", .margin = 2, .kept_out = {}});
  CHECK(float8_of("--fp8-format hybrid --fp8-recipe blockwise --fp8-amax-history-len 16") ==
        said_float8{
            .recipe = "blockwise", .format = "hybrid", .history = {}, .algorithm = "", .margin = {}, .kept_out = {}});
  CHECK(float8_of("--fp8-format hybrid --fp8-amax-history-len $LENGTH --fp8-amax-compute-algo $ALGO") ==
        said_float8{
            .recipe = "delayed", .format = "hybrid", .history = {}, .algorithm = "", .margin = 0, .kept_out = {}});
  CHECK(read(rest + "--fp8-format hybrid --fp8-amax-history-len 0", "c", {}, "Megatron-LM") ==
        "c: line 1: --fp8-amax-history-len must be an integer above 0");
}

TEST_CASE("float8: torchtitan's sections") {
  const importer read;
  const std::string job =
      "[job]\nx = 1\n[training]\nmax_norm = 1\n[model]\nconverters = [\"quantize.linear.float8\"]\n";
  read(job + "[quantize.linear.float8]\nrecipe_name = \"rowwise\"\nfilter_fqns = [\"output\", \"router.gate\"]\n");
  CHECK(read.last().float8 == said_float8{.recipe = "rowwise",
                                          .format = "",
                                          .history = {},
                                          .algorithm = "",
                                          .margin = {},
                                          .kept_out = {"output", "router.gate"}});
  read(job);
  REQUIRE(read.last().float8);
  CHECK(read.last().float8->recipe == "tensorwise");
  read("[job]\nx = 1\n[training]\nmax_norm = 1\n[quantize.linear.float8]\nrecipe_name = \"rowwise\"\n");
  CHECK_FALSE(read.last().float8);
}

TEST_CASE("float8: TransformerEngine's recipes as text") {
  const auto is = [](const std::string& text, const std::optional<said_float8>& expected) {
    INFO(text);
    CHECK(parse_recipe(text) == expected);
  };
  const said_float8 delayed{
      .recipe = "delayed", .format = "hybrid", .history = 1024, .algorithm = "", .margin = 0, .kept_out = {}};
  is("recipe_type=DelayedScaling, margin=0, format=HYBRID, amax_history_len=1024, reduce_amax=True, fp8_dpa=False, "
     "fp8_mha=False, backward_override=None",
     delayed);
  is("margin=0, format=HYBRID, amax_history_len=1024, wgrad_override=False, fp8_dpa=False", delayed);
  is("DelayedScaling(margin=1, fp8_format=Format.E4M3, amax_history_len=16, amax_compute_algo=\"max\")",
     said_float8{
         .recipe = "delayed", .format = "e4m3", .history = 16, .algorithm = "max", .margin = 1, .kept_out = {}});
  is("recipe_type=Float8CurrentScaling, format=HYBRID, fp8_quant_fwd_inp=power_2_scale=False",
     said_float8{
         .recipe = "tensorwise", .format = "hybrid", .history = {}, .algorithm = "", .margin = {}, .kept_out = {}});
  is("recipe_type=MXFP8BlockScaling, margin=0, format=E4M3",
     said_float8{.recipe = "mxfp8", .format = "e4m3", .history = {}, .algorithm = "", .margin = 0, .kept_out = {}});
  is("recipe_type=NVFP4BlockScaling, fp4_format=E2M1, fp8_format=E4M3",
     said_float8{.recipe = "nvfp4", .format = "e4m3", .history = {}, .algorithm = "", .margin = {}, .kept_out = {}});
  is("margin=0, format=HYBRID", std::nullopt);
  is("", std::nullopt);
}
