// ulp eval: results of operands, line by line.
#include <memory>
#include <ulp/io/bytes/error.hpp>

#include "command.hpp"
#include "vector_line.hpp"

namespace ulp::cli {
namespace {

struct eval_arguments {
  vector_options vectors;
  std::string file = "-";
};

int run(const eval_arguments& o) {
  const vector_kind kind(o.vectors);
  line_writer out;
  // Whoever writes operands one at a time gets each result before the next is waited for.
  line_reader lines(o.file, [&out] { out.flush(); });
  vector_line line;
  for (std::string_view text; lines.next(text);) {
    bool has_random = false;
    if (const std::string problem = parse_line(kind, text, line_content::operands, line, has_random);
        !problem.empty()) {
      out.flush();
      lines.reject(problem);
    }
    if (kind.stochastic() && !has_random) draw_random(kind, lines.number() - 1, line);
    line.result = result_of(kind, line);
    append_line(kind, line, out.text());
    out.flush_if_large();
  }
  out.flush();
  if (lines.number() == 0) throw input_error(lines.name(), "", "is empty: there are no operands");
  return done;
}

}  // namespace

command eval_command() {
  auto o = std::make_shared<eval_arguments>();
  command made{.name = "eval", .help = "compute an operation on codes, in TestFloat's line format"};
  made.add("FILE", &o->file, "lines of operands in hexadecimal; - for standard input", {.show_default = true});
  add_vectors_of(made, o->vectors);
  made.footer =
      "Prints operands, result, flags: 1 inexact, 2 underflow, 4 overflow, 8 divide by zero, 16 invalid. Under "
      "stochastic rounding the random bits come before the result: those given after the operands, else drawn from "
      "--seed.\n"
      "Examples:\n"
      "  echo 857F 74FB | ulp eval --op add --format float16 --rounding toward-zero\n"
      "  echo 3C01 3C01 3F800000 | ulp eval --op mac --format float32 --from float16\n"
      "  echo C248 | ulp eval --op to_i32 --format float16 --exact";
  made.run = [o] { return run(*o); };
  return made;
}

}  // namespace ulp::cli
