// A page that cannot be touched behind each block of memory.
#ifndef ULP_TESTS_SUPPORT_GUARD_PAGES_HPP
#define ULP_TESTS_SUPPORT_GUARD_PAGES_HPP

#include <cstddef>

namespace ulp::test {

// While one lives, every block that operator new gives to this thread ends where a page without access begins (a few sizes
// up to 3 bytes before): reading or writing past the end ends the program. For programs that link guard_pages.cpp, which replaces operator new and
// delete.
class guard_pages {
 public:
  guard_pages();
  ~guard_pages();
  guard_pages(const guard_pages&) = delete;
  guard_pages& operator=(const guard_pages&) = delete;

  // Of the blocks since then: the most bytes in use at once, in whole pages.
  [[nodiscard]] std::size_t peak() const;
};

}  // namespace ulp::test

#endif
