// What `ulp precision` answers of runs and dumps: (columns, notes), conclusions among the notes as in its --json.
#include <fmt/ranges.h>
#include <pybind11/stl.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <ulp/ask/precision/accumulate_answer.hpp>
#include <ulp/ask/precision/optimizer8_answer.hpp>
#include <ulp/ask/precision/random_bits_answer.hpp>
#include <ulp/ask/precision/weights_answer.hpp>
#include <ulp/ask/questions/recipe_text.hpp>
#include <ulp/ask/questions/typed_values.hpp>
#include <ulp/report/findings/accumulation.hpp>
#include <ulp/report/findings/drift.hpp>
#include <ulp/report/findings/weights_finding.hpp>
#include <ulp/report/tables/accumulation_table.hpp>
#include <ulp/report/tables/random_bits_table.hpp>
#include <ulp/report/tables/sorted.hpp>
#include <ulp/report/tables/weights_table.hpp>
#include <utility>
#include <vector>

#include "columns.hpp"
#include "listener.hpp"
#include "module.hpp"
#include "options.hpp"

namespace ulp::python {
namespace {

namespace py = pybind11;

// The table of an answer, asked for without the interpreter's lock.
template <typename Answer>
py::tuple told(Answer answer) {
  note_keeper heard;
  growing_table rows;
  unlocked([&] { rows.add(answer(heard)); });
  return py::make_tuple(rows.arrays(), heard.notes());
}

void hear_all(const std::vector<std::string>& conclusions, note_keeper& heard) {
  for (const std::string& line : conclusions) heard.note(line);
}

py::tuple weights(const py::list& inputs, keywords& given) {
  weights_question asked;
  given.take("format", &asked.formats);
  given.take("by", &asked.by);
  given.take("lr", &asked.learning_rate);
  given.take("curvature", &asked.curvature);
  given.take("config", &asked.config.path);
  given.take("framework", &asked.config.framework);
  row_order order;
  given.take("sort", &order.sort);
  given.take("top", &order.top);
  asked.run = run_of(inputs, given);
  given.take({group_option(asked.run)});
  given.take(options_of(asked.rounding));
  given.refuse_others();
  asked.formats = joined_names(split_at_commas(asked.formats));
  asked.by = split_at_commas(asked.by);
  check_each("by", asked.by, weight_groups);
  return told([&](note_keeper& heard) {
    const weights_answer answer = weights_over(asked, heard, [&](const weights_answer& none) {
      check_order(weights_table(none.counted, none.layout), order);
    });
    table rows = weights_table(answer.counted, answer.layout);
    arrange(rows, order, heard);
    hear_all(conclusions_of(answer), heard);
    return rows;
  });
}

py::tuple accumulate(const py::list& inputs, keywords& given) {
  accumulate_question asked;
  given.take("format", &asked.formats);
  given.take("chunk", &asked.chunks);
  given.take("microbatches", &asked.microbatches);
  given.take("config", &asked.config.path);
  given.take("framework", &asked.config.framework);
  asked.run = run_of(inputs, given);
  given.take(options_of(asked.rounding));
  given.refuse_others();
  asked.formats = joined_names(split_at_commas(asked.formats));
  asked.chunks = split_at_commas(asked.chunks);
  return told([&](note_keeper& heard) {
    const accumulate_answer answer = accumulate_over(asked, heard);
    hear_all(conclusions_of(answer), heard);
    return accumulation_table(answer.rows);
  });
}

py::tuple random_bits_needed(const py::list& inputs, keywords& given) {
  random_bits_question asked;
  given.take("format", &asked.formats);
  given.take("lr", &asked.learning_rate);
  given.take("lose", &asked.share);
  bool by_tensor = false;
  given.take("by_tensor", &by_tensor);
  asked.run = run_of(inputs, given);
  given.refuse_others();
  asked.formats = joined_names(split_at_commas(asked.formats));
  return told([&](note_keeper& heard) {
    const random_bits_answer answer = random_bits_over(asked, heard);
    return by_tensor ? random_bits_by_tensor(answer) : random_bits_table(answer);
  });
}

py::tuple optimizer8(const py::list& inputs, keywords& given) {
  optimizer8_question asked;
  given.take("dialect", &asked.recipes);
  given.take("set", &asked.settings);
  given.take("w0", &asked.weights);
  given.take("parts", &asked.parts);
  given.take("elements", &asked.elements);
  bool by_tensor = false;
  given.take("by_tensor", &by_tensor);
  given.take("mark", &asked.mark);
  given.take("quantizers", &asked.quantizers);
  given.take("seed", &asked.seed);
  given.take_parameters({"lr", "beta2", "block_size"}, asked.settings);
  asked.run = run_of(inputs, given);
  given.refuse_others();
  asked.recipes = joined_recipes(split_at_commas(asked.recipes));
  asked.parts = split_at_commas(asked.parts);
  return told([&](note_keeper& heard) {
    const optimizer8_answer answer = optimizer8_over(asked, heard);
    if (asked.quantizers) return quantizer_table(answer.quantizers);
    hear_all(conclusions_of(answer), heard);
    return drift_table(answer, by_tensor);
  });
}

struct question {
  std::string_view name;
  py::tuple (*answer)(const py::list&, keywords&);
};
constexpr std::array questions{question{"weights", &weights}, question{"accumulate", &accumulate},
                               question{"random-bits", &random_bits_needed}, question{"optimizer8", &optimizer8}};

py::tuple precision(const py::list& inputs, const std::string& name, const py::dict& options) {
  const auto found = std::ranges::find(questions, name, &question::name);
  if (found == questions.end()) {
    std::vector<std::string_view> names;
    for (const question& q : questions) names.push_back(q.name);
    throw std::invalid_argument(fmt::format("precision: no question '{}': one of {}", name, fmt::join(names, ", ")));
  }
  keywords given("precision", options);
  return found->answer(inputs, given);
}

}  // namespace

void bind_precision(py::module_& module) { module.def("run_precision", &precision); }

}  // namespace ulp::python
