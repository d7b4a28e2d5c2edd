#include <ulp/io/limits.hpp>

#include <algorithm>
#include <array>

namespace ulp {
namespace {

constexpr std::array names{
    limit_name{"tensors", &read_limits::tensors, "tensors"},
    limit_name{"header", &read_limits::header, "bytes"},
    limit_name{"header-share", &read_limits::header_share, "percent"},
    limit_name{"inflate-ratio", &read_limits::inflate_ratio, "for each"},
    limit_name{"text", &read_limits::text, "bytes"},
};

}  // namespace

std::span<const limit_name> limit_names() noexcept { return names; }

std::string limit_text(const read_limits& limits, std::uint64_t read_limits::*limit) {
  const auto* const row = std::ranges::find(names, limit, &limit_name::value);
  const std::string name(row->name);
  return "the limit is " + std::to_string(limits.*limit) + " " + std::string(row->unit) + "; --limit " + name +
         "=N raises it, --limit " + name + "=none lifts it, for files that you trust";
}

}  // namespace ulp
