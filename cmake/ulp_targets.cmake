# One function per kind of target. Each carries what every target of its kind needs; nothing is set globally.

# How this project is compiled; never installed. Contraction changes results, so it is off everywhere.
add_library(ulp_compile INTERFACE)
target_compile_features(ulp_compile INTERFACE cxx_std_20)
target_compile_options(ulp_compile INTERFACE
  -ffp-contract=off -fno-trapping-math
  -Wall -Wextra -Wpedantic -Wconversion -Wnon-virtual-dtor -Wold-style-cast
  # Clang's would name what the neighbours of a group have, too (see ulp_in_groups).
  $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local>
  $<$<AND:$<NOT:$<CXX_COMPILER_ID:GNU>>,$<BOOL:${ULP_DEVELOPER}>>:-Wshadow>
  # Designated initializers leave the rest at its default on purpose.
  -Wno-missing-field-initializers
  # False positives on string concatenation (GCC bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # Collects garbage less often, not before 256 MiB: files full of templates take a twelfth less time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-expand=300>
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=262144>
  $<$<BOOL:${ULP_DEVELOPER}>:-Werror>)
if(ULP_STATIC)
  target_link_options(ulp_compile INTERFACE -static-libstdc++ -static-libgcc)
endif()
install(TARGETS ulp_compile EXPORT ulpscope-build-targets)  # a set that is exported from the build folder alone

# ulp_at_low_cost(TARGET): code that reads, writes and tells, but does not count. At -O1 it is compiled in three quarters of
# the time, and the program is as fast.
function(ulp_at_low_cost target)
  # Less optimised, what an optional guards looks uninitialised to gcc 14.
  target_compile_options(${target} PRIVATE
    "$<$<CONFIG:Release,RelWithDebInfo>:-O1;$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>>")
endfunction()

# ulp_tests_at_low_cost(): all tests of this folder, which run programs and read files.
function(ulp_tests_at_low_cost)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target IN LISTS targets)
    ulp_at_low_cost(${target})
  endforeach()
endfunction()

# ulp_precompile(TARGET [HEADER...]): standard headers, and these, are parsed once for all of its files. Not for developers,
# whom a missing include is to stop, nor with a compiler cache, which takes such files for new ones everywhere.
function(ulp_precompile target)
  if(NOT ULP_DEVELOPER AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_precompile_headers(${target} PRIVATE
      <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
      <utility> <variant> <vector> ${ARGN})
  endif()
endfunction()

# ulp_precompiled_as(TARGET OWNER): what was precompiled for OWNER, whose options and definitions are the same.
function(ulp_precompiled_as target owner)
  get_target_property(headers ${owner} PRECOMPILE_HEADERS)
  if(headers)
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# ulp_in_groups(TARGET [SIZE n] [ALONE regex]): the files of a folder, or n files, are compiled as one: what they instantiate,
# and what their headers cost, is paid for once. So a name of a file's own must not be one of its neighbours' for something
# else. What has options of its own is compiled alone, as is a file that matches ALONE. Not for developers, whom a missing
# include is to stop.
function(ulp_in_groups target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SIZE;ALONE" "")
  if(ULP_DEVELOPER)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    get_filename_component(folder ${source} DIRECTORY)
    string(MAKE_C_IDENTIFIER "_${folder}" group)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  if(arg_ALONE)
    list(FILTER sources INCLUDE REGEX "${arg_ALONE}")
    set_source_files_properties(${sources} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  # GCC takes what a source includes for a header, which must not hold what is a file's own.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-subobject-linkage>)
  if(arg_SIZE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE ${arg_SIZE})
  else()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  endif()
endfunction()

# ulp_library(NAME SOURCES ... [LINK ...] [LINK_PRIVATE ...] [EXPORT set])
# The library ulp::NAME of this folder, installed and exported. All headers below include/ are public, and nothing else is;
# those for C, too, are .h.
function(ulp_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT" "SOURCES;LINK;LINK_PRIVATE")
  if(NOT arg_EXPORT)
    set(arg_EXPORT ulpscope-targets)
  endif()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS include/*.hpp include/*.h)
  add_library(ulp_${name} STATIC ${arg_SOURCES})
  add_library(ulp::${name} ALIAS ulp_${name})
  target_sources(ulp_${name} PUBLIC FILE_SET HEADERS BASE_DIRS include FILES ${headers})
  target_compile_features(ulp_${name} PUBLIC cxx_std_20)
  target_link_libraries(ulp_${name} PUBLIC ${arg_LINK} PRIVATE ${arg_LINK_PRIVATE} $<BUILD_INTERFACE:ulp_compile>)
  set_target_properties(ulp_${name} PROPERTIES
    EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON VERIFY_INTERFACE_HEADER_SETS ON)
  install(TARGETS ulp_${name} EXPORT ${arg_EXPORT}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
endfunction()

# ulp_program(NAME SOURCES ... [LINK ...]): an executable, installed as the component of its name.
function(ulp_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} ulp_compile)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${name})
endfunction()

# ulp_man_pages(PROGRAM): what its --help prints, and that of its commands, as manual pages, installed.
function(ulp_man_pages program)
  if(CMAKE_CROSSCOMPILING)
    message(STATUS "${program} does not run here: its manual pages are left out")
    return()
  endif()
  set(pages ${CMAKE_CURRENT_BINARY_DIR}/man)
  set(tools ${PROJECT_SOURCE_DIR}/cmake/man_pages ${PROJECT_SOURCE_DIR}/cmake/man_page.awk)
  set(page ${pages}/${program}.1)
  set(how)
  if(ULP_PACKAGES)  # Debian's rules
    string(APPEND page .gz)
    set(how gzip)
  endif()
  add_custom_command(OUTPUT ${page}
    COMMAND sh ${PROJECT_SOURCE_DIR}/cmake/man_pages ${pages} $<TARGET_FILE:${program}> ${how} DEPENDS ${program} ${tools} VERBATIM)
  add_custom_target(${program}_man_pages ALL DEPENDS ${page})
  install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${program})
endfunction()

# ulp_test(NAME SOURCES ... [LINK ...] [LABELS ...] [TIMEOUT seconds] [EXHAUSTIVE])
# One Catch2 program, one ctest entry; it is told where the project, its tool and the shared data are. It is skipped if it says
# so and has checked nothing. EXHAUSTIVE: exhaustive_NAME goes through what NAME takes strides through (tests/support/strides.hpp).
# Without the option ULP_BUILD_EXHAUSTIVE there are no programs that are exhaustive alone.
function(ulp_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "EXHAUSTIVE" "TIMEOUT" "SOURCES;LINK;LABELS")
  if(arg_LABELS STREQUAL "exhaustive" AND NOT ULP_BUILD_EXHAUSTIVE)
    return()
  endif()
  if(CMAKE_CROSSCOMPILING)
    math(EXPR arg_TIMEOUT "20 * ${arg_TIMEOUT}")  # an emulator's pace
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} ulp_test_support ulp_compile)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
    ENVIRONMENT "ULP_SOURCE_DIR=${PROJECT_SOURCE_DIR};ULP_PROGRAM=$<TARGET_FILE:ulp>"
    SKIP_REGULAR_EXPRESSION "SKIPPED: .*assertions: - none -")
  if(arg_EXHAUSTIVE)
    get_test_property(${name} ENVIRONMENT environment)
    add_test(NAME exhaustive_${name} COMMAND ${name})
    set_tests_properties(exhaustive_${name} PROPERTIES LABELS exhaustive TIMEOUT 1800 ENVIRONMENT "${environment};ULP_EVERY=1")
  endif()
endfunction()

# ulp_bench(NAME SOURCES ... [LINK ...]): a Google Benchmark program. Built, so that it stays buildable; run by hand.
function(ulp_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINK} benchmark::benchmark ulp_compile)
endfunction()

# ulp_fuzzer(NAME SOURCE [MUTATOR]): the libFuzzer target fuzz_NAME, whose corpus is corpus/NAME of this folder. Without the
# option ULP_BUILD_FUZZERS (which needs clang) the same program reads the corpus once. Both do so as a test. MUTATOR is the
# source of a mutator of its own.
function(ulp_fuzzer name source)
  set(target fuzz_${name})
  set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/corpus/${name})
  add_executable(${target} ${source})
  target_link_libraries(${target} PRIVATE ulp_fuzz_support ulp_compile)
  if(ULP_BUILD_FUZZERS)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    if(ARGN)
      target_sources(${target} PRIVATE ${ARGN} mutator.cpp)
      target_link_libraries(${target} PRIVATE ulp_io_test_support)
    endif()
    set(corpus -runs=0 -rss_limit_mb=2048 -timeout=10 ${corpus})
  else()
    target_sources(${target} PRIVATE read_corpus.cpp)
  endif()
  add_test(NAME ${target} COMMAND ${target} ${corpus})
  set_tests_properties(${target} PROPERTIES LABELS "quick;fuzz" TIMEOUT 120)
endfunction()
