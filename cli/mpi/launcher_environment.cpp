#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "process_group.hpp"

namespace ulp::cli {
namespace {

std::optional<unsigned> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (text == nullptr) return std::nullopt;
  const std::string_view digits = text;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

// Open MPI, MPICH (Hydra) and Intel MPI, MVAPICH2, a step of Slurm (SLURM_NTASKS is there in a batch script too, which
// is a single process). PMIx alone says the rank only.
launcher_environment launcher_environment_of_process() {
  constexpr const char* names[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                      {"PMI_RANK", "PMI_SIZE"},
                                      {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
                                      {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};
  for (const auto& [rank, size] : names)
    if (const auto n = number_in(size)) return {number_in(rank).value_or(0), *n};
  if (const auto rank = number_in("PMIX_RANK"); rank && *rank > 0) return {*rank, *rank + 1};
  return {};
}

}  // namespace ulp::cli
