// Catch2 2.13 (Debian 12) and 3 (Debian 13) under one name.
#ifndef ULP_TESTS_SUPPORT_CATCH_HPP
#define ULP_TESTS_SUPPORT_CATCH_HPP

#ifdef ULP_CATCH2_V2
#include <catch2/catch.hpp>
using Catch::Contains;
#else
#include <catch2/catch_all.hpp>
using Catch::Approx;
inline auto Contains(const std::string& part) { return Catch::Matchers::ContainsSubstring(part); }
#endif

#endif
