// The switch of scripts/mutate, included in front of every file of its build: `ulp_mutant(key) ? (changed) : (original)`.
// ULP_MUTANT is the key of the one change that is made. ULP_MUTANTS_REACHED names a file with a byte for each key, in which
// this process and those it starts mark the ones they come to.
#ifndef ULP_TESTS_MUTATION_MUTANT_HPP
#define ULP_TESTS_MUTATION_MUTANT_HPP

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

namespace ulp_mutation {

inline int active = -1;  // -1: the environment has not been read
inline unsigned char* reached = nullptr;

[[gnu::noinline]] inline void read_environment() noexcept {
  constexpr std::size_t keys = 1 << 20;
  if (const char* const path = std::getenv("ULP_MUTANTS_REACHED")) {
    const int file = open(path, O_RDWR | O_CLOEXEC);
    void* const bytes = mmap(nullptr, keys, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes != MAP_FAILED) reached = static_cast<unsigned char*>(bytes);
    if (file >= 0) close(file);
  }
  const char* const key = std::getenv("ULP_MUTANT");
  active = key == nullptr ? 0 : std::atoi(key);
}

}  // namespace ulp_mutation

// Constants are not changed: what is computed while compiling is as it was.
[[gnu::always_inline]] constexpr bool ulp_mutant(int key) noexcept {
  if (__builtin_is_constant_evaluated()) return false;
  if (ulp_mutation::active < 0) [[unlikely]]
    ulp_mutation::read_environment();
  if (ulp_mutation::reached != nullptr) [[unlikely]]
    ulp_mutation::reached[key] = 1;
  return ulp_mutation::active == key;
}

#endif
