# The target re2::re2: from RE2's own CMake package or, as Debian has none, from pkg-config, which knows the parts of Abseil
# that RE2 needs since 2023.
find_package(re2 CONFIG QUIET)
if(NOT re2_FOUND)
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    # The parts of Abseil ask for each other, and pkgconf takes 15 s to go through all of their ways. Shared libraries bring
    # the far ones with them; archives do not.
    find_library(re2_shared NAMES libre2${CMAKE_SHARED_LIBRARY_SUFFIX})
    mark_as_advanced(re2_shared)
    set(re2_depth "$ENV{PKG_CONFIG_MAXIMUM_TRAVERSE_DEPTH}")
    if(re2_shared AND re2_depth STREQUAL "" AND NOT CMAKE_FIND_LIBRARY_SUFFIXES STREQUAL ".a")
      set(ENV{PKG_CONFIG_MAXIMUM_TRAVERSE_DEPTH} 5)
    endif()
    pkg_check_modules(re2_pkgconfig QUIET IMPORTED_TARGET re2)
    if(re2_depth STREQUAL "")
      unset(ENV{PKG_CONFIG_MAXIMUM_TRAVERSE_DEPTH})
    endif()
  endif()
  include(FindPackageHandleStandardArgs)
  find_package_handle_standard_args(re2 REQUIRED_VARS re2_pkgconfig_LINK_LIBRARIES
    REASON_FAILURE_MESSAGE "on Debian it is in the package libre2-dev, and pkg-config finds it")
  if(re2_FOUND AND NOT TARGET re2::re2)
    add_library(re2::re2 ALIAS PkgConfig::re2_pkgconfig)
  endif()
endif()
