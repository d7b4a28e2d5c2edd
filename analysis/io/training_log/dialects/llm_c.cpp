// llm.c: "step   10/74 | loss     nan (+nanz)| norm    nan (+nanz)| lr 3.00e-04 | 36.58 ms | 9.2% bf16 MFU": karpathy/llm.c
// train_gpt2.cu (main).
#include <array>
#include <cmath>

#include "line_values.hpp"
#include "rows.hpp"

namespace ulp::io {
namespace {

using kind = scale_record::kind;

constexpr std::array fields{
    line_field{"loss", &scale_record::loss},
    line_field{"norm", &scale_record::grad_norm},
    line_field{"lr", &scale_record::learning_rate},
};

record_match read_step(const record_text& text, std::size_t at, bool) {
  const auto n = at < text.size() ? text.number_at(at, "/") : std::nullopt;
  if (!n || step_of(*n) < 0 || !text.view().substr(n->end).starts_with('/')) return no_record();
  const auto of = n->end + 1 < text.size() ? text.number_at(n->end + 1, "|") : std::nullopt;
  if (!of || !text.view().substr(of->end).starts_with("|loss")) return no_record();
  scale_record r{.what = kind::reached, .step = step_of(*n)};
  const std::size_t end = text.line_end(at - 1);
  put_values(text, of->end, end, fields, r);
  r.is_applied = std::isfinite(r.grad_norm);
  return whole_record(r, end);
}

constexpr std::array starts{record_start{"step", read_step}};

}  // namespace

log_dialect llm_c_dialect() { return {.name = "llm.c", .starts = starts}; }

}  // namespace ulp::io
