// make_dumps FOLDER STEPS [PARTS]: write_dumps for tests in shell.
#include <cstdlib>

#include "support/dumps.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  ulp::test::write_dumps(argv[1], std::atol(argv[2]), argc > 3 ? static_cast<std::size_t>(std::atol(argv[3])) : 0);
}
