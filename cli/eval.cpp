// ulp eval: results of operands, line by line.
#include <memory>
#include <ulp/io/error.hpp>

#include "command.hpp"
#include "vector_line.hpp"

namespace ulp::cli {
namespace {

struct options {
  vector_options vectors;
  std::string file = "-";
};

int run(const options& o) {
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
    line.result = evaluate(kind.operation, kind.to, kind.from, line.operands, kind.rounding, line.random(kind));
    append_line(kind, line, out.text());
    out.flush_if_large();
  }
  out.flush();
  if (lines.number() == 0) throw input_error(lines.name(), "", "is empty: there are no operands");
  return done;
}

}  // namespace

void add_eval(CLI::App& program, action& chosen) {
  auto o = std::make_shared<options>();
  CLI::App& command = *program.add_subcommand("eval", "an operation on codes, line by line in TestFloat's form");
  command.add_option("FILE", o->file, "lines of operands in hexadecimal; - for standard input")->capture_default_str();
  add_vectors_of(command, o->vectors);
  command.footer(
      "Prints operands, result, flags: 1 inexact, 2 underflow, 4 overflow, 8 divide by zero, 16 invalid. Under "
      "stochastic\n"
      "rounding the random bits stand before the result: those given after the operands, else drawn from --seed.\n"
      "Example:\n"
      "  echo 857F 74FB | ulp eval --op add --format float16 --rounding toward-zero");
  command.callback([o, &chosen] { chosen = [o] { return run(*o); }; });
}

}  // namespace ulp::cli
