# cmake -D MODE=installed|built|folder|fetched|formats -D ROOT=<project> -D BUILD=<build folder> -D DIR=<scratch> -D VERSION=...
#   -D LIBDIR=... -D BINDIR=... -D INCLUDEDIR=... -D DATADIR=... -D MANDIR=... -D BUILD_TYPE=... -D VIEWER=<built?> -D MPI=<built?>
#   -D PYTHON=<interpreter>
#   -P package_test.cmake
# installed: installs to a scratch prefix, compares the list of files, and builds and runs the consumer against it; and once
#   more for the component formats, where no other package can be found, and by pkg-config without CMake.
# built: builds and runs the consumer against the build folder, which nothing was installed from.
# folder: compiles the consumer with the project as a folder of its tree; nothing is linked, as that would build all once more.
# fetched: builds and runs it by FetchContent with ulp::formats alone, and compares the list of what was built.
# formats: builds and installs ulp::formats alone where no other package can be found, and the consumer against it; then, for
#   the interpreter PYTHON, if there is one, the Python package for arrays, with the packages that it needs.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE printed ERROR_VARIABLE printed)
  if(NOT code EQUAL 0)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${code}\n${printed}")
  endif()
endfunction()

# expect_files(WHAT FOUND path... EXPECTED path...): what was found is what was expected.
function(expect_files what)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FOUND;EXPECTED")
  foreach(file IN LISTS arg_EXPECTED)
    if(NOT file IN_LIST arg_FOUND)
      message(SEND_ERROR "not ${what}: ${file}")
    endif()
  endforeach()
  list(REMOVE_ITEM arg_FOUND ${arg_EXPECTED})
  if(arg_FOUND)
    message(SEND_ERROR "${what}, but not expected: ${arg_FOUND}")
  endif()
endfunction()

# The files that an installed library has: its archive and its headers.
function(files_of_library name folder into)
  set(include ${ROOT}/${folder}/include)
  file(GLOB_RECURSE headers RELATIVE ${include} ${include}/ulp/${name}/*.hpp ${include}/ulp/${name}/*.h)
  list(TRANSFORM headers PREPEND ${INCLUDEDIR}/)
  set(${into} ${${into}} ${LIBDIR}/libulp_${name}.a ${headers} PARENT_SCOPE)
endfunction()

# Everything is built by the same compiler with the same instrumentation.
load_cache(${BUILD} READ_WITH_PREFIX cached_
  CMAKE_GENERATOR CMAKE_CXX_COMPILER CMAKE_CXX_FLAGS CMAKE_CXX_COMPILER_LAUNCHER)
if(NOT MODE MATCHES "installed|built" AND NOT cached_CMAKE_CXX_COMPILER_LAUNCHER)
  set(BUILD_TYPE "")  # all is compiled again, unless ccache has it: that it is found matters here, not its speed
endif()

# configure_project(SOURCE BUILD OPTION...)
function(configure_project source build)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${cached_CMAKE_GENERATOR}
    -D CMAKE_BUILD_TYPE=${BUILD_TYPE} -D CMAKE_CXX_COMPILER=${cached_CMAKE_CXX_COMPILER}
    -D CMAKE_CXX_FLAGS=${cached_CMAKE_CXX_FLAGS} -D CMAKE_CXX_COMPILER_LAUNCHER=${cached_CMAKE_CXX_COMPILER_LAUNCHER}
    ${ARGN})
endfunction()

# build_project(SOURCE BUILD OPTION...)
function(build_project source build)
  configure_project(${source} ${build} ${ARGN})
  run(${CMAKE_COMMAND} --build ${build} --parallel 2)
endfunction()

# use(BUILD LIBRARIES OPTION...): builds the consumers of these libraries, the one in C too, and runs them.
function(use build libraries)
  list(JOIN libraries "," names)  # a list would not survive ARGN
  build_project(${ROOT}/tests/package/consumer ${build} -D LIBRARIES=${names} ${ARGN})
  foreach(library IN LISTS libraries)
    run(${build}/uses_${library})
  endforeach()
  if("formats" IN_LIST libraries)
    run(${build}/uses_formats_c)
  endif()
endfunction()

# The same without CMake, from a prefix that was moved.
function(use_by_pkg_config)
  find_program(pkg_config pkg-config)
  find_program(c_compiler NAMES cc gcc clang)
  if(NOT pkg_config OR NOT c_compiler)
    message("pkg-config, or a compiler of C, is not there: not tested")
    return()
  endif()
  file(RENAME ${prefix} ${prefix}_moved)
  execute_process(
    COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${prefix}_moved/${LIBDIR}/pkgconfig ${pkg_config} --cflags --libs "ulp-formats = ${VERSION}"
    OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  separate_arguments(instrumented UNIX_COMMAND "${cached_CMAKE_CXX_FLAGS}")
  set(consumer ${ROOT}/tests/package/consumer)
  run(${cached_CMAKE_CXX_COMPILER} -std=c++20 ${instrumented} ${consumer}/uses_formats.cpp -o ${DIR}/by_pkg_config ${flags})
  run(${DIR}/by_pkg_config)
  run(${c_compiler} ${instrumented} ${consumer}/uses_formats_c.c -o ${DIR}/by_pkg_config_c ${flags})
  run(${DIR}/by_pkg_config_c)
  file(RENAME ${prefix}_moved ${prefix})
endfunction()

# As if none of them were there; and as if those that arrays in Python need were.
set(nothing_else)
foreach(package CLI11 fmt nlohmann_json OpenSSL re2 SQLite3 TBB yaml-cpp ZLIB Qt6 MPI Catch2 benchmark PkgConfig)
  list(APPEND nothing_else -D CMAKE_DISABLE_FIND_PACKAGE_${package}=ON)
endforeach()
set(but_for_arrays)
foreach(package fmt TBB ZLIB)
  list(APPEND but_for_arrays -D CMAKE_DISABLE_FIND_PACKAGE_${package}=OFF)
endforeach()

set(all formats model io ask report train analysis)
set(config_files)
string(TOLOWER "${BUILD_TYPE}" config)
if(NOT config)
  set(config noconfig)
endif()
foreach(file config.cmake config-version.cmake formats-targets.cmake formats-targets-${config}.cmake)
  list(APPEND config_files ${LIBDIR}/cmake/ulpscope/ulpscope-${file})
endforeach()
list(APPEND config_files ${LIBDIR}/pkgconfig/ulp-formats.pc)

file(REMOVE_RECURSE ${DIR})
set(prefix ${DIR}/prefix)
set(from_prefix -D CMAKE_PREFIX_PATH=${prefix} -D ULPSCOPE_VERSION=${VERSION})
if(MODE STREQUAL "installed")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
  set(expected ${config_files}
    ${BINDIR}/ulp
    ${DATADIR}/bash-completion/completions/ulp
    ${DATADIR}/fish/vendor_completions.d/ulp.fish
    ${DATADIR}/ulpscope/examples/deepspeed.log ${DATADIR}/ulpscope/examples/digits.step00100.safetensors ${DATADIR}/ulpscope/examples/digits.ulp
    ${DATADIR}/ulpscope/examples/microbatches32.safetensors ${DATADIR}/ulpscope/examples/optimizer_steps.npz
    ${DATADIR}/ulpscope/examples/transformer.ulp ${DATADIR}/ulpscope/examples/weights.step00100.safetensors
    ${DATADIR}/zsh/site-functions/_ulp
    ${LIBDIR}/cmake/ulpscope/Findre2.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-targets.cmake
    ${LIBDIR}/cmake/ulpscope/ulpscope-targets-${config}.cmake)
  if(VIEWER)
    list(APPEND expected
      ${BINDIR}/ulpscope
      ${DATADIR}/applications/org.ulpscope.ulpscope.desktop
      ${DATADIR}/icons/hicolor/scalable/apps/org.ulpscope.ulpscope.svg
      ${DATADIR}/metainfo/org.ulpscope.ulpscope.metainfo.xml
      ${DATADIR}/mime/packages/org.ulpscope.ulpscope.xml)
  endif()
  if(MPI)
    list(APPEND expected ${BINDIR}/ulp-mpi)
  endif()
  file(GLOB pages RELATIVE ${BUILD} ${BUILD}/cli/man/*.1)
  if(VIEWER)
    list(APPEND pages gui/man/ulpscope.1)
  endif()
  list(TRANSFORM pages REPLACE "^.*/" "${MANDIR}/man1/")
  list(APPEND expected ${MANDIR}/man1/ulp.1 ${pages})
  files_of_library(formats formats expected)
  files_of_library(model analysis/model expected)
  files_of_library(io analysis/io expected)
  files_of_library(ask analysis/ask expected)
  files_of_library(report analysis/report expected)
  files_of_library(train analysis/train expected)
  file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
  expect_files(installed FOUND ${installed} EXPECTED ${expected})
  use(${DIR}/build "${all}" ${from_prefix})
  use(${DIR}/formats formats ${from_prefix} -D COMPONENTS=formats ${nothing_else} -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  use_by_pkg_config()
elseif(MODE STREQUAL "built")
  use(${DIR}/build "${all}" -D ulpscope_DIR=${BUILD} -D ULPSCOPE_VERSION=${VERSION})
elseif(MODE STREQUAL "folder")
  list(JOIN all "," names)
  configure_project(${ROOT}/tests/package/consumer ${DIR}/build
    -D LIBRARIES=${names} -D ULPSCOPE_FOLDER=${ROOT} -D ONLY_COMPILED=ON)
  list(TRANSFORM all PREPEND uses_ OUTPUT_VARIABLE consumers)
  run(${CMAKE_COMMAND} --build ${DIR}/build --parallel 2 --target ${consumers})
elseif(MODE STREQUAL "fetched")
  use(${DIR}/build formats -D ULPSCOPE_FETCHED=${ROOT})
  file(GLOB_RECURSE built RELATIVE ${DIR}/build ${DIR}/build/*.a ${DIR}/build/*.o)
  list(FILTER built EXCLUDE REGEX "/(ulp|uses)_formats(_c)?[.]dir/")
  expect_files(built FOUND ${built} EXPECTED _deps/ulpscope-build/formats/libulp_formats.a)
  run(${CMAKE_COMMAND} --install ${DIR}/build --prefix ${prefix})
  file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
  expect_files(installed FOUND ${installed} EXPECTED ${BINDIR}/uses_formats)
else()
  build_project(${ROOT} ${DIR}/formats -D ULP_BUILD_CLI=OFF ${nothing_else}
    -D CMAKE_INSTALL_LIBDIR=${LIBDIR} -D CMAKE_INSTALL_BINDIR=${BINDIR} -D CMAKE_INSTALL_INCLUDEDIR=${INCLUDEDIR})
  run(${CMAKE_COMMAND} --install ${DIR}/formats --prefix ${prefix})
  files_of_library(formats formats expected)
  file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
  expect_files(installed FOUND ${installed} EXPECTED ${config_files} ${expected})
  use(${DIR}/build formats ${from_prefix} -D COMPONENTS=formats ${nothing_else} -D CMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
  if(PYTHON)
    build_project(${ROOT} ${DIR}/formats -D ULP_BUILD_PYTHON=ON ${but_for_arrays} -D Python_EXECUTABLE=${PYTHON})
    file(WRITE ${DIR}/use.py
      "import ulpscope\nassert ulpscope.finfo('float16').max == 65504\n"
      "try:\n    ulpscope.replay\nexcept ImportError as error:\n    assert 'needs ulpscope._runs' in str(error)\n"
      "else:\n    raise AssertionError('files are read')\n")
    run(${CMAKE_COMMAND} -E env PYTHONPATH=${DIR}/formats/python ${PYTHON} ${DIR}/use.py)
    file(REMOVE_RECURSE ${prefix})
    run(${CMAKE_COMMAND} --install ${DIR}/formats --prefix ${prefix})
    file(GLOB_RECURSE installed RELATIVE ${prefix} ${prefix}/*)
    expect_files(installed FOUND ${installed} EXPECTED ${config_files} ${expected})
  endif()
endif()
