// Steps of which the input holds only some ranks' data are told, wherever they are counted.
#ifndef ULP_CLI_RANK_WARNINGS_HPP
#define ULP_CLI_RANK_WARNINGS_HPP

#include <memory>
#include <string>
#include <ulp/io/source.hpp>

namespace ulp::cli {

// The same source, which tells at its end of steps that lack ranks, and of what ranks were reduced to. `name` is the input's.
[[nodiscard]] std::unique_ptr<source> watch_ranks(std::unique_ptr<source> from, const std::string& name);

}  // namespace ulp::cli

#endif
