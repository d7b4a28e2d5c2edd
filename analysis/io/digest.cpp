#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include <ulp/io/recording.hpp>

#include "payload.hpp"
#include "schema.hpp"

namespace ulp {

std::string digest_of(source& from) {
  XXH3_state_t hash;
  XXH3_128bits_reset(&hash);
  const auto take = [&](std::string_view bytes) {
    const std::uint64_t size = bytes.size();
    for (int i = 0; i < 8; ++i) {
      const char byte = static_cast<char>(size >> (8 * i));
      XXH3_128bits_update(&hash, &byte, 1);
    }
    XXH3_128bits_update(&hash, bytes.data(), bytes.size());
  };
  step now;
  while (from.next(now)) {
    take(io::describe(now.key));
    const auto& tensors = from.tensors();
    std::sort(now.tensors.begin(), now.tensors.end(), [&](const tensor_row& a, const tensor_row& b) {
      return tensors[a.tensor].name < tensors[b.tensor].name;
    });
    for (tensor_row& row : now.tensors) {
      const tensor_info& info = tensors[row.tensor];
      take(info.name);
      take(to_string(info.kind));
      take(to_string(info.role));
      row.tensor = 0;
      std::string bytes;
      io::append_summary(bytes, row);
      io::append_payload(bytes, row);
      take(bytes);
    }
  }
  const XXH128_hash_t value = XXH3_128bits_digest(&hash);
  std::array<char, 33> text{};
  std::snprintf(text.data(), text.size(), "%016llx%016llx", static_cast<unsigned long long>(value.high64),
                static_cast<unsigned long long>(value.low64));
  return text.data();
}

}  // namespace ulp
