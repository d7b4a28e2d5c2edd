// Steps of which the input holds only some ranks' data are told, wherever they are counted.
#ifndef ULP_ASK_ANSWERS_RANK_WARNINGS_HPP
#define ULP_ASK_ANSWERS_RANK_WARNINGS_HPP

#include <memory>
#include <string>
#include <ulp/ask/progress/listener.hpp>
#include <ulp/io/source/source.hpp>

namespace ulp {

// The same source, which tells at its end of steps that lack ranks, and of what ranks were reduced to. `name` is the input's;
// `to` outlives it.
[[nodiscard]] std::unique_ptr<source> watch_ranks(std::unique_ptr<source> from, const std::string& name, listener& to);

}  // namespace ulp

#endif
