#ifndef ULP_TESTS_SUPPORT_SANITIZERS_HPP
#define ULP_TESTS_SUPPORT_SANITIZERS_HPP

namespace ulp::test {

// True where AddressSanitizer is compiled in. Its shadow takes terabytes of addresses, it keeps what was freed, and it is
// slower: limits and measurements of memory mean nothing then.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool address_sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool address_sanitized = true;
#else
inline constexpr bool address_sanitized = false;
#endif
#else
inline constexpr bool address_sanitized = false;
#endif

}  // namespace ulp::test

#endif  // ULP_TESTS_SUPPORT_SANITIZERS_HPP
