// ulp vectors: test vectors with their results.
#include <fmt/format.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <ulp/formats/vectors.hpp>

#include "command.hpp"
#include "interrupt.hpp"
#include "vector_line.hpp"
#include "verify_blocks.hpp"

namespace ulp::cli {
namespace {

struct vectors_arguments {
  vector_options vectors;
  std::string level = "1";
  std::string block;
  std::string output;
};

int run(const vectors_arguments& o) {
  if (const std::string_view name = option_of_vectors(o.vectors); !o.block.empty() && !name.empty())
    throw usage_error(fmt::format("{}: is not for --block, whose row says what is done", name));
  if (!o.block.empty()) return write_block_vectors(o.block, o.vectors.rounding.seed, o.output);
  if (!o.output.empty()) throw usage_error("-o: lines go to standard output; a file is written of --block");
  const vector_kind kind(o.vectors);
  line_writer out;
  vector_line line;
  std::uint64_t index = 0;
  std::optional<progress> shown;
  if (isatty(STDOUT_FILENO) == 0) shown.emplace("lines", 0);
  for_each_vector(kind.operation, kind.to, kind.from, o.level == "1" ? 1 : 2, kind.seed,
                  [&](std::span<const operand_codes> vectors) {
                    for (const operand_codes& operands : vectors) {
                      line.operands = operands;
                      if (kind.stochastic()) draw_random(kind, index, line);
                      line.result = result_of(kind, line);
                      append_line(kind, line, out.text());
                      ++index;
                    }
                    out.flush_if_large();
                    if (shown) shown->advance(vectors.size());
                  });
  out.flush();
  return done;
}

}  // namespace

command vectors_command() {
  auto o = std::make_shared<vectors_arguments>();
  command made{.name = "vectors", .help = "generate test vectors with results, in TestFloat's line format"};
  add_vectors_of(made, o->vectors);
  made.add("--level", &o->level,
           "1: some thousand lines for one operand, 50 thousand for two, 350 thousand for three; 2: all codes for one, "
           "1 million for two, 5 million for three",
           {.type = "1|2", .show_default = true, .one_of = {"1", "2"}});
  made.add(
      "--block", &o->block,
      "in place of --op and --format: blocks that tell the dialects of this format of blocks from each other, in the "
      ".npz that -o names",
      {.type = "ROW"});
  made.add("-o,--output", &o->output, "the .npz of --block", {.type = "FILE", .check = a_name});
  made.footer =
      "A line is operands, result, flags: 1 inexact, 2 underflow, 4 overflow, 8 divide by zero, 16 invalid. Under "
      "stochastic rounding the random bits come before the result. --seed also changes the random vectors.\n"
      "Examples:\n"
      "  ulp vectors --op mul --format bfloat16 | ulp verify --op mul --format bfloat16\n"
      "  ulp vectors --block mxfp8 -o /tmp/blocks.npz";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
